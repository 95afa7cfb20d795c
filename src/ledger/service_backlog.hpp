#pragma once
// Hours of service that are not known to be on record: each is said, and said again, until somebody
// answers that it is, or that it will not be.
//
// A pure value: whoever holds it says what is due. Saying one twice is harmless, for its record id
// follows from what it counts (src/ledger/service.hpp).

#include "src/base/clock.hpp"
#include "src/ledger/service.hpp"
#include "src/ledger/tables.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace assay::ledger {

class service_backlog {
public:
  /// The oldest make room when there is none.
  void add(std::vector<serving_summary> hours);

  /// What is to be said now, oldest first; from then on it is under way.
  std::vector<serving_summary> due(steady_time now);

  /// It is on record.
  void settle(const uuid& record);

  /// The ledger did not take it, which may be for now: the clocks of two members differ. True when
  /// it was refused so often that it is given up.
  bool refuse(const uuid& record, steady_time now);

  /// Whoever was told may not be there any more.
  void say_all_again();

  std::size_t size() const { return waiting_.size(); }
  /// Hours that found no room, or were refused for good.
  std::uint64_t left_out() const { return left_out_; }

private:
  struct waiting {
    serving_summary what;
    uuid record;
    std::optional<steady_time> next; ///< It is said again then; none: it was not said yet.
    unsigned refusals = 0;
  };

  std::size_t under_way() const;
  std::deque<waiting>::iterator find(const uuid& record);

  std::deque<waiting> waiting_; ///< Oldest first; those under way are in front.
  std::uint64_t left_out_ = 0;
};

/// Why that member may not tell these counts: it tells of its own ingress alone. Empty: it may.
std::string not_its_own(const head_row& head, std::uint64_t node, const serving_summary& s);

} // namespace assay::ledger
