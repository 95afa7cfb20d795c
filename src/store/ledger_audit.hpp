#pragma once
// Is this the ledger that its own head says it is? For the rows that another coordinator gives.
//
// Every row decodes and stands under its own key; every record has the hash that it is chained by,
// and the chain runs without a gap from the cluster's genesis to the head. Tables that follow from
// records are believed: who doubts them audits an export (src/ledger/audit.hpp).

#include "src/ledger/schema.hpp"
#include "src/ledger/tables.hpp"
#include "src/store/state_machine.hpp"

namespace assay::store {

class ledger_audit : public state_audit {
public:
  /// `knows` is the newest schema version that the program understands.
  explicit ledger_audit(std::uint16_t knows = ledger::known_schema()) : knows_{knows} {}

  std::string take(std::string_view key, std::string_view value) override;
  std::string finish(std::uint64_t index) override;

private:
  std::string take_record(const ledger::record_row& record);

  const std::uint16_t knows_;
  std::optional<ledger::head_row> head_; ///< Its table comes first.
  digest chain_;
  std::uint64_t seq_ = 0;
};

} // namespace assay::store
