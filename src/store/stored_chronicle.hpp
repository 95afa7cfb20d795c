#pragma once
// The ledger's history as a running coordinator has it: tables of one view, records and subjects
// from disk. Nothing newer than the view is told.

#include "src/ledger/chronicle.hpp"
#include "src/store/ledger_machine.hpp"

#include <memory>

namespace assay::store {

class stored_chronicle : public ledger::chronicle {
public:
  /// The engine outlives this.
  stored_chronicle(const ledger_engine& engine, std::shared_ptr<const ledger::tables> now)
    : engine_{engine}, now_{std::move(now)} {}

  const ledger::tables& now() const override { return *now_; }
  result<ledger::kept_record, problem> record_at(std::uint64_t seq) const override;
  result<wall_ms, problem> stamped_at(std::uint64_t seq) const override;
  result<std::vector<std::uint64_t>, problem> about(
    const digest& subject, std::uint64_t from, ledger::direction where, std::size_t count
  ) const override;

private:
  result<std::string, problem> bytes_at(std::uint64_t seq) const;
  result<ledger::record_row, problem> row_at(std::uint64_t seq) const;

  const ledger_engine& engine_;
  std::shared_ptr<const ledger::tables> now_;
};

} // namespace assay::store
