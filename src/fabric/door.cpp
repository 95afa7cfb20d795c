#include "src/fabric/door.hpp"

#include "src/fabric/probe.hpp"
#include "src/fabric/zap.hpp"

#include <cerrno>
#include <utility>

namespace assay::fabric {

namespace {

constexpr auto probe_patience = std::chrono::milliseconds{10'000};
constexpr int farewell_ms = 100;

} // namespace

result<void, problem> door::open(const context& from, const door_options& how) {
  zap_ = socket{from, ZMQ_REP};
  router_ = socket{from, ZMQ_ROUTER};
  key_ = how.keys.shared;
  whom_ = how.whom;
  // The handler stands before the door opens: a CURVE server that finds none lets every key in.
  bool ready = zap_ && router_ && zap_.bind(std::string{zap_endpoint})
               && set_common(router_, how.waiting_messages)
               && router_.set(ZMQ_MAXMSGSIZE, how.frame_bytes)
               && set_curve_server(router_, how.keys) && router_.set(ZMQ_ZAP_DOMAIN, zap_domain)
               && router_.set(ZMQ_ROUTER_MANDATORY, 1);
  if (ready && router_.bind("tcp://" + how.listen)) {
    endpoint_ = router_.last_endpoint();
    address_ = endpoint_.substr(std::string_view{"tcp://"}.size());
    return {};
  }
  return unexpected{problem{
    problem_kind::unavailable,
    "cannot listen for " + std::string{whom_} + ": " + zmq_strerror(errno),
    how.listen,
    "stop what listens there (ss -ltnp), or give another HOST:PORT of this machine",
  }};
}

result<void, problem> door::prove_closed(const context& from) const {
  auto outcome = probe_with_unknown_key(from, dial_of(endpoint_), key_, probe_patience);
  if (outcome == probe_outcome::refused)
    return {};
  auto what = outcome == probe_outcome::let_in ? "' port let a key in that nobody allowed"
                                               : "' port did not answer its own self-test";
  return unexpected{problem{
    problem_kind::unavailable,
    "the " + std::string{whom_} + what,
    address_,
    "nothing was started. Check that loopback traffic to this port is not filtered, and start "
    "again",
  }};
}

std::array<zmq_pollitem_t, 2> door::items() const {
  return {{{zap_.get(), 0, ZMQ_POLLIN, 0}, {router_.get(), 0, ZMQ_POLLIN, 0}}};
}

std::uint64_t door::answer(const std::function<bool(const public_key&)>& is_allowed) {
  std::uint64_t refused = 0;
  while (auto verdict = answer_zap(zap_, is_allowed))
    refused += verdict->allowed ? 0 : 1;
  return refused;
}

door::heard door::receive(std::string& routing, frame& payload) {
  frame first;
  if (!router_.receive(first))
    return heard::nothing;
  bool whole = first.more && router_.receive(payload) && !payload.more;
  if (!whole) {
    router_.skip_rest(payload);
    return heard::malformed;
  }
  routing = std::move(first.bytes);
  return heard::message;
}

bool door::send(const std::string& routing, std::string_view bytes) {
  return router_.send(routing, true) && router_.send(bytes);
}

void door::close() {
  // The one exception to LINGER 0: the farewell should arrive.
  router_.set(ZMQ_LINGER, farewell_ms);
  router_ = socket{};
}

} // namespace assay::fabric
