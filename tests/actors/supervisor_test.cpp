// SUPERVISOR on a stage: real POOL COORDINATORs and NODE LINKs, made as the ledger and agents say.

#include "actors/supervisor.hpp"
#include "tests/support/fake_actors.hpp"
#include "tests/support/fake_ledger.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>

namespace assay {

namespace {

const host_id node{"node"};
const pool_id cpu_a{"cpu-a"};
const pool_id cpu_b{"cpu-b"};
const pool_id cpu_c{"cpu-c"};

/// Host `node` belongs to every pool of its family.
ledger::test::world site_with_host() {
  auto w = ledger::test::world::site();
  w.must(ledger::identity_added{
    node.value, ledger::identity_role::host, std::string(40, 'k'), {}, {}});
  return w;
}

struct scene {
  test::stage stage;
  test::fake_ledger ledger{stage, site_with_host()};
  test::inbox_ptr at_ingress = test::new_inbox();
  test::inbox_ptr at_listener = test::new_inbox();
  ingress_actor ingress = stage.system.spawn(test::fake_ingress, at_ingress);
  pool_listener listener = stage.system.spawn(test::fake_pool_listener, at_listener);
  std::vector<std::string> stopped; ///< Why the process was to end.
  supervisor_actor supervisor = stage.system.spawn(
    supervisor_behavior,
    supervisor_options{
      ledger.actor,
      ingress,
      {listener},
      [](const host_id&, const fabric::coordinator_message&) {},
      [this](const std::string& why) { stopped.push_back(why); }}
  );

  scene() { ledger.tell(supervisor); }
  ~scene() {
    stage.end(supervisor);
    stage.end(listener);
    stage.end(ingress);
  }

  template <class Message>
  void tell(Message what) {
    stage.self->send(supervisor, std::move(what));
    stage.settle();
  }
  void agent_comes(std::uint64_t session) {
    agent_up up{node, {}};
    up.hello.session = session;
    tell(up);
  }
  void agent_says(const std::string& version) {
    fabric::inventory what;
    what.fingerprint = {sha256(version), {{"runtime", version}}};
    tell(from_agent{node, what});
  }
  void retire(ledger::declaration_kind kind, const std::string& name) {
    ledger.must(ledger::retired{kind, name});
  }
  void retire_pool_b() {
    retire(ledger::declaration_kind::implementation, ledger::test::impl_b.value);
    retire(ledger::declaration_kind::pool, cpu_b.value);
  }

  parts_answer parts() { return stage.ask<parts_answer>(supervisor, parts_question{}); }
  host_answer host() { return stage.ask<host_answer>(parts().links.at(node), host_question{}); }
  std::vector<pool::host_view> hosts_of(const pool_id& id) {
    return stage.ask<pool_changed>(parts().pools.at(id), pool_question{}).view->hosts;
  }
  std::vector<pool_id> introduced() {
    std::vector<pool_id> names;
    auto last = at_ingress->of<pools_known>().back();
    for (const auto& [id, pool] : last.pools)
      names.push_back(id);
    return names;
  }
  /// Everybody who was monitored from here and has ended.
  std::size_t ended() {
    std::size_t count = 0;
    while (stage.self->has_next_message())
      stage.self->receive([&](const caf::down_msg&) { ++count; });
    return count;
  }
};

} // namespace

TEST_CASE("every declared pool gets a coordinator that the ingress and all listeners know") {
  scene s;
  CHECK(s.introduced() == std::vector{cpu_a, cpu_b});
  CHECK(s.parts().pools.size() == 2);
  for (const auto& heard : {s.at_ingress, s.at_listener}) {
    std::set<pool_id> seen;
    for (const auto& one : heard->of<pool_changed>())
      seen.insert(one.view->pool);
    CHECK(seen == std::set{cpu_a, cpu_b});
  }
}

TEST_CASE("news that change no pool introduce nobody again") {
  scene s;
  s.at_ingress->clear();
  auto before = s.parts().pools;
  s.ledger.must(ledger::declared{catalog::project{.name = {"other"}}});
  CHECK(s.at_ingress->of<pools_known>().empty());
  CHECK(s.parts().pools == before);
}

TEST_CASE("a pool that is declared later knows the hosts that were there before it") {
  scene s;
  s.agent_comes(1);
  s.agent_says("1");
  CHECK(s.hosts_of(cpu_a).size() == 1);
  s.ledger.must(ledger::declared{catalog::pool{.name = cpu_c}});
  CHECK(s.introduced() == std::vector{cpu_a, cpu_b, cpu_c});
  CHECK(s.hosts_of(cpu_c).size() == 1);
}

TEST_CASE("a pool that is retired ends, alone") {
  scene s;
  s.agent_comes(1);
  s.agent_says("1");
  auto before = s.parts().pools;
  s.stage.self->monitor(before.at(cpu_b));
  s.stage.self->monitor(before.at(cpu_a));
  s.retire_pool_b();
  CHECK(s.introduced() == std::vector{cpu_a});
  CHECK(s.ended() == 1);
  CHECK(s.parts().pools.at(cpu_a) == before.at(cpu_a));
  CHECK(s.hosts_of(cpu_a).at(0).connected);
  CHECK(s.stopped.empty());
}

TEST_CASE("what an agent says reaches its link under the session of its hello") {
  scene s;
  s.agent_comes(7);
  s.agent_says("1");
  CHECK(s.host().session == 7);
  CHECK(s.host().inventory.fingerprint.sum == sha256("1"));
  CHECK(s.ledger.all<ledger::stack_seen>().size() == 1);
}

TEST_CASE("an agent that comes back keeps its link, which goes on under the new session") {
  scene s;
  s.agent_comes(7);
  s.agent_says("1");
  auto link = s.parts().links.at(node);
  s.tell(agent_down{node, "silent"});
  CHECK_FALSE(s.host().connected);
  s.agent_comes(8);
  s.agent_says("2");
  CHECK(s.parts().links.at(node) == link);
  CHECK(s.host().connected);
  CHECK(s.host().session == 8);
  CHECK(s.hosts_of(cpu_a).at(0).session == 8);
}

TEST_CASE("who never said hello is not heard") {
  scene s;
  s.agent_says("1");
  s.tell(agent_down{node, "silent"});
  CHECK(s.parts().links.empty());
  CHECK(s.ledger.all<ledger::stack_seen>().empty());
}

TEST_CASE("an actor that ends by itself ends the process, and is named") {
  scene s;
  s.agent_comes(1);
  auto end = [&](const auto& who) {
    caf::anon_send_exit(who, caf::exit_reason::unhandled_exception);
    s.stage.settle();
  };
  SECTION("a coordinator") {
    end(s.parts().pools.at(cpu_a));
    REQUIRE(s.stopped.size() == 1);
    CHECK(s.stopped[0].find("POOL COORDINATOR of cpu-a") != std::string::npos);
  }
  SECTION("a link") {
    end(s.parts().links.at(node));
    REQUIRE(s.stopped.size() == 1);
    CHECK(s.stopped[0].find("NODE LINK of node") != std::string::npos);
  }
  SECTION("one that the SUPERVISOR did not make") {
    end(s.ingress);
    REQUIRE(s.stopped.size() == 1);
    CHECK(s.stopped[0].find("INGRESS") != std::string::npos);
  }
}

TEST_CASE("what the SUPERVISOR made ends with it, and that is no alarm") {
  scene s;
  s.agent_comes(1);
  auto parts = s.parts();
  for (const auto& [id, pool] : parts.pools)
    s.stage.self->monitor(pool);
  s.stage.self->monitor(parts.links.at(node));
  s.stage.end(s.supervisor);
  CHECK(s.ended() == 3);
  CHECK(s.stopped.empty());
}

} // namespace assay
