#pragma once
// The life of a qualification: which event may follow which state.
//
//   draft --start--> evaluating --pass--> qualified --drift|regression|key_compromise--> suspended
//                     ^   |   \--fail--> rejected       ^----------reverify_pass-------------|
//            more_runs|   |no_evidence                  |
//                     |   v                 qualified, suspended --expire|revoke|supersede-->
//                  inconclusive --give_up--> rejected       expired | revoked | superseded
//
// The table is the whole truth: what is not in it is refused when a record is applied. Guards that
// need more than the state (enough evidence, an hour that has come) belong to who asks.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::qualification {

enum class state : std::uint8_t {
  draft,
  evaluating,
  qualified,
  rejected, ///< final
  inconclusive,
  suspended,
  expired,    ///< final
  revoked,    ///< final
  superseded, ///< final for new traffic; a legal target of an inverse plan until it expires
};

enum class event : std::uint8_t {
  start,
  pass,        ///< decided: every predicate holds, with enough evidence
  fail,        ///< decided: a predicate fails, with enough evidence
  no_evidence, ///< decided: too little evidence either way; never a pass
  more_runs,
  give_up,
  drift,          ///< no replica with a qualified fingerprint is left, or the policy says so
  regression,     ///< a guard saw the implementation get worse
  key_compromise, ///< the author's or the agent's key is not to be trusted
  reverify_pass,  ///< new runs after the suspension hold
  expire,
  revoke,
  supersede,
};

/// A qualification begins here, by its first record.
inline constexpr auto first_state = state::draft;

inline constexpr auto states = std::array{
  state::draft,
  state::evaluating,
  state::qualified,
  state::rejected,
  state::inconclusive,
  state::suspended,
  state::expired,
  state::revoked,
  state::superseded,
};

inline constexpr auto events = std::array{
  event::start,
  event::pass,
  event::fail,
  event::no_evidence,
  event::more_runs,
  event::give_up,
  event::drift,
  event::regression,
  event::key_compromise,
  event::reverify_pass,
  event::expire,
  event::revoke,
  event::supersede,
};

/// The state after `what`, or nothing when that may not happen in `from`.
std::optional<state> next(state from, event what);

bool is_final(state s);

std::string_view name(state s);
std::string_view name(event e);
std::optional<state> parse_state(std::string_view text);
std::optional<event> parse_event(std::string_view text);

} // namespace assay::qualification
