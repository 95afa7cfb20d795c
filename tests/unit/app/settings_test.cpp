#include "src/app/settings.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::app {

TEST_CASE("a whole configuration is read") {
  auto read = parse_settings(
    "c.yaml",
    "data: /x\n"
    "ingress: {listen: \"0.0.0.0:80\", threads: 4, plaintext: accepted}\n"
    "monitor: {listen: 127.0.0.1:9}\n"
    "agents: {listen: 10.0.0.1:7}\n"
  );
  REQUIRE(read);
  CHECK(read->data == "/x");
  CHECK(read->ingress.host == "0.0.0.0");
  CHECK(read->ingress.port == 80);
  CHECK(read->ingress_threads == 4);
  CHECK(read->plaintext_accepted);
  CHECK(read->monitor.port == 9);
  CHECK(read->agents.host == "10.0.0.1");
  CHECK_FALSE(read->standalone);
}

TEST_CASE("everything that is wrong is named at once, with its line") {
  auto read = parse_settings(
    "c.yaml",
    "data: /x\n"
    "colour: red\n"
    "ingress:\n"
    "  listen: nowhere\n"
    "  threads: 65\n"
    "  plaintext: maybe\n"
  );
  REQUIRE_FALSE(read);
  REQUIRE(read.error().size() == 4);
  CHECK(read.error()[0].where == "c.yaml:2: colour");
  CHECK(
    read.error()[0].next == "allowed: agents, data, ingress, ledger, monitor, name, peers, roles"
  );
  CHECK(read.error()[1].where == "c.yaml:4: ingress.listen");
  CHECK(read.error()[2].where == "c.yaml:5: ingress.threads");
  CHECK(read.error()[3].where == "c.yaml:6: ingress.plaintext");
}

TEST_CASE("64 threads are allowed and none are not") {
  CHECK(parse_settings("c", "data: /x\ningress: {threads: 64}\n"));
  CHECK_FALSE(parse_settings("c", "data: /x\ningress: {threads: 0}\n"));
}

TEST_CASE("what a replica is waited for is set step by step, and a limit that is none is refused") {
  using namespace std::chrono_literals;
  auto read = parse_settings(
    "c",
    "data: /x\ningress: {limits: {connect: 500 ms, first_token: 2 min, gap: 20 s, total: 24 h}}\n"
  );
  REQUIRE(read);
  CHECK(read->relay.connect == 500ms);
  CHECK(read->relay.first_token == 2min);
  CHECK(read->relay.gap == 20s);
  CHECK(read->relay.total == 24h);
  CHECK(parse_settings("c", "data: /x\n")->relay.first_token == 10min);
  for (auto bad :
       {"first_token: 10", "gap: 0 s", "total: 25 h", "connect: 61 s", "first-token: 1 s"})
    CHECK_FALSE(parse_settings("c", std::string{"data: /x\ningress: {limits: {"} + bad + "}}\n"));
}

TEST_CASE("32 MiB of address space are allowed and 31 are not") {
  CHECK(parse_settings("c", "data: /x\n")->map_mib == 65'536);
  CHECK(parse_settings("c", "data: /x\nledger: {map_mib: 32}\n")->map_mib == 32);
  CHECK_FALSE(parse_settings("c", "data: /x\nledger: {map_mib: 31}\n"));
}

TEST_CASE("a key twice, a file without data, and what is not YAML are refused") {
  CHECK_FALSE(parse_settings("c", "data: /x\ndata: /y\n"));
  CHECK_FALSE(parse_settings("c", "monitor: {listen: 127.0.0.1:1}\n"));
  CHECK_FALSE(parse_settings("c", "data: [\n"));
  CHECK_FALSE(parse_settings("c", "- data\n"));
  CHECK_FALSE(parse_settings("c", ""));
}

TEST_CASE("a coordinator says its name, its roles and where others dial it") {
  auto read = parse_settings(
    "c.yaml", "data: /x\nname: node-b\nroles: [ingress]\npeers: {listen: 10.0.0.2:7104}\n"
  );
  REQUIRE(read);
  CHECK(read->name == "node-b");
  CHECK_FALSE(read->is_coordinator);
  CHECK(read->has_ingress);
  CHECK(read->peers.host == "10.0.0.2");
}

TEST_CASE("roles and addresses that cannot be are named with what is allowed") {
  for (const auto* line :
       {"roles: []",
        "roles: ingress",
        "roles: [ingress, ingress]",
        "roles: [leader]",
        "peers: {listen: 0.0.0.0:7104}",
        "peers: {listen: 10.0.0.1:0}",
        "peers: {port: 1}",
        "name: a b",
        "name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    auto read = parse_settings("c.yaml", std::string{"data: /x\n"} + line + "\n");
    CAPTURE(line);
    REQUIRE_FALSE(read);
    CHECK(read.error()[0].where.find("c.yaml:2") == 0);
    CHECK_FALSE(read.error()[0].next.empty());
  }
}

} // namespace assay::app
