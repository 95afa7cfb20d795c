#pragma once
// Talks to assayd's admin API (docs/admin-api.md): one call, one JSON document or one problem.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/http/client.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace assay::cli {

namespace json = boost::json;

/// Where to look for a server, in this order: `--server`, `$ASSAY_SERVER`, `server:` in
/// `~/.config/assay/config.yaml`, then the admin socket of a standalone in the usual place.
result<http::client_address, problem> find_server(const std::string& option);

class admin_client {
public:
  explicit admin_client(http::client_address server) : server_{std::move(server)} {}

  /// `path` is relative to `/assay/v1/`. A refusal comes back as the problem that the server named.
  result<json::object, problem> get(const std::string& path) const;
  result<json::object, problem> post(const std::string& path, const json::object& body) const;
  /// For what may take long: the answer may stay away for so long.
  result<json::object, problem>
  post(const std::string& path, const json::object& body, std::chrono::seconds patience) const;
  result<json::object, problem> remove(const std::string& path) const;

  /// A body that is not JSON (a job's output), piece by piece to `sink`.
  result<void, problem> download(const std::string& path, const http::data_sink& sink) const;

private:
  result<json::object, problem>
  call(http::client_request request, const http::client_limits& limits = {}) const;

  http::client_address server_;
};

/// Percent-encodes one path segment, so that a name may hold `/` and `#`.
std::string segment(std::string_view name);

} // namespace assay::cli
