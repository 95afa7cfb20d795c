// The joiner's side of a token: one line with the token's key, one message, one answer, and the
// same again where the answer names another coordinator.

#include "src/fabric/join_checks.hpp"
#include "src/fabric/line.hpp"
#include "src/fabric/uplink.hpp"
#include "src/wire/fabric_codec.hpp"

namespace assay::fabric {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int redirections_most = 3;

/// One asking, and whom it has come to.
struct asking {
  coordinator_at whom;
  key_pair keys; ///< The token's.
  join said;
  clock::time_point deadline;
};

problem refused_token(const asking& how) {
  return {
    problem_kind::forbidden,
    "the coordinator does not take this token: it was used, is older than 15 minutes, or is "
    "unknown",
    how.whom.address,
    how.said.member ? "make a new one with `assay cluster token`"
                    : "make a new one with `assay host token`",
  };
}

problem no_coordinator(const asking& how, std::string what) {
  return {
    problem_kind::unavailable,
    std::move(what),
    how.whom.address,
    "check that assayd runs there and that this host can reach the port, then run the command "
    "again",
  };
}

problem refused(const asking& how, std::string what) {
  return {
    problem_kind::refused,
    std::move(what),
    how.whom.address,
    "mend what it names, and run the command again",
  };
}

/// The answer, once it is there. Drops what else is said.
std::optional<joined> take_answer(line& to) {
  frame payload;
  while (to.dealer().receive(payload)) {
    auto message = wire::decode_coordinator_message(payload.span());
    to.dealer().skip_rest(payload);
    if (message)
      if (auto answer = std::get_if<joined>(&*message))
        return *answer;
  }
  return std::nullopt;
}

void wait_for_word(line& to, clock::time_point deadline) {
  auto left = std::chrono::ceil<milliseconds>(deadline - clock::now());
  zmq_pollitem_t items[] = {
    {to.dealer().get(), 0, ZMQ_POLLIN, 0},
    {to.events().get(), 0, ZMQ_POLLIN, 0},
  };
  zmq_poll(items, std::size(items), static_cast<long>(std::max(left, milliseconds{0}).count()));
}

/// What the coordinator that `how` has come to answers.
result<joined, problem> ask(const asking& how) {
  if (!can_be_dialled(how.whom.address))
    return unexpected{no_coordinator(how, "the coordinator's address cannot be dialled")};
  context own;
  line to{own, how.whom.address, how.keys, how.whom.key};
  if (!to)
    return unexpected{no_coordinator(how, "cannot open a connection")};
  while (clock::now() < how.deadline) {
    wait_for_word(to, how.deadline);
    if (auto answer = take_answer(to))
      return *answer;
    auto event = to.next_event();
    if (event == line_event::established)
      to.dealer().send(wire::encode(agent_message{how.said}));
    else if (event == line_event::refused)
      return unexpected{refused_token(how)};
    else if (event)
      return unexpected{no_coordinator(how, "no coordinator that knows this token answers")};
  }
  return unexpected{no_coordinator(how, "the coordinator did not answer in time")};
}

/// The answer that accepted, with `how` at the coordinator that gave it.
result<joined, problem> ask_the_leader(asking& how) {
  for (int i = 0; i <= redirections_most; ++i) {
    auto answer = ask(how);
    if (!answer || answer->accepted)
      return answer;
    if (!answer->leader)
      return unexpected{refused(how, "the coordinator refused: " + answer->text)};
    how.whom = *answer->leader;
  }
  return unexpected{no_coordinator(
    how, "the coordinators name one another as the leader, so they are electing one"
  )};
}

asking first_asking(const join_token& token, join said, milliseconds patience) {
  return {
    {token.coordinator, token.coordinator_key},
    token.keys,
    std::move(said),
    clock::now() + patience,
  };
}

} // namespace

result<joined_host, problem> join_cluster(
  const join_token& token,
  const std::string& host_name,
  const public_key& key,
  milliseconds patience
) {
  auto how = first_asking(token, {host_name, key}, patience);
  auto answer = ask_the_leader(how);
  if (!answer)
    return unexpected{answer.error()};
  auto coordinators = only_dialled(std::move(answer->coordinators));
  if (coordinators.empty())
    coordinators.push_back(how.whom);
  return joined_host{answer->identity, std::move(coordinators)};
}

result<joined_cluster, problem> join_as_member(
  const join_token& token,
  const joining_member& member,
  const public_key& key,
  milliseconds patience
) {
  auto how = first_asking(token, {member.name, key, member}, patience);
  if (auto fault = fault_of(how.said))
    return unexpected{problem{
      problem_kind::invalid,
      "this member cannot join: " + *fault,
      member.name,
      "mend its configuration, and run the command again",
    }};
  auto answer = ask_the_leader(how);
  if (!answer)
    return unexpected{answer.error()};
  if (!answer->cluster)
    return unexpected{
      refused(how, "the coordinator took this for a host: the token is one of `assay host token`")};
  if (auto fault = fault_of(*answer->cluster))
    return unexpected{refused(how, "the coordinator's answer cannot be used: it " + *fault)};
  return *std::move(answer->cluster);
}

} // namespace assay::fabric
