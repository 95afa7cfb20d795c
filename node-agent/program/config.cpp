#include "node-agent/program/config.hpp"

#include "node-agent/host/own_address.hpp"
#include "src/base/limits.hpp"
#include "src/catalog/reader.hpp"
#include "src/catalog/yaml_tree.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/json/serialize.hpp>
#include <unistd.h>

#include <array>
#include <charconv>

namespace assay::agent {

namespace {

constexpr std::array rows{
  catalog::key_row{"data", "a folder", "required"},
  catalog::key_row{"host", "a name", "the machine's host name"},
  catalog::key_row{"coordinators", "a list of HOST:PORT", "required"},
  catalog::key_row{"keys", "a folder", "data/agent/keys"},
  catalog::key_row{"path", "a list of folders", "empty"},
  catalog::key_row{"address", "an IPv4 address of this host", "the one that reaches a coordinator"},
  catalog::key_row{"ports", "FIRST-LAST", "7200-7999"},
  catalog::key_row{"monitor", "ADDRESS:PORT or off", "off"},
  catalog::key_row{"stop-replicas", "true or false", "false"},
  catalog::key_row{"device-root", "a folder", "/"},
};
constexpr catalog::key_table keys{"agent", rows};

agent_config read_keys(catalog::mapping_reader& reader) {
  agent_config config;
  std::string text;
  if (reader.require("data", "name the data directory, for example data: /var/lib/assay") && reader.text("data", text))
    config.data = text;
  reader.text("host", config.host);
  reader.texts("coordinators", config.coordinators);
  if (reader.text("keys", text))
    config.keys = text;
  std::vector<std::string> folders;
  reader.texts("path", folders);
  config.path.assign(folders.begin(), folders.end());
  if (reader.text("address", text)) {
    if (auto address = parse_own_address(text))
      config.address = *address;
    else
      reader.refuse("address", address.error().what, address.error().next);
  }
  if (reader.text("ports", text)) {
    if (auto range = parse_port_range(text))
      config.ports = *range;
    else
      reader.refuse("ports", range.error().what, range.error().next);
  }
  if (reader.text("monitor", text)) {
    if (auto monitor = parse_monitor(text))
      config.monitor = *monitor;
    else
      reader.refuse("monitor", monitor.error().what, monitor.error().next);
  }
  reader.flag("stop-replicas", config.stop_replicas);
  if (reader.text("device-root", text))
    config.device_root = text;
  return config;
}

} // namespace

result<agent_config, std::vector<problem>>
parse_config(const std::string& file, const std::string& text) {
  catalog::complaints out;
  auto documents = catalog::read_yaml({file, text}, out);
  if (out.empty() && documents.size() != 1)
    out.add({file, 1, 1}, "", "the configuration is not one YAML document", "write one mapping");
  if (!out.empty())
    return unexpected{out.take()};
  if (documents.front().root.kind != catalog::node_kind::mapping) {
    out.add({file, 1, 1}, "", "the configuration is not a mapping", "write `data: DIR` and so on");
    return unexpected{out.take()};
  }
  catalog::mapping_reader reader{documents.front().root, keys, file, "", out};
  auto config = read_keys(reader);
  if (!out.empty())
    return unexpected{out.take()};
  return config;
}

std::filesystem::path joined_config_path(const std::filesystem::path& data) {
  return data / "agent/agent.yaml";
}

std::string joined_config_text(const agent_config& config) {
  // A JSON string is a YAML scalar, whatever a folder is called.
  auto in_quotes = [](const std::string& text) {
    return boost::json::serialize(boost::json::string{text});
  };
  std::string text = "# Written by `assay-agent join`; `assay-agent run --data DIR` reads it.\n";
  text += "data: " + in_quotes(config.data.native()) + "\nhost: " + in_quotes(config.host)
          + "\nkeys: " + in_quotes(config.keys.native()) + "\ncoordinators:\n";
  for (const auto& coordinator : config.coordinators)
    text += "  - " + in_quotes(coordinator) + '\n';
  if (!config.path.empty())
    text += "path:\n";
  for (const auto& folder : config.path)
    text += "  - " + in_quotes(folder.native()) + '\n';
  return text;
}

result<std::optional<monitor_address>, problem> parse_monitor(const std::string& text) {
  if (text == "off")
    return std::optional<monitor_address>{};
  auto colon = text.rfind(':');
  std::uint16_t port = 0;
  boost::system::error_code bad;
  auto host = text.substr(0, colon);
  boost::asio::ip::make_address(host, bad);
  auto begin = colon == std::string::npos ? text.data() + text.size() : text.data() + colon + 1;
  auto [end, error] = std::from_chars(begin, text.data() + text.size(), port);
  if (colon == std::string::npos || bad || error != std::errc{} || end != text.data() + text.size())
    return unexpected{problem{
      problem_kind::invalid,
      "'" + text + "' is not an address to listen on",
      "monitor",
      "write ADDRESS:PORT with an IP address, for example 127.0.0.1:7110, or off"}};
  return std::optional{monitor_address{host, port}};
}

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()}
                                                          : std::string{"unnamed"};
}

result<agent_config, problem> complete(agent_config config) {
  if (config.data.empty())
    return unexpected{problem{
      problem_kind::invalid,
      "no data directory is named",
      "data",
      "use --data DIR, or `data:` in the file of --config"}};
  if (config.coordinators.empty())
    return unexpected{problem{
      problem_kind::invalid,
      "no coordinator is named",
      "coordinators",
      "join the host first (assay host join TOKEN --data DIR), use --coordinator HOST:PORT, or "
      "`coordinators:` in the file of --config"}};
  std::error_code error;
  config.data = std::filesystem::absolute(config.data, error).lexically_normal();
  for (auto& folder : config.path)
    folder = std::filesystem::absolute(folder, error).lexically_normal();
  // `DIR/bin/` ends in an empty name; its parent would be itself.
  for (auto& folder : config.path)
    if (!folder.has_filename())
      folder = folder.parent_path();
  if (config.host.empty())
    config.host = machine_name();
  if (config.keys.empty())
    config.keys = config.data / "agent/keys";
  return config;
}

} // namespace assay::agent
