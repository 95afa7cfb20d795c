#pragma once
// Reads this member's own records again, a few at a time and without end, so that bits that flipped
// on its disk are found before somebody needs them. At a start the newest ones come first.
//
// What is wrong is looked at again before it is believed: the rows may be replaced meanwhile. Then
// it is told, a leader hands over, the admin API shows nothing of this copy, and a whole state of
// the leader's takes its place (docs/decisions/0020).

#include "src/app/mending.hpp"
#include "src/ledger/chain_walk.hpp"
#include "src/store/ledger_engine.hpp"

#include <chrono>
#include <functional>
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

  /// Whether a member is reached and does not say that it is damaged itself.
  using soundness = std::function<bool(std::uint64_t node)>;

  explicit scrub(store::ledger_engine& engine, soundness is_sound = {})
    : engine_{&engine}, is_sound_{std::move(is_sound)} {}

  /// Every now and then, by one thread; `at` is the time. Reads at most `records_most`.
  void look(const store::engine_status& now, steady_time at);

  /// What is wrong and what to do, for a person; empty while nothing was found, and again once
  /// another member's state took its place. Any thread.
  std::string damage() const;
  /// How often a damaged state was mended since the process began. Any thread.
  std::uint64_t mended() const;
  /// How often all of it was read since the process began. Any thread.
  std::uint64_t rounds() const;

private:
  void read_on(const store::engine_status& now, steady_time at);
  void begin(const ledger::tables& t);
  void end();
  std::optional<ledger::finding> check(const ledger::tables& t);
  result<ledger::record_row, std::string> record_at(std::uint64_t seq) const;
  void believe(const ledger::finding& what, const store::engine_status& now, steady_time at);
  void begin_anew(std::uint64_t taken_over);
  void mend(const store::engine_status& now, steady_time at);
  void hand_over(const store::engine_status& now, steady_time at);

  store::ledger_engine* engine_;
  const soundness is_sound_;
  mending mending_;
  std::uint64_t taken_over_ = 0; ///< States of others, as far as it knows.
  std::optional<ledger::chain_walk> walk_;
  bool is_at_tail_ = true; ///< Of the first walk, which begins there.
  steady_time next_look_;
  steady_time next_hand_over_;
  unsigned times_found_ = 0;
  mutable std::mutex mutex_;
  std::string damage_;
  std::uint64_t rounds_ = 0;
  std::uint64_t mended_ = 0;
};

} // namespace assay::app
