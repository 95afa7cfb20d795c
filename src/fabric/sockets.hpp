#pragma once
// The few things of libzmq that the fabric uses, with owners that close. Errors come back as false
// or nothing, and errno says which; nothing here blocks or decides.

#include "src/fabric/curve_keys.hpp"

#include <zmq.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay::fabric {

/// One per hub or uplink: a ZAP handler serves every socket of its context.
class context {
public:
  context();
  ~context();
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  void* get() const { return handle_; }

private:
  void* handle_;
};

/// One received frame, copied out of libzmq.
struct frame {
  std::string bytes;
  bool more = false; ///< Another frame of the same message follows.

  /// What ZAP answered for the connection that this frame came over. On 4.3.4 a ROUTER's routing id
  /// frame does not have it, so ask the payload frame.
  std::string user_id;

  std::span<const std::byte> span() const { return std::as_bytes(std::span{bytes}); }
};

class socket {
public:
  socket() = default;
  socket(const context& from, int type);
  ~socket();
  socket(socket&&) noexcept;
  socket& operator=(socket&&) noexcept;

  explicit operator bool() const { return handle_ != nullptr; }
  void* get() const { return handle_; }

  bool set(int option, int value);
  bool set(int option, std::int64_t value);
  bool set(int option, std::string_view value);

  bool bind(const std::string& endpoint);
  bool connect(const std::string& endpoint);
  std::string last_endpoint() const;

  /// False when nothing waits.
  bool receive(frame& into);

  /// Reads and drops what is left of a message of several frames.
  void skip_rest(frame& current);

  bool send(std::string_view bytes, bool more = false);

  /// Readable when something happened to the socket that no call on it has seen yet; so ask `ready`
  /// after the last call and before waiting for it. zmq_poll asks every socket each time, which
  /// costs system calls for each.
  int descriptor() const;
  /// ZMQ_POLLIN and ZMQ_POLLOUT, as they are now.
  int ready() const;

private:
  void* handle_ = nullptr;
};

/// Sizes, times and TCP settings that both ends share. Never ZMQ_HEARTBEAT_IVL: 4.3.4 aborts when
/// it is on and a receive pipe is full.
bool set_common(socket& s, int waiting_messages);
bool set_curve_server(socket& s, const key_pair& keys);
bool set_curve_client(socket& s, const key_pair& keys, const public_key& server);

/// Watches the connection of a socket that dials one peer, and must end before that socket: an
/// event for a watcher that is gone would block libzmq's own thread.
class monitor {
public:
  monitor() = default;
  /// `events` as for zmq_socket_monitor.
  monitor(const context& from, socket& watched, int events);
  ~monitor();
  monitor(monitor&&) noexcept;
  monitor& operator=(monitor&&) noexcept;
  explicit operator bool() const { return static_cast<bool>(pair_); }
  void* get() const { return pair_.get(); }
  int descriptor() const { return pair_.descriptor(); }
  std::optional<int> next_event();

private:
  void* watched_ = nullptr;
  socket pair_;
};

/// Wakes a thread that polls.
class wake_up {
public:
  wake_up();
  ~wake_up();
  wake_up(const wake_up&) = delete;
  wake_up& operator=(const wake_up&) = delete;
  int descriptor() const { return fd_; }
  void raise();
  void clear();

private:
  int fd_;
};

} // namespace assay::fabric
