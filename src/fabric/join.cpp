// `assay host join TOKEN`, the host's side: one line with the token's key, one message, one answer.

#include "src/fabric/line.hpp"
#include "src/fabric/uplink.hpp"
#include "src/wire/fabric_codec.hpp"

namespace assay::fabric {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

problem refused_token(const join_token& token) {
  return {
    problem_kind::forbidden,
    "the coordinator does not take this token: it was used, is older than 15 minutes, or is "
    "unknown",
    token.coordinator,
    "Make a new one with `assay host token`",
  };
}

problem no_coordinator(const join_token& token, std::string what) {
  return {
    problem_kind::unavailable,
    std::move(what),
    token.coordinator,
    "Check that assayd runs there and that this host can reach the port, then run the command "
    "again",
  };
}

result<host_id, problem> outcome_of(const join_token& token, const joined& answer) {
  if (answer.accepted)
    return answer.identity;
  return unexpected{problem{
    problem_kind::refused,
    "the coordinator refused to take the host: " + answer.text,
    token.coordinator,
    "Mend what it names, and run the command again",
  }};
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

} // namespace

result<host_id, problem> join_cluster(
  const join_token& token,
  const std::string& host_name,
  const public_key& agent_key,
  milliseconds patience
) {
  if (!can_be_dialled(token.coordinator))
    return unexpected{no_coordinator(token, "the token's address cannot be dialled")};
  context own;
  line to{own, token.coordinator, token.keys, token.coordinator_key};
  if (!to)
    return unexpected{no_coordinator(token, "cannot open a connection")};
  auto deadline = clock::now() + patience;
  while (clock::now() < deadline) {
    wait_for_word(to, deadline);
    if (auto answer = take_answer(to))
      return outcome_of(token, *answer);
    auto event = to.next_event();
    if (event == line_event::established)
      to.dealer().send(wire::encode(agent_message{join{host_name, agent_key}}));
    else if (event == line_event::refused)
      return unexpected{refused_token(token)};
    else if (event)
      return unexpected{no_coordinator(token, "no coordinator that knows this token answers")};
  }
  return unexpected{no_coordinator(token, "the coordinator did not answer in time")};
}

} // namespace assay::fabric
