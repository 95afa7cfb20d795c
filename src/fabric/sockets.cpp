#include "src/fabric/sockets.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <utility>

#ifdef __SANITIZE_THREAD__
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace assay::fabric {

namespace {

class ignore_reads_under_tsan {
public:
#ifdef __SANITIZE_THREAD__
  ignore_reads_under_tsan() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  }
  ~ignore_reads_under_tsan() {
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  ignore_reads_under_tsan() {} // User-provided, so that the object does not count as unused.
#endif
  ignore_reads_under_tsan(const ignore_reads_under_tsan&) = delete;
  ignore_reads_under_tsan& operator=(const ignore_reads_under_tsan&) = delete;
};

int milliseconds(std::chrono::milliseconds time) {
  return static_cast<int>(time.count());
}

// Not set for all: with it libzmq reports IPv4 addresses in their mapped form.
bool names_ipv6(std::string_view endpoint) {
  return endpoint.starts_with("tcp://[");
}

// The one place that reads memory which libzmq's threads wrote. Debian's libzmq is not
// instrumented, so TSan cannot see what orders the two.
void copy_out_of_libzmq(zmq_msg_t& message, frame& into) {
  ignore_reads_under_tsan ignoring;
  into.bytes.assign(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
  into.more = zmq_msg_more(&message) != 0;
  auto id = zmq_msg_gets(&message, "User-Id");
  into.user_id = id == nullptr ? "" : id;
}

} // namespace

context::context() : handle_{zmq_ctx_new()} {
  check(handle_ != nullptr, "libzmq makes a context");
}

context::~context() {
  while (zmq_ctx_term(handle_) != 0 && errno == EINTR) {
  }
}

socket::socket(const context& from, int type) : handle_{zmq_socket(from.get(), type)} {
  if (handle_ != nullptr)
    set(ZMQ_LINGER, 0);
}

socket::~socket() {
  if (handle_ != nullptr)
    zmq_close(handle_);
}

socket::socket(socket&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}

socket& socket::operator=(socket&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

bool socket::set(int option, int value) {
  return zmq_setsockopt(handle_, option, &value, sizeof value) == 0;
}

bool socket::set(int option, std::int64_t value) {
  return zmq_setsockopt(handle_, option, &value, sizeof value) == 0;
}

bool socket::set(int option, std::string_view value) {
  return zmq_setsockopt(handle_, option, value.data(), value.size()) == 0;
}

bool socket::bind(const std::string& endpoint) {
  if (names_ipv6(endpoint))
    set(ZMQ_IPV6, 1);
  return zmq_bind(handle_, endpoint.c_str()) == 0;
}

bool socket::connect(const std::string& endpoint) {
  if (names_ipv6(endpoint))
    set(ZMQ_IPV6, 1);
  return zmq_connect(handle_, endpoint.c_str()) == 0;
}

std::string socket::last_endpoint() const {
  char text[256];
  auto size = sizeof text;
  if (zmq_getsockopt(handle_, ZMQ_LAST_ENDPOINT, text, &size) != 0)
    return {};
  return text;
}

bool socket::receive(frame& into) {
  zmq_msg_t message;
  zmq_msg_init(&message);
  int size = 0;
  do
    size = zmq_msg_recv(&message, handle_, ZMQ_DONTWAIT);
  while (size < 0 && errno == EINTR);
  if (size >= 0)
    copy_out_of_libzmq(message, into);
  zmq_msg_close(&message);
  return size >= 0;
}

void socket::skip_rest(frame& current) {
  while (current.more && receive(current)) {
  }
}

bool socket::send(std::string_view bytes, bool more) {
  int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  int size = 0;
  do
    size = zmq_send(handle_, bytes.data(), bytes.size(), flags);
  while (size < 0 && errno == EINTR);
  return size >= 0;
}

int socket::descriptor() const {
  int out = -1;
  auto size = sizeof out;
  zmq_getsockopt(handle_, ZMQ_FD, &out, &size);
  return out;
}

int socket::ready() const {
  int out = 0;
  auto size = sizeof out;
  zmq_getsockopt(handle_, ZMQ_EVENTS, &out, &size);
  return out;
}

bool set_common(socket& s, int waiting_messages) {
  // Above message_bytes a frame is dropped and counted by us; far above it libzmq ends the
  // connection.
  constexpr auto frame_bytes = static_cast<std::int64_t>(limits::message_bytes * 2);
  constexpr auto dead_after = 2 * limits::peer_silence;
  return s.set(ZMQ_MAXMSGSIZE, frame_bytes) && s.set(ZMQ_SNDHWM, waiting_messages)
         && s.set(ZMQ_RCVHWM, waiting_messages)
         && s.set(ZMQ_HANDSHAKE_IVL, milliseconds(limits::handshake))
         && s.set(ZMQ_TCP_MAXRT, milliseconds(dead_after));
}

bool set_curve_server(socket& s, const key_pair& keys) {
  return s.set(ZMQ_CURVE_SERVER, 1) && s.set(ZMQ_CURVE_SECRETKEY, keys.secret);
}

bool set_curve_client(socket& s, const key_pair& keys, const public_key& server) {
  return s.set(ZMQ_CURVE_SERVERKEY, to_text(server))
         && s.set(ZMQ_CURVE_PUBLICKEY, to_text(keys.shared))
         && s.set(ZMQ_CURVE_SECRETKEY, keys.secret);
}

monitor::monitor(const context& from, socket& watched, int events) {
  static std::atomic<std::uint64_t> count{0};
  auto endpoint = "inproc://monitor-" + std::to_string(++count);
  if (zmq_socket_monitor(watched.get(), endpoint.c_str(), events) != 0)
    return;
  watched_ = watched.get();
  socket pair{from, ZMQ_PAIR};
  if (pair && pair.connect(endpoint))
    pair_ = std::move(pair);
}

monitor::~monitor() {
  if (watched_ != nullptr)
    zmq_socket_monitor(watched_, nullptr, 0);
}

monitor::monitor(monitor&& other) noexcept
  : watched_{std::exchange(other.watched_, nullptr)}, pair_{std::move(other.pair_)} {}

monitor& monitor::operator=(monitor&& other) noexcept {
  std::swap(watched_, other.watched_);
  std::swap(pair_, other.pair_);
  return *this;
}

std::optional<int> monitor::next_event() {
  frame first;
  if (!pair_.receive(first))
    return std::nullopt;
  std::uint16_t event = 0;
  if (first.bytes.size() >= sizeof event)
    std::memcpy(&event, first.bytes.data(), sizeof event);
  pair_.skip_rest(first);
  return event;
}

wake_up::wake_up() : fd_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {
  check(fd_ >= 0, "the process may open an eventfd");
}

wake_up::~wake_up() {
  ::close(fd_);
}

void wake_up::raise() {
  std::uint64_t one = 1;
  // Only a full counter can refuse, and then the thread is awake already.
  [[maybe_unused]] auto size = ::write(fd_, &one, sizeof one);
}

void wake_up::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] auto size = ::read(fd_, &count, sizeof count);
}

} // namespace assay::fabric
