#pragma once
// A replica of the tests: a real HTTP server on a free loopback port that does as its script says.
//
// One thread per connection, blocking calls, no library: so that it can break every rule that the
// ingress must survive. It records each request as it came.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace assay::tests {

struct mock_request {
  std::string head; ///< With its blank line.
  std::string body;
  std::size_t connection = 0; ///< Counted from 0, in the order of accepting.
};

/// The replica's end of one connection, while a script answers a request on it.
class mock_peer {
public:
  explicit mock_peer(int socket) : socket_{socket} {}

  void send(std::string_view bytes);
  void close();          ///< Orderly, both ways.
  void reset();          ///< With a RST.
  void finish_sending(); ///< Half-close.
  /// Waits until the other side has closed. False: it has not within the limit.
  bool closed_within(std::chrono::milliseconds limit);
  bool is_open() const { return socket_ >= 0; }

private:
  friend class mock_upstream;
  int socket_;
};

class mock_upstream {
public:
  using script = std::function<void(mock_peer&, const mock_request&)>;

  explicit mock_upstream(script answer);
  ~mock_upstream(); ///< Cuts what is open and joins all threads.
  mock_upstream(const mock_upstream&) = delete;
  mock_upstream& operator=(const mock_upstream&) = delete;

  std::uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  std::vector<mock_request> requests() const;
  std::size_t connections() const { return accepted_; }
  /// Waits until so many requests have come.
  bool saw(std::size_t count, std::chrono::milliseconds limit = std::chrono::seconds{10}) const;

  /// Stops listening, so that new connections are refused; open ones go on.
  void refuse_connections();

private:
  void accept_all();
  void serve(int socket, std::size_t number);

  script answer_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> accepted_{0};
  std::atomic<bool> stops_{false};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<mock_request> requests_;
  std::vector<std::thread> threads_;
  std::vector<int> open_;
  std::thread acceptor_;
};

/// `HTTP/1.1 STATUS ...` with a JSON body and its length.
std::string json_answer(std::string_view body, std::string_view status = "200 OK");

/// The head of an event stream in chunks.
std::string stream_head();
std::string chunk(std::string_view payload);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

/// A chat event with that content, its blank line included.
std::string content_event(std::string_view text);
inline constexpr std::string_view finish_event =
  "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
inline constexpr std::string_view done_event = "data: [DONE]\n\n";

} // namespace assay::tests
