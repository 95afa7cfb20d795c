#include "node-agent/program/command_line.hpp"

#include "node-agent/host/own_address.hpp"
#include "node-agent/host/process.hpp"
#include "src/http/client.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace assay::agent {

namespace {

constexpr int usage_code = 2;

/// What stands on the command line; it wins over the file.
struct run_words {
  std::string config;
  std::string data;
  std::string host;
  std::vector<std::string> coordinators;
  std::string keys;
  std::vector<std::string> path;
  std::string address;
  std::string ports;
  std::string monitor;
  std::string device_root;
  bool stop_replicas = false;
};

struct adopt_words {
  std::string data;
  std::string url;
  std::string model;
  std::string profile = "http";
  std::string project = "default";
};

just_exit refuse(const problem& why) {
  std::fprintf(stderr, "assay-agent: %s\n", to_text(why).c_str());
  return {usage_code};
}

void add_run(CLI::App& app, run_words& words) {
  auto* run = app.add_subcommand("run", "Run the agent in the foreground");
  run->add_option("--config", words.config, "Configuration file (YAML); else what `join` wrote")
    ->check(CLI::ExistingFile);
  run->add_option("--data", words.data, "Data directory; the agent's part is DIR/agent");
  run->add_option("--host", words.host, "This host's name");
  run->add_option("--coordinator", words.coordinators, "HOST:PORT; may be repeated");
  run->add_option("--keys", words.keys, "Folder of the CURVE keys");
  run->add_option("--path", words.path, "Folder with runtimes, searched before PATH; repeatable");
  run->add_option(
    "--address", words.address, "Where ingresses of other hosts reach this one (IPv4)"
  );
  run->add_option("--ports", words.ports, "Ports for replicas, FIRST-LAST");
  run->add_option("--monitor", words.monitor, "ADDRESS:PORT of /metrics and /healthz, or off");
  run->add_option(
    "--device-root", words.device_root, "Where /sys, /proc/driver and /dev of the devices lie (/)"
  );
  run->add_flag("--stop-replicas", words.stop_replicas, "Replicas end with the agent");
  run->footer("Examples:\n  assay-agent run --data /var/lib/assay --path /opt/assay/llama/bin\n"
              "  assay-agent run --data /var/lib/assay --coordinator 10.0.0.1:7103 --host node-17");
}

void add_adopt(CLI::App& app, adopt_words& words) {
  auto* adopt = app.add_subcommand("adopt", "Register a server that somebody else started");
  adopt->add_option("--data", words.data, "Data directory of the running agent")->required();
  adopt->add_option("--url", words.url, "http://ADDRESS:PORT of the server")->required();
  adopt->add_option("--model", words.model, "Logical model that it serves")->required();
  adopt->add_option("--profile", words.profile, "Runtime profile")->capture_default_str();
  adopt->add_option("--project", words.project, "Whom it serves until an operator approves")
    ->capture_default_str();
  adopt->footer("Example:\n  assay-agent adopt --data /var/lib/assay --url http://127.0.0.1:8000 "
                "--model chat-v1");
}

void add_join(CLI::App& app, join_command& words) {
  auto* join = app.add_subcommand("join", "Register this host with a token of `assay host token`");
  join->add_option("token", words.token, "The token, or - to read it from standard input")
    ->required();
  join->add_option("--data", words.data, "Data directory")->capture_default_str();
  join->add_option("--keys", words.keys, "Folder of the CURVE keys");
  join->add_option("--host", words.host, "This host's name");
  join->add_option("--path", words.path, "Folder with runtimes, for `run`; repeatable");
  join->footer("Example:\n  assay-agent join - --data /var/lib/assay --host node-17 --path "
               "/opt/assay/llama/bin "
               "< token");
}

template <class T>
void override_with(T& target, const T& word) {
  if (word != T{})
    target = word;
}

command to_run(const run_words& words) {
  agent_config config;
  auto file = words.config;
  if (auto joined = joined_config_path(words.data); file.empty() && std::filesystem::exists(joined))
    file = joined.native();
  if (!file.empty()) {
    auto text = read_small_file(file);
    auto parsed = parse_config(file, text.value_or(""));
    if (!parsed) {
      for (const auto& why : parsed.error())
        std::fprintf(stderr, "assay-agent: %s\n", to_text(why).c_str());
      return just_exit{1};
    }
    config = *parsed;
  }
  override_with(config.data, std::filesystem::path{words.data});
  override_with(config.host, words.host);
  override_with(config.coordinators, words.coordinators);
  override_with(config.keys, std::filesystem::path{words.keys});
  override_with(config.path, {words.path.begin(), words.path.end()});
  override_with(config.device_root, std::filesystem::path{words.device_root});
  config.stop_replicas = config.stop_replicas || words.stop_replicas;
  if (!words.address.empty()) {
    auto address = parse_own_address(words.address);
    if (!address)
      return refuse(address.error());
    config.address = *address;
  }
  if (!words.ports.empty()) {
    auto range = parse_port_range(words.ports);
    if (!range)
      return refuse(range.error());
    config.ports = *range;
  }
  if (!words.monitor.empty()) {
    auto monitor = parse_monitor(words.monitor);
    if (!monitor)
      return refuse(monitor.error());
    config.monitor = *monitor;
  }
  auto whole = complete(std::move(config));
  if (!whole)
    return refuse(whole.error());
  return run_command{*whole};
}

command to_adopt(const adopt_words& words) {
  auto address = http::parse_client_address(words.url);
  if (!address)
    return refuse({problem_kind::invalid, address.error(), "--url", "write http://ADDRESS:PORT"});
  return adopt_command{words.data, {words.url, words.model, {words.profile}, {words.project}}};
}

} // namespace

command parse_command_line(int argc, char** argv) {
  CLI::App app{"Assay's node agent: runs runtimes on this host and reports to the coordinators"};
  app.name("assay-agent");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string{"assay-agent "} + ASSAY_VERSION);
  run_words run;
  adopt_words adopt;
  join_command join{{}, "/var/lib/assay", {}, {}, {}};
  std::string directory;
  std::string data;
  auto stop_replicas = false;
  add_run(app, run);
  add_adopt(app, adopt);
  add_join(app, join);
  auto* hold = app.add_subcommand("hold", "Internal: hold one runtime");
  hold->add_option("directory", directory)->required();
  hold->group("");
  probe_command asked;
  auto* probe = app.add_subcommand("probe", "Internal: look at one family of devices");
  probe->add_option("family", asked.family)
    ->required()
    ->check(CLI::IsMember({"nvidia", "amd", "neuron"}));
  probe->add_option("--root", asked.root);
  probe->group("");
  auto* stop = app.add_subcommand("stop", "End the running agent of a data directory");
  stop->add_option("--data", data, "Data directory of the agent")->required();
  stop->add_flag(
    "--stop-replicas", stop_replicas, "Its replicas too, also those that a dead agent left"
  );
  std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
  if (!given.empty() && given.front() == "help") { // `help WORD` is `WORD --help`.
    given.erase(given.begin());
    given.emplace_back("--help");
  }
  try {
    app.parse(std::vector<std::string>(given.rbegin(), given.rend())
    ); // It takes them from the back.
  } catch (const CLI::ParseError& why) {
    return just_exit{app.exit(why) == 0 ? 0 : usage_code};
  }
  if (hold->parsed())
    return hold_command{directory};
  if (probe->parsed())
    return asked;
  if (stop->parsed())
    return stop_command{data, stop_replicas};
  if (app.got_subcommand("join"))
    return join;
  return app.got_subcommand("adopt") ? to_adopt(adopt) : to_run(run);
}

} // namespace assay::agent
