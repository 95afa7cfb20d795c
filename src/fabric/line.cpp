#include "src/fabric/line.hpp"

#include "src/base/limits.hpp"

#include <charconv>

namespace assay::fabric {

namespace {

constexpr int watched = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
                        | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL
                        | ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED;

} // namespace

line::line(
  const context& from,
  const std::string& coordinator,
  const key_pair& own,
  const public_key& server,
  int waiting_messages
)
  : dealer_{from, ZMQ_DEALER} {
  constexpr auto connect_ms = static_cast<int>(limits::handshake / std::chrono::milliseconds{1});
  bool ready = dealer_ && set_common(dealer_, waiting_messages)
               && set_curve_client(dealer_, own, server) && dealer_.set(ZMQ_IMMEDIATE, 1)
               && dealer_.set(ZMQ_RECONNECT_IVL, -1)
               && dealer_.set(ZMQ_CONNECT_TIMEOUT, connect_ms);
  if (!ready)
    return;
  monitor watching{from, dealer_, watched};
  if (watching && dealer_.connect("tcp://" + coordinator))
    monitor_ = std::move(watching);
}

std::optional<line_event> line::next_event() {
  auto event = monitor_.next_event();
  if (!event)
    return std::nullopt;
  switch (*event) {
  case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
    established_ = true;
    return line_event::established;
  case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    return line_event::refused;
  case ZMQ_EVENT_CLOSED:
    return line_event::unreachable;
  case ZMQ_EVENT_DISCONNECTED:
    return established_ ? line_event::ended : line_event::garbled;
  default:
    return line_event::garbled;
  }
}

bool can_be_dialled(std::string_view coordinator) {
  auto colon = coordinator.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return false;
  auto port_text = coordinator.substr(colon + 1);
  std::uint16_t port = 0;
  auto end = port_text.data() + port_text.size();
  auto [rest, fault] = std::from_chars(port_text.data(), end, port);
  auto host = coordinator.substr(0, colon);
  bool plain = host.find_first_of(" /;*") == std::string_view::npos;
  return plain && fault == std::errc{} && rest == end && port != 0;
}

} // namespace assay::fabric
