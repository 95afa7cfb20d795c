#include "src/fabric/probe.hpp"

namespace assay::fabric {

namespace {

std::optional<probe_outcome> wait_for_outcome(monitor& events, std::chrono::milliseconds left) {
  zmq_pollitem_t item{events.get(), 0, ZMQ_POLLIN, 0};
  zmq_poll(&item, 1, static_cast<long>(left.count()));
  auto event = events.next_event();
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
    return probe_outcome::refused;
  if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
    return probe_outcome::let_in;
  return std::nullopt;
}

} // namespace

probe_outcome probe_with_unknown_key(
  const context& from,
  const std::string& endpoint,
  const public_key& server,
  std::chrono::milliseconds patience
) {
  using clock = std::chrono::steady_clock;
  socket dialling{from, ZMQ_DEALER};
  if (!dialling || !set_common(dialling, 1) || !set_curve_client(dialling, new_key_pair(), server))
    return probe_outcome::no_answer;
  monitor events{from, dialling, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_SUCCEEDED};
  if (!events || !dialling.connect(endpoint))
    return probe_outcome::no_answer;
  auto deadline = clock::now() + patience;
  for (auto now = clock::now(); now < deadline; now = clock::now()) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now);
    if (auto outcome = wait_for_outcome(events, left))
      return *outcome;
  }
  return probe_outcome::no_answer;
}

std::string dial_of(std::string endpoint) {
  constexpr std::pair<std::string_view, std::string_view> any[] = {
    {"tcp://0.0.0.0:", "tcp://127.0.0.1:"},
    {"tcp://[::]:", "tcp://[::1]:"},
  };
  for (auto [bound, dialled] : any)
    if (endpoint.starts_with(bound))
      return std::string{dialled} + endpoint.substr(bound.size());
  return endpoint;
}

} // namespace assay::fabric
