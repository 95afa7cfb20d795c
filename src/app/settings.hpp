#pragma once
// How one assayd is to run: from a configuration file, or what `--standalone` takes for granted.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/http/relay_limits.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace assay::app {

struct listen_address {
  std::string host = "127.0.0.1"; ///< An IP address.
  std::uint16_t port = 0;         ///< 0: any free one.
};

struct settings {
  std::filesystem::path data;
  bool standalone = false;
  std::string name; ///< Among the coordinators; the machine's own unless the file says one.
  bool is_coordinator = true; ///< May lead, once it is a voter; else it only holds a copy.
  bool has_ingress = true;
  listen_address ingress{"127.0.0.1", 7100};
  unsigned ingress_threads = 1;
  http::relay_limits relay;
  bool plaintext_accepted = false; ///< The ingress may listen beyond loopback without TLS.
  listen_address monitor{"127.0.0.1", 7101};
  listen_address agents{"127.0.0.1", 7103};
  listen_address peers{"127.0.0.1", 7104};
  unsigned map_mib = 65'536;             ///< Address space of the log, and of the state.
  std::vector<std::string> runtime_path; ///< Standalone: where its agent looks for runtimes.
};

/// Reads `text` of the file called `name`; every unknown key and every wrong value is named with
/// its line.
result<settings, std::vector<problem>>
parse_settings(const std::string& name, const std::string& text);

/// Everything on loopback and on free ports; the ports that were taken stand in
/// DIR/run/endpoints.json.
settings standalone_settings(std::filesystem::path data);

} // namespace assay::app
