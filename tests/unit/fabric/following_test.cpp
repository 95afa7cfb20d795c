// Three hubs and an agent that follows the one that leads.

#include "tests/unit/fabric/stage.hpp"

namespace assay::fabric {

namespace {

using namespace test;

/// Three coordinators with keys of their own. Each knows what the test told it and nothing else.
class group {
public:
  group() {
    for (std::size_t i = 0; i < 3; ++i) {
      keys_.push_back(new_key_pair());
      hubs_.push_back(std::make_unique<coordinator>(options_of(i)));
      all_.push_back({hubs_[i]->fabric->address(), keys_[i].shared});
    }
  }

  const std::vector<coordinator_at>& all() const { return all_; }
  const coordinator_at& at(std::size_t i) const { return all_[i]; }
  coordinator& hub_of(std::size_t i) { return *hubs_[i]; }

  /// Every coordinator that lives learns who leads.
  void elect(std::size_t leader, std::uint64_t epoch) {
    for (std::size_t i = 0; i < hubs_.size(); ++i)
      if (hubs_[i])
        hubs_[i]->fabric->set_standing({i == leader, epoch, all_, all_[leader]});
  }

  void end(std::size_t i) { hubs_[i].reset(); }

  /// It comes back where it was, and follows.
  void restart(std::size_t i) {
    auto options = options_of(i);
    options.listen = all_[i].address;
    hubs_[i] = std::make_unique<coordinator>(options);
  }

  uplink_options uplink(std::vector<coordinator_at> configured) const {
    auto options = site_.uplink("", site_.h1);
    options.coordinators = std::move(configured);
    return options;
  }

private:
  hub_options options_of(std::size_t i) const {
    auto options = site_.hub();
    options.keys = keys_[i];
    options.standing = {.leads = false, .coordinators = all_};
    return options;
  }

  site site_;
  std::vector<key_pair> keys_;
  std::vector<coordinator_at> all_;
  std::vector<std::unique_ptr<coordinator>> hubs_;
};

stop_replica stop_of(std::uint64_t epoch, std::uint64_t generation) {
  return {.epoch = epoch, .generation = generation};
}

} // namespace

TEST_CASE("an agent that knows only a follower comes up with the leader, and learns of all") {
  group three;
  three.elect(2, 1);
  agent a{three.uplink({three.at(0)})};
  REQUIRE(a.hosts.wait_for_count(1));
  CHECK(a.hosts.all()[0] == three.at(2).address);
  CHECK(a.losses.all() == std::vector{lost_reason::not_leader});
  CHECK(a.lists.all() == std::vector<std::vector<coordinator_at>>{three.all()});
  CHECK(three.hub_of(0).ups.all().empty());
}

TEST_CASE("an agent goes on dialling while nobody leads, and comes up when somebody does") {
  group three;
  agent a{three.uplink({three.at(0)})};
  REQUIRE(a.losses.wait_for_count(5));
  CHECK(a.hosts.all().empty());
  three.elect(1, 1);
  REQUIRE(a.hosts.wait_for_count(1));
  CHECK(a.hosts.all()[0] == three.at(1).address);
}

TEST_CASE("when the leader's hub ends, its agent finds the next leader and not the old one back") {
  group three;
  three.elect(0, 1);
  agent a{three.uplink({three.at(0)})};
  REQUIRE(a.hosts.wait_for_count(1));
  three.end(0);
  three.elect(1, 2);
  REQUIRE(a.hosts.wait_for_count(2));
  CHECK(a.hosts.all()[1] == three.at(1).address);
  CHECK(a.welcomes.all()[1].epoch == 2);
  three.restart(0);
  three.elect(1, 2);
  REQUIRE(a.link->send(numbered(1)));
  CHECK(three.hub_of(1).messages.wait_for(heard{"h1", numbered(1)}));
  CHECK(three.hub_of(0).ups.all().empty());
  CHECK(three.hub_of(1).downs.all().empty());
}

TEST_CASE("a coordinator that ceases to lead gives its agents up, and they go to the new leader") {
  group three;
  three.elect(0, 1);
  agent a{three.uplink({three.at(0)})};
  REQUIRE(a.hosts.wait_for_count(1));
  three.elect(1, 2);
  CHECK(three.hub_of(0).downs.wait_for(down{"h1", down_reason::not_leading}));
  REQUIRE(a.hosts.wait_for_count(2));
  CHECK(a.hosts.all()[1] == three.at(1).address);
  CHECK(a.losses.all().front() == lost_reason::not_leader);
}

TEST_CASE("a coordinator that leads again, in another epoch, has lost its agents in between") {
  group three;
  three.elect(0, 1);
  agent a{three.uplink({three.at(0)})};
  REQUIRE(a.hosts.wait_for_count(1));
  three.elect(0, 3);
  CHECK(three.hub_of(0).downs.wait_for(down{"h1", down_reason::not_leading}));
  REQUIRE(a.welcomes.wait_for_count(2));
  CHECK(a.welcomes.all()[1].epoch == 3);
}

TEST_CASE("a leader of the past that welcomes an agent cannot command it") {
  group three;
  three.elect(0, 5);
  agent a{three.uplink({three.at(0)})};
  REQUIRE(a.hosts.wait_for_count(1));
  three.elect(1, 6);
  REQUIRE(a.hosts.wait_for_count(2));
  // Paused since before the election, it takes itself for the leader; the others are gone.
  three.hub_of(0).fabric->set_standing({true, 5, three.all(), {}});
  three.end(1);
  three.end(2);
  REQUIRE(a.hosts.wait_for_count(3));
  three.hub_of(0).fabric->send({"h1"}, stop_of(5, 1));
  three.hub_of(0).fabric->send({"h1"}, stop_of(6, 2));
  REQUIRE(a.messages.wait_for_count(1));
  CHECK(is_stop_of(a.messages.all()[0], 2));
  CHECK(a.link->counters().refused_epoch == 1);
}

TEST_CASE("a coordinator that joins while a session lasts is learned, and the session goes on") {
  group three;
  auto two = std::vector{three.at(0), three.at(1)};
  three.hub_of(0).fabric->set_standing({true, 1, two, {}});
  agent a{three.uplink({three.at(0)})};
  REQUIRE(a.lists.wait_for(two));
  three.hub_of(0).fabric->set_standing({true, 1, three.all(), {}});
  CHECK(a.lists.wait_for(three.all()));
  CHECK(a.welcomes.all().size() == 1);
  CHECK(a.losses.all().empty());
}

TEST_CASE("an agent that learned in an earlier run comes up though its configured one is gone") {
  group three;
  three.elect(2, 1);
  auto options = three.uplink({{"127.0.0.1:1", three.at(0).key}});
  options.learned = {{"cannot be dialled", {}}, three.at(1), three.at(2)};
  agent a{options};
  REQUIRE(a.hosts.wait_for_count(1));
  CHECK(a.hosts.all()[0] == three.at(2).address);
}

TEST_CASE("an agent that learned only of what is gone comes up with a configured one") {
  group three;
  three.elect(0, 1);
  auto options = three.uplink({three.at(0)});
  options.learned = {{"127.0.0.1:1", three.at(1).key}};
  agent a{options};
  CHECK(a.hosts.wait_for(three.at(0).address));
}

TEST_CASE("whoever lacks the coordinator's key cannot name others") {
  group three;
  three.elect(0, 1);
  site elsewhere;
  auto options = elsewhere.hub();
  options.standing = {.leads = false, .coordinators = three.all(), .leader = three.at(0)};
  coordinator impostor{options};
  agent a{three.uplink({{impostor.fabric->address(), three.at(0).key}})};
  REQUIRE(a.losses.wait_for_count(3));
  CHECK(a.losses.all()[0] == lost_reason::wrong_server);
  CHECK(a.lists.all().empty());
  CHECK(a.hosts.all().empty());
}

TEST_CASE("what cannot be dialled is not learned, and a leader there is not dialled") {
  site s;
  raw_server server{s.server};
  agent a{s.uplink(server.address(), s.h1)};
  server.welcome_agent();
  auto good = s.at("10.0.0.1:7103");
  server.say(closing{closing_reason::not_leader, "", s.at("*:1"), {s.at("no port"), good}});
  CHECK(a.lists.wait_for(std::vector{good}));
  CHECK(a.losses.wait_for(lost_reason::not_leader));
}

TEST_CASE("a heartbeat without a session is told that its coordinator does not lead") {
  group three;
  three.elect(1, 4);
  site s;
  auto options = s.hub();
  options.standing = {.leads = false, .coordinators = three.all(), .leader = three.at(1)};
  coordinator c{options};
  auto peer = s.peer(c.fabric->address(), s.h1);
  REQUIRE(peer.wait_for_event() == line_event::established);
  peer.say(agent_heartbeat{});
  auto told = peer.listen();
  REQUIRE(told);
  auto said = std::get<closing>(*told);
  CHECK(said.reason == closing_reason::not_leader);
  CHECK(said.leader == three.at(1));
  CHECK(said.coordinators == three.all());
}

} // namespace assay::fabric
