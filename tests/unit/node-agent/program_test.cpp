#include "node-agent/host/own_address.hpp"
#include "node-agent/program/command_line.hpp"
#include "node-agent/program/config.hpp"
#include "node-agent/program/control.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::agent {

TEST_CASE("a configuration file becomes a value, whichever way its keys are spelled") {
  auto config = parse_config(
    "agent.yaml",
    "data: /var/lib/assay\nhost: n17\ncoordinators: [10.0.0.1:7103]\npath: [/opt/llama/bin]\n"
    "ports: 7300-7310\naddress: 10.0.0.17\nmonitor: 127.0.0.1:7110\nstop_replicas: true\n"
  );
  REQUIRE(config);
  CHECK(config->data == "/var/lib/assay");
  CHECK(config->ports == port_range{7300, 7310});
  CHECK(config->address == "10.0.0.17");
  CHECK(config->monitor == monitor_address{"127.0.0.1", 7110});
  CHECK(config->stop_replicas);
}

TEST_CASE("an unknown key is refused with its line, and all problems come at once") {
  auto config = parse_config("agent.yaml", "data: /d\nprots: 1-2\nports: 9-1\n");
  REQUIRE_FALSE(config);
  REQUIRE(config.error().size() == 2);
  CHECK(config.error()[0].where.starts_with("agent.yaml:2"));
  CHECK(config.error()[1].where.starts_with("agent.yaml:3"));
}

TEST_CASE("a monitor is an IP address with a port, or off") {
  CHECK_FALSE(*parse_monitor("off"));
  CHECK(**parse_monitor("::1:0") == monitor_address{"::1", 0});
  for (const auto* text : {"", "localhost:7110", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:x"})
    CHECK_FALSE(parse_monitor(text));
}

TEST_CASE("an address is an IPv4 address that one host can have") {
  for (const auto* good : {"10.0.0.17", "127.0.0.1", "223.255.255.255"})
    CHECK(parse_own_address(good));
  for (const auto* bad :
       {"", "0.0.0.0", "224.0.0.1", "255.255.255.255", "node-17", "::1", "10.0.0.17:7200"})
    CHECK_FALSE(parse_own_address(bad));
}

TEST_CASE("the address towards a coordinator is the one that the kernel would use") {
  CHECK(address_towards({"127.0.0.1:7103"}) == "127.0.0.1");
  CHECK(address_towards({"no port", "127.0.0.1:7103"}) == "127.0.0.1");
  CHECK(address_towards({}) == "127.0.0.1");
}

TEST_CASE("a run needs a data directory and a coordinator, and says which word gives it") {
  CHECK(complete({}).error().where == "data");
  agent_config config;
  config.data = "/d";
  CHECK(complete(config).error().where == "coordinators");
  config.coordinators = {"127.0.0.1:7103"};
  auto whole = complete(config);
  REQUIRE(whole);
  CHECK(whole->keys == "/d/agent/keys");
  CHECK_FALSE(whole->host.empty());
}

TEST_CASE("what join wrote down is what a run with nothing but its data directory reads") {
  test::temp_folder data;
  agent_config joined;
  joined.data = data.path();
  joined.host = "node: \"17\"";
  joined.coordinators = {"10.0.0.1:7103", "[fd00::2]:7103"};
  joined.keys = data.path() / "its keys";
  joined.path = {"/opt/llama bin", "/opt/other"};
  auto path = data.write("agent/agent.yaml", joined_config_text(joined));
  CHECK(path == joined_config_path(data.path()));
  auto read = [](std::vector<std::string> words) {
    std::vector<char*> argv;
    for (auto& word : words)
      argv.push_back(word.data());
    return std::get<run_command>(parse_command_line(static_cast<int>(argv.size()), argv.data()))
      .config;
  };
  CHECK(read({"assay-agent", "run", "--data", data.path()}) == joined);
  CHECK(read({"assay-agent", "run", "--data", data.path(), "--host", "x"}).host == "x");
}

TEST_CASE("every command is read with its words, and a word too many is refused") {
  auto read = [](std::vector<std::string> words) {
    std::vector<char*> argv;
    for (auto& word : words)
      argv.push_back(word.data());
    return parse_command_line(static_cast<int>(argv.size()), argv.data());
  };
  auto run = read(
    {"assay-agent",
     "run",
     "--data",
     "/d",
     "--coordinator",
     "h:1",
     "--ports",
     "9-10",
     "--address",
     "10.0.0.17"}
  );
  REQUIRE(std::holds_alternative<run_command>(run));
  CHECK(std::get<run_command>(run).config.ports == port_range{9, 10});
  CHECK(std::get<run_command>(run).config.address == "10.0.0.17");
  auto join = read({"assay-agent", "join", "TOKEN", "--data", "/d"});
  REQUIRE(std::holds_alternative<join_command>(join));
  CHECK(std::get<join_command>(join).data == "/d");
  CHECK(std::get<just_exit>(read({"assay-agent", "help"})).code == 0);
  CHECK(std::get<just_exit>(read({"assay-agent", "help", "join"})).code == 0);
  CHECK(std::get<hold_command>(read({"assay-agent", "hold", "/d"})).directory == "/d");
  CHECK(std::get<stop_command>(read({"assay-agent", "stop", "--data", "/d"})).data == "/d");
  for (const auto& wrong : std::vector<std::vector<std::string>>{
         {"assay-agent"},
         {"assay-agent", "run"},
         {"assay-agent", "fly"},
         {"assay-agent", "run", "--data", "/d", "--coordinator", "h:1", "--ports", "10-9"},
         {"assay-agent", "run", "--data", "/d", "--coordinator", "h:1", "--address", "0.0.0.0"},
         {"assay-agent", "adopt", "--data", "/d", "--url", "ftp://x", "--model", "m"}})
    CHECK(std::get<just_exit>(read(wrong)).code == 2);
}

TEST_CASE("an offer survives its way through the socket") {
  fabric::adopt_offer offer{"http://127.0.0.1:8000", "chat", {"http"}, {"default"}};
  CHECK(*parse_offer(to_json(offer)) == offer);
  for (const auto* body : {"", "[]", "{}", R"({"url": 5, "model": "m", "profile": "http"})"})
    CHECK_FALSE(parse_offer(body));
}

} // namespace assay::agent
