// NODE LINK on a stage: an agent speaks, pools listen, the ledger applies for real.

#include "actors/node_link.hpp"
#include "tests/support/fake_ledger.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay {

namespace {

using fabric::replica_phase;

struct heard {
  std::vector<pool::event> events;
  std::size_t links = 0;

  template <class Event>
  std::vector<Event> all() const {
    std::vector<Event> found;
    for (const auto& one : events)
      if (const auto* it = std::get_if<Event>(&one))
        found.push_back(*it);
    return found;
  }
};

pool_actor::behavior_type fake_pool(pool_actor::pointer, std::shared_ptr<heard> what) {
  return {
    [what](const pool::event& event) { what->events.push_back(event); },
    [what](const link_up&) { ++what->links; },
    [](const ingress_up&) {},
    [](const listen_to_pool&) {},
    [](const tables_changed&) {},
    [](pool_question) { return pool_changed{}; },
    [](tick) {},
  };
}

ledger::test::world site_with_host() {
  auto w = ledger::test::world::site();
  w.must(ledger::declared{catalog::profile_document{{"http"}, "text", sha256("text")}});
  w.must(ledger::identity_added{
    "node", ledger::identity_role::host, std::string(40, 'k'), {"cpu-a"}, {}});
  return w;
}

/// An agent `node` of pool `cpu-a` under session 1.
struct scene {
  test::stage stage;
  test::fake_ledger ledger{stage, site_with_host()};
  std::shared_ptr<heard> at_pool = std::make_shared<heard>();
  std::vector<fabric::coordinator_message> sent;
  pool_actor pool = stage.system.spawn(fake_pool, at_pool);
  node_link_actor link = stage.system.spawn(
    node_link_behavior,
    node_link_options{
      {"node"},
      1,
      ledger.actor,
      [this](const host_id&, const fabric::coordinator_message& what) { sent.push_back(what); }}
  );

  scene() { ledger.tell(link); }
  ~scene() {
    stage.end(link);
    stage.end(pool);
  }

  template <class Message>
  void tell(Message what) {
    stage.self->send(link, std::move(what));
    stage.settle();
  }
  void say(fabric::agent_message what, std::uint64_t session = 1) {
    tell(agent_said{session, std::move(what)});
  }
  void meet_pool() { tell(pools_known{{{{"cpu-a"}, pool}}}); }

  static fabric::inventory stack(const std::string& version) {
    fabric::inventory what;
    what.fingerprint = {sha256(version), {{"runtime", version}}};
    return what;
  }
  static fabric::replica_report replica(std::uint64_t generation, bool adopted = false) {
    fabric::replica_report report;
    report.replica = {"r" + std::to_string(generation)};
    report.implementation =
      adopted ? implementation_id{"m/cpu-a/adopted-node-8000"} : ledger::test::impl_a;
    report.generation = generation;
    report.phase = replica_phase::ready;
    report.address = "127.0.0.1";
    report.port = 7200;
    report.adopted = adopted;
    return report;
  }
  /// What the agent was told last of what it offered.
  const fabric::adopt_outcome* outcome() {
    for (auto it = sent.rbegin(); it != sent.rend(); ++it)
      if (const auto* told = std::get_if<fabric::adopt_outcome>(&*it))
        return told;
    return nullptr;
  }
  fabric::adopt_offer offer() { return {"http://127.0.0.1:8000", "m", {"http"}, {"lab"}, 3}; }
};

} // namespace

TEST_CASE("a pool that appears after its host learns of host and replicas at once") {
  scene s;
  s.say(scene::stack("1"));
  s.say(scene::replica(1));
  CHECK(s.at_pool->events.empty());
  s.meet_pool();
  CHECK(s.at_pool->links == 1);
  CHECK(s.at_pool->all<pool::host_reported>().size() == 1);
  CHECK(s.at_pool->all<pool::replica_reported>().size() == 1);
}

TEST_CASE("a changed stack is told of all of the host's replicas") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  s.say(scene::replica(1));
  s.say(scene::replica(2));
  s.at_pool->events.clear();
  s.say(scene::stack("2"));
  auto reports = s.at_pool->all<pool::replica_reported>();
  REQUIRE(reports.size() == 2);
  for (const auto& report : reports)
    CHECK(report.fingerprint == sha256("2"));
}

namespace {

std::vector<fabric::drain_host> drains(const scene& s) {
  std::vector<fabric::drain_host> said;
  for (const auto& one : s.sent)
    if (const auto* drain = std::get_if<fabric::drain_host>(&one))
      said.push_back(*drain);
  return said;
}

} // namespace

TEST_CASE("an agent is told what its host may be used for, on each change and in each session") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  REQUIRE(drains(s).size() == 1);
  CHECK_FALSE(drains(s)[0].on);
  s.ledger.must(ledger::cluster_version{2});
  s.ledger.must(ledger::host_standing{{"node"}, ledger::host_duty::draining, "a new fan"});
  REQUIRE(drains(s).size() == 2);
  CHECK(drains(s)[1].on);
  CHECK(drains(s)[1].reason.ends_with(": a new fan"));
  s.ledger.must(ledger::cluster_version{3}); // Nothing of this host.
  s.say(scene::stack("2"));
  CHECK(drains(s).size() == 2);
  s.say(scene::stack("2"), 2);
  REQUIRE(drains(s).size() == 3);
  CHECK(drains(s)[2].on);
  s.ledger.must(ledger::host_standing{{"node"}, ledger::host_duty::in_service, "it is in"});
  REQUIRE(drains(s).size() == 4);
  CHECK_FALSE(drains(s)[3].on);
}

TEST_CASE("a pool is offered the devices that are there for work, and told which are sick or lost"
) {
  scene s;
  s.meet_pool();
  auto what = scene::stack("1");
  using enum fabric::device_state;
  for (auto [id, state] : {std::pair{"a", offered}, {"b", withheld}, {"c", sick}, {"d", lost}})
    what.devices.push_back({catalog::family::nvidia, id, "H100", 1, state, "why " + std::string{id}}
    );
  s.say(what);
  auto report = s.at_pool->all<pool::host_reported>().back();
  CHECK(report.devices == std::vector<std::string>{"a"});
  CHECK(report.sick == std::map<std::string, std::string>{{"c", "why c"}, {"d", "why d"}});
}

TEST_CASE("a pool is told on which devices a replica is, so that a new leader gives none out twice"
) {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  auto report = scene::replica(1);
  report.devices = {"GPU-1"};
  s.say(report);
  CHECK(s.at_pool->all<pool::replica_reported>().back().devices == report.devices);
}

TEST_CASE("the pool is told whether a replica's end was ordered at its host, or came by itself") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  for (auto phase : {replica_phase::gone, replica_phase::failed}) {
    s.say(scene::replica(1));
    s.at_pool->events.clear();
    auto ended = scene::replica(1);
    ended.phase = phase;
    s.say(ended);
    auto reports = s.at_pool->all<pool::replica_reported>();
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].phase == pool::phase::gone);
    CHECK(reports[0].was_ordered == (phase == replica_phase::gone));
  }
}

TEST_CASE("an agent that comes back under a newer session is a host that has reported nothing") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  s.say(scene::replica(1));
  s.say(scene::stack("1"), 2);
  CHECK(s.at_pool->all<pool::host_reported>().back().session == 2);
  CHECK(s.stage.ask<host_answer>(s.link, host_question{}).reports.empty());
  s.at_pool->events.clear();
  SECTION("and what its former session still says is not heard") {
    s.say(scene::replica(1), 1);
    CHECK(s.at_pool->events.empty());
  }
  SECTION("and the end of its former session is not its own") {
    s.tell(agent_lost{1, "cut"});
    CHECK(s.stage.ask<host_answer>(s.link, host_question{}).connected);
  }
}

TEST_CASE("an agent that is lost is silent to its pools, and stays theirs until it is back") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  s.say(scene::replica(1));
  s.at_pool->events.clear();
  s.tell(agent_lost{1, "silent"});
  auto lost = s.at_pool->all<pool::host_lost>();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].session == 1);
  CHECK(lost[0].how == pool::host_loss::silent);
  s.at_pool->events.clear();
  SECTION("new tables before its new inventory do not take it out") {
    s.say(fabric::native_samples{}, 2);
    s.ledger.tell(s.link);
    CHECK(s.at_pool->all<pool::host_lost>().empty());
    s.say(scene::stack("1"), 2);
    CHECK(s.at_pool->all<pool::host_reported>().back().session == 2);
  }
  SECTION("its revocation takes it out under the session that the pool knows") {
    s.say(fabric::native_samples{}, 2);
    s.ledger.must(ledger::identity_revoked{"node", "lost"});
    lost = s.at_pool->all<pool::host_lost>();
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].session == 1);
    CHECK(lost[0].how == pool::host_loss::left);
  }
}

TEST_CASE("a replica that no pool of its host can know of is stopped") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  s.say(scene::replica(1));
  auto stops = [&] {
    std::vector<std::uint64_t> generations;
    for (const auto& one : s.sent)
      if (const auto* stop = std::get_if<fabric::stop_replica>(&one))
        generations.push_back(stop->generation);
    return generations;
  };
  CHECK(stops().empty());
  SECTION("when its host leaves the pool") {
    s.ledger.must(ledger::identity_revoked{"node", "moved"});
    CHECK(stops() == std::vector<std::uint64_t>{1});
  }
  SECTION("and not while its pool is there, declared or not: the pool ends it in order") {
    auto other = scene::replica(2);
    other.implementation = {"m/cpu-a/retired"};
    s.say(other);
    CHECK(stops().empty());
  }
}

TEST_CASE("a host that goes back to a former stack is recorded again") {
  scene s;
  s.meet_pool();
  for (const auto* version : {"1", "2", "1"})
    s.say(scene::stack(version));
  CHECK(s.ledger.all<ledger::stack_seen>().size() == 3);
  CHECK(s.ledger.world.t.hosts->at({"node"}).fingerprint == sha256("1"));
}

TEST_CASE("a fact on its way to the ledger is not proposed a second time") {
  scene s;
  s.meet_pool();
  s.ledger.is_held = true;
  s.say(scene::stack("1"));
  s.say(scene::stack("1"));
  CHECK(s.ledger.waiting() == 1);
  s.ledger.release();
  s.stage.settle();
  CHECK(s.ledger.refused.empty());
}

TEST_CASE("an offered server is declared, watched, and believed no further than it is claimed") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  s.say(s.offer());
  const auto& t = s.ledger.world.t;
  artifact_id artifact{"m/adopted-node-8000"};
  REQUIRE(t.artifacts->contains(artifact));
  REQUIRE(t.implementations->contains({"m/cpu-a/adopted-node-8000"}));
  CHECK(t.artifact_states->at(artifact).registered_by == "node");
  const auto* outcome = s.outcome();
  REQUIRE(outcome);
  CHECK(outcome->implementation.value == "m/cpu-a/adopted-node-8000");
  s.say(scene::replica(9, true));
  CHECK(t.artifact_states->at(artifact).state == ledger::artifact_state::verified);
  CHECK(t.artifact_states->at(artifact).trust == ledger::trust::claimed);
  CHECK(s.ledger.refused.empty());
}

TEST_CASE("an offer is answered when all that declares it is on record, and not before") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  s.ledger.is_held = true;
  s.say(s.offer());
  for (int declared = 0; s.ledger.waiting() > 0; ++declared) {
    REQUIRE(declared < 8);
    CHECK_FALSE(s.outcome());
    s.ledger.release();
    s.stage.settle();
  }
  REQUIRE(s.outcome());
  CHECK(s.outcome()->number == 3);
  CHECK(s.outcome()->implementation.value == "m/cpu-a/adopted-node-8000");
  CHECK(s.ledger.world.t.implementations->contains({"m/cpu-a/adopted-node-8000"}));
}

TEST_CASE("an offer whose second declaration is not taken is answered with the reason, and taken "
          "when made again") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  s.ledger.is_held = true;
  s.say(s.offer());
  s.ledger.release(); // The artifact.
  s.stage.settle();
  s.ledger.down = "the disk is full";
  s.ledger.release();
  s.stage.settle();
  REQUIRE(s.outcome());
  CHECK(s.outcome()->implementation.value.empty());
  CHECK(s.outcome()->what == "the disk is full");
  CHECK_FALSE(s.ledger.world.t.implementations->contains({"m/cpu-a/adopted-node-8000"}));
  s.ledger.down.clear();
  s.ledger.is_held = false;
  s.say(s.offer());
  CHECK(s.outcome()->implementation.value == "m/cpu-a/adopted-node-8000");
  CHECK(s.ledger.world.t.implementations->contains({"m/cpu-a/adopted-node-8000"}));
}

TEST_CASE(
  "an offer for a model that nobody declared declares nothing, and whoever offered it is told why"
) {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  auto offer = s.offer();
  offer.model = "nothing";
  s.say(offer);
  CHECK(s.ledger.all<ledger::declared>().empty());
  const auto* outcome = s.outcome();
  REQUIRE(outcome);
  CHECK(outcome->number == 3);
  CHECK(outcome->implementation.value.empty());
  CHECK(outcome->what == "there is no model 'nothing'");
  CHECK_FALSE(outcome->next.empty());
}

TEST_CASE("an adopted server that was upgraded runs another stack, and says which version") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  s.say(s.offer());
  auto server = scene::replica(9, true);
  s.say(server);
  auto stack = [&] { return s.at_pool->all<pool::replica_reported>().back().fingerprint; };
  CHECK(stack() == sha256("1"));
  server.engine = "0.5.1";
  s.say(server);
  auto before = stack();
  CHECK(before != sha256("1"));
  server.engine = "0.6.0";
  s.say(server);
  CHECK(stack() != before);
  const auto& stacks = *s.ledger.world.t.stacks;
  REQUIRE(stacks.contains(before));
  REQUIRE(stacks.contains(stack()));
  CHECK(
    stacks.at(stack()).fields
    == std::vector<ledger::stack_field>{{"engine", "0.6.0"}, {"runtime", "1"}}
  );
  // The host's own stack is what it was, and nothing is recorded again and again.
  CHECK(s.ledger.world.t.hosts->at({"node"}).fingerprint == sha256("1"));
  auto recorded = s.ledger.all<ledger::stack_seen>().size();
  s.say(server);
  CHECK(s.ledger.all<ledger::stack_seen>().size() == recorded);
  CHECK(s.ledger.refused.empty());
}

TEST_CASE("what a launched engine says of its version is no stack of its own") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  auto replica = scene::replica(1);
  replica.engine = "b4567";
  s.say(replica);
  CHECK(s.at_pool->all<pool::replica_reported>().back().fingerprint == sha256("1"));
}

TEST_CASE("samples grow older while nothing newer comes") {
  scene s;
  fabric::native_sample sample;
  sample.age = std::chrono::milliseconds{20};
  s.say(fabric::native_samples{{sample}});
  s.stage.pass(std::chrono::seconds{3});
  auto told = s.stage.ask<host_answer>(s.link, host_question{}).samples;
  REQUIRE(told.size() == 1);
  CHECK(told[0].age == std::chrono::milliseconds{3'020});
}

TEST_CASE("what one family says leaves the figures of another as they are") {
  scene s;
  fabric::native_sample cpu, card;
  card.family = catalog::family::nvidia;
  s.say(fabric::native_samples{{cpu}});
  s.say(fabric::native_samples{{card, card}});
  s.say(fabric::native_samples{{cpu, cpu, cpu}});
  auto told = s.stage.ask<host_answer>(s.link, host_question{}).samples;
  CHECK(std::ranges::count(told, catalog::family::cpu, &fabric::native_sample::family) == 3);
  CHECK(std::ranges::count(told, catalog::family::nvidia, &fabric::native_sample::family) == 2);
}

TEST_CASE("the start of an adopted replica reaches the agent as an order to watch its URL") {
  scene s;
  s.meet_pool();
  s.say(scene::stack("1"));
  s.say(s.offer());
  pool::start_replica start;
  start.host = {"node"};
  start.launch.implementation = {"m/cpu-a/adopted-node-8000"};
  start.launch.artifact = {"m/adopted-node-8000"};
  start.launch.profile = {"http"};
  s.sent.clear();
  s.tell(start);
  REQUIRE(s.sent.size() == 1);
  const auto* order = std::get_if<fabric::adopt_replica>(&s.sent[0]);
  REQUIRE(order);
  CHECK(order->url == "http://127.0.0.1:8000");
}

} // namespace assay
