#pragma once
// The end that others dial: a ROUTER behind CURVE and an allow-list, with the handler that libzmq
// asks about each key. The hub and the coordinators' links each have one.
//
// Promises: nobody gets in whom `answer` does not allow, proven by a dial with an unknown key
// before anything is served; a message that does not have exactly two frames is dropped whole. It
// knows no message and no peer. One thread owns it, once it is open.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/fabric/sockets.hpp"

#include <array>
#include <functional>

namespace assay::fabric {

struct door_options {
  std::string listen; ///< `HOST:PORT`; port 0 takes a free one.
  key_pair keys;
  std::string_view whom;      ///< In errors: `agents`.
  int waiting_messages = 0;   ///< In libzmq, per connection; it counts messages and not bytes.
  std::int64_t frame_bytes{}; ///< Far above what is allowed: libzmq ends the connection.
};

class door {
public:
  /// A problem when the address cannot be had.
  result<void, problem> open(const context& from, const door_options& how);
  /// Blocks until an unknown key was refused, while another thread calls `answer`; a problem when
  /// it was let in, or when nobody answers.
  result<void, problem> prove_closed(const context& from) const;
  const std::string& address() const { return address_; } ///< `HOST:PORT`

  std::array<zmq_pollitem_t, 2> items() const;
  /// The same for who polls descriptors: after `answer` and after a `receive` that found nothing,
  /// with no `send` behind it, they tell what comes next.
  std::array<int, 2> descriptors() const { return {zap_.descriptor(), router_.descriptor()}; }
  /// Answers what libzmq asks about keys; how many it refused.
  std::uint64_t answer(const std::function<bool(const public_key&)>& is_allowed);

  enum class heard : std::uint8_t { nothing, message, malformed };
  heard receive(std::string& routing, frame& payload);
  /// False: the connection is gone or takes nothing now.
  bool send(const std::string& routing, std::string_view bytes);
  /// What was sent last still goes, for a moment.
  void close();

private:
  socket zap_;
  socket router_;
  public_key key_;
  std::string_view whom_;
  std::string endpoint_;
  std::string address_;
};

} // namespace assay::fabric
