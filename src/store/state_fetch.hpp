#pragma once
// A member that is too far behind for the log takes over another's state: whom it asks, for what,
// and whether it believes the answer. Pure: pages and times go in, requests and pages worth storing
// come out.
//
// One page is under way at a time. One that is lost is asked for again, a few times; then, or when
// something is wrong with a page, everything begins again with another member. Nothing is adopted
// before the last page agreed with its root and with what the machine demands of a state.

#include "src/consensus/values.hpp"
#include "src/store/peers.hpp"
#include "src/store/state_machine.hpp"

#include <functional>

namespace assay::store {

/// A page that was believed, for the state environment.
struct incoming_page {
  struct moment {
    std::uint64_t index = 0, term = 0;
  };
  bool is_first = false; ///< What came in before it is of another attempt.
  std::vector<stored_row> rows;
  std::optional<moment> end; ///< Of the whole state: adopt it.
};

class state_fetch {
public:
  using auditing = std::function<std::unique_ptr<state_audit>()>;

  /// Attempts are numbered from there on; no number comes twice in a member's life.
  state_fetch(
    consensus::snapshot_mark mark,
    std::uint64_t self,
    std::uint64_t first_attempt,
    auditing begin_audit

  );

  /// What to ask now, if anything. `leader` is asked first; 0: nobody leads.
  std::optional<state_request> due(std::uint64_t now_ms, std::uint64_t leader);
  std::uint64_t wake_up_ms() const { return is_storing_ ? UINT64_MAX : ask_at_ms_; }

  /// The page as it is to be stored; nothing when nobody asked for it or it is not believed.
  std::optional<incoming_page> take(state_page page, std::uint64_t now_ms);
  /// What became of it.
  void stored(bool is_stored, std::uint64_t now_ms);

  /// Why the last page was not believed; empty when it was.
  const std::string& problem() const { return problem_; }

private:
  void begin(std::uint64_t leader);
  std::string wrong_with(const state_page& page);
  void give_up_on_source(std::uint64_t until_ms);

  const consensus::snapshot_mark mark_;
  const std::uint64_t self_;
  const auditing begin_audit_;

  std::uint64_t attempt_;
  std::uint64_t source_ = 0; ///< 0: the next one is still to be chosen.
  unsigned sources_ = 0;     ///< How many were tried.
  unsigned tries_ = 0;       ///< Of the page under way.
  std::uint64_t ask_at_ms_ = 0;
  bool is_storing_ = false;
  std::string after_;
  std::string next_after_;
  state_root root_;
  std::unique_ptr<state_audit> audit_;
  std::string problem_;
};

} // namespace assay::store
