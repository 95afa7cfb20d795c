#pragma once
// Listeners for people and monitors: the admin API on its unix socket, health and metrics on TCP.
//
// A few threads call one handler with whole requests; the handler may block. Applications never
// come here: their listener is src/http/ingress_server.hpp.

#include "src/base/limits.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace assay::http {

struct service_request {
  std::string method;
  std::string path; ///< Percent-decoded, without the query.
  std::map<std::string, std::string> query;
  std::string body;
  std::optional<std::uint32_t> peer_uid; ///< Who is at the other end of a unix socket.
};

struct service_response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  /// Set for a body that is made piece by piece, at the client's pace: called until it gives an
  /// empty text. Nothing: it cannot go on; the connection is cut, so that nobody takes what was
  /// sent for the whole.
  std::function<std::optional<std::string>()> next_piece;
};

using service_handler = std::function<service_response(const service_request&)>;

struct service_options {
  std::string unix_path; ///< Set for a unix socket (mode 0600, an old socket file is replaced);
  std::string host = "127.0.0.1"; ///< else this IP address
  std::uint16_t port = 0;         ///< and port; 0 takes a free one.
  unsigned threads = 2;
  std::size_t body_bytes = limits::service_body_bytes;
  /// When so many are open, the one that has sent no request for longest is closed for the next.
  std::size_t connections = limits::service_connections;
  /// Of the bodies and answers in memory that are above limits::service_small_bytes; who asks for
  /// more is answered 503.
  std::size_t bodies_bytes = limits::service_bodies_bytes;
  std::chrono::milliseconds idle{30'000};
};

class service_listener {
public:
  /// Binds and starts to answer.
  static result<std::unique_ptr<service_listener>, problem>
  open(service_options options, service_handler handler);

  /// Stops accepting, lets handlers that run come to their end, and joins.
  ~service_listener();

  std::uint16_t port() const;

private:
  class implementation;
  explicit service_listener(std::unique_ptr<implementation> i);
  std::unique_ptr<implementation> implementation_;
};

} // namespace assay::http
