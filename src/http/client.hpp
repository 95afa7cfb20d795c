#pragma once
// A small HTTP/1.1 client for our own errands: the command line, EVALUATOR, DISPATCHER and the
// agent's probes.
//
// One call is one exchange on one connection, with a limit for each of its phases. The call blocks
// its thread; it never retries, follows no redirect and reads no proxy from the environment. It is
// not the relay: applications' traffic goes through src/http/exchange.hpp.

#include "src/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::http {

/// A TCP address (`host` is an IP address) or, when `unix_path` is set, a unix socket.
struct client_address {
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;
};

std::string to_text(const client_address& a);

/// Reads `http://HOST[:PORT]`, `HOST:PORT` or `unix:PATH`; nothing else.
result<client_address, std::string> parse_client_address(std::string_view text);

struct client_request {
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers; ///< Host and Content-Length are added.
  std::string body;
};

struct client_response {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers; ///< Names in lower case.
  std::string body;                                         ///< Empty when `on_data` took it.

  /// The first header of that lower-case name; empty when there is none.
  std::string_view header(std::string_view name) const;
};

struct client_limits {
  std::chrono::milliseconds connect{2'000};
  std::chrono::milliseconds first_byte{30'000};
  std::chrono::milliseconds gap{30'000};
  std::size_t body_bytes = 64 << 20;
};

enum class client_failure : std::uint8_t {
  refused,   ///< Nobody listens.
  timeout,   ///< A limit ran out; `text` says which.
  cut,       ///< The connection ended in the middle.
  too_large, ///< The body passed `body_bytes`.
  malformed, ///< Not HTTP.
  cancelled, ///< `on_data` returned false.
};

struct client_error {
  client_failure kind = client_failure::cut;
  std::string text;
};

/// Takes the body's bytes as they come, for a status of 200; false ends the exchange at once.
using data_sink = std::function<bool(std::string_view)>;

result<client_response, client_error> exchange(
  const client_address& address,
  const client_request& request,
  const client_limits& limits = {},
  const data_sink& on_data = {}
);

} // namespace assay::http
