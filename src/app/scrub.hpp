#pragma once
// Reads this member's own records again, a few at a time and without end, so that bits that flipped
// on its disk are found before somebody needs them. At a start the newest ones come first.
//
// What is wrong is looked at again before it is believed: the rows may be replaced meanwhile. Then
// it is told until the process ends, a leader hands over, and the admin API shows nothing of this
// copy (docs/decisions/0020). It mends nothing: a damaged member is removed, and its disk joins
// anew.

#include "src/ledger/chain_walk.hpp"
#include "src/store/ledger_engine.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

namespace assay::app {

class scrub {
public:
  static constexpr std::uint64_t records_most = 32; ///< In one look: 320 in a second,
  static constexpr auto every = std::chrono::milliseconds{100};
  static constexpr auto rest = std::chrono::minutes{1}; ///< and so long after the last one.
  static constexpr auto doubt = std::chrono::seconds{1};
  static constexpr unsigned times_found_most = 3; ///< Then it is believed.
  static constexpr auto hand_over_again = std::chrono::seconds{10};

  explicit scrub(store::ledger_engine& engine) : engine_{&engine} {}

  /// Every now and then, by one thread; `at` is the time. Reads at most `records_most`.
  void look(const store::engine_status& now, steady_time at);

  /// What is wrong and what to do, for a person; empty while nothing was found. Any thread.
  std::string damage() const;
  /// How often all of it was read since the process began. Any thread.
  std::uint64_t rounds() const;

private:
  void read_on();
  void begin(const ledger::tables& t);
  void end();
  std::optional<ledger::finding> check(const ledger::tables& t);
  result<ledger::record_row, std::string> record_at(std::uint64_t seq) const;
  void believe(const ledger::finding& what);
  void hand_over(const store::engine_status& now, steady_time at);

  store::ledger_engine* engine_;
  std::optional<ledger::chain_walk> walk_;
  bool is_at_tail_ = true; ///< Of the first walk, which begins there.
  steady_time next_look_;
  steady_time next_hand_over_;
  unsigned times_found_ = 0;
  mutable std::mutex mutex_;
  std::string damage_;
  std::uint64_t rounds_ = 0;
};

} // namespace assay::app
