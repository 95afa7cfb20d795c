#pragma once
// Whom an agent dials next, and when: the rule by which agents follow the leader, without a socket
// or a clock.
//
// Coordinators are dialled in rounds. In a round each is asked once, one right after the other; a
// coordinator that does not lead names the one that does, and that one is next. Between rounds is a
// pause. So the leader is found after a question or two, and no answers, however quick or
// contradictory, make an agent dial without rest. Who the coordinators are is learned from them;
// those of the configuration are asked in a round in which none of the learned ones answered.

#include "src/fabric/dialling.hpp"

#include <optional>
#include <vector>

namespace assay::fabric {

class dialling_order {
public:
  /// At least one is configured; what was learned may be empty.
  dialling_order(
    std::vector<coordinator_at> configured, std::vector<coordinator_at> learned, redial pauses
  );

  /// To be dialled now.
  const coordinator_at& whom() const { return whom_; }

  /// What `whom` said of the others after it proved its key. True when it was news; an empty list
  /// is none.
  bool learn(std::vector<coordinator_at> said);
  const std::vector<coordinator_at>& learned() const { return learned_; }

  /// `whom` leads and has welcomed us.
  void welcomed();

  /// The attempt at `whom`, or the session with it, ended; `leader` is who leads, if it said so.
  /// Returns how long to wait before dialling the new `whom`.
  std::chrono::milliseconds
  ended(lost_reason reason, const std::optional<coordinator_at>& leader, std::uint32_t chance);

private:
  std::chrono::milliseconds session_ended(lost_reason reason, std::uint32_t chance);
  std::chrono::milliseconds round_ended(lost_reason reason, std::uint32_t chance);
  bool is_tried(const coordinator_at& one) const;
  bool may_follow(const coordinator_at& leader) const;
  bool is_suspect(const coordinator_at& one) const;
  std::optional<coordinator_at> untried() const;

  std::vector<coordinator_at> configured_;
  std::vector<coordinator_at> learned_;
  redial pauses_;
  coordinator_at whom_;
  bool is_up_ = false;

  // This round:
  std::vector<coordinator_at> tried_;
  bool is_answered_ = false; ///< By one that proved its key and does not lead.
  bool is_refused_ = true;   ///< By all that were tried.

  /// Whose session was cut. If its machine is gone each dialling costs seconds, so others go first;
  /// and as its followers take it for the leader until their election, their word on it is not
  /// taken for some rounds.
  std::optional<coordinator_at> suspect_;
  int suspect_rounds_ = 0;
};

} // namespace assay::fabric
