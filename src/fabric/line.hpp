#pragma once
// One dialled connection to a coordinator: a DEALER, its keys and its monitor. A line is used for
// one session and thrown away; libzmq does not reconnect it, so what is said on it is said to one
// connection.

#include "src/fabric/sockets.hpp"

#include <string>

namespace assay::fabric {

enum class line_event : std::uint8_t {
  established, ///< The handshake is done: both ends hold the keys they should.
  refused,     ///< The coordinator does not allow our key.
  garbled,     ///< The other end does not complete the handshake.
  unreachable, ///< No connection.
  ended,       ///< The connection closed.
};

class line {
public:
  line() = default;
  line(
    const context& from,
    const std::string& coordinator,
    const key_pair& own,
    const public_key& server,
    int waiting_messages = 64 ///< Each way in libzmq, which counts messages and not bytes.
  );

  explicit operator bool() const { return static_cast<bool>(monitor_); }
  socket& dealer() { return dealer_; }
  monitor& events() { return monitor_; }

  std::optional<line_event> next_event();

private:
  socket dealer_;
  monitor monitor_; // After what it watches, so that it ends before it.
  bool established_ = false;
};

/// Whether `coordinator` has the form `HOST:PORT` that can be dialled.
bool can_be_dialled(std::string_view coordinator);

} // namespace assay::fabric
