// UPLINK, RUNTIME and PROBE on a stage: a world of fakes answers when the test says so.

#include "node-agent/actors/probe.hpp"
#include "node-agent/actors/uplink.hpp"
#include "src/base/limits.hpp"
#include "tests/support/stage.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::agent {

namespace {

using namespace std::chrono_literals;
using fabric::replica_phase;

/// One replica: remembers what was asked and keeps the answers for the test to give.
struct fake_replica : replica_deeds {
  fabric::replica_report report;
  life::rules rules_value{.ready_times = 1};
  deed_answer launched;
  deed_answer looked;
  deed_answer proven;
  int stops = 0;
  bool forgotten = false;

  void launch(deed_answer answer) override { launched = std::move(answer); }
  void look(bool, deed_answer answer) override { looked = std::move(answer); }
  void prove(deed_answer answer) override { proven = std::move(answer); }
  void stop() override { ++stops; }
  void forget() override { forgotten = true; }
  fabric::replica_report describe() const override { return report; }
  std::string engine_version() const override { return report.engine; }
  const life::rules& rules() const override { return rules_value; }
};

struct fake_host : host_deeds {
  std::vector<std::shared_ptr<fake_replica>> replicas;
  std::vector<fabric::agent_message> sent;
  std::optional<problem> refuses;
  wall_ms forgiven;

  result<std::shared_ptr<replica_deeds>, problem>
  make_replica(const order& what, artifact_answer) override {
    if (refuses)
      return unexpected{*refuses};
    auto made = std::make_shared<fake_replica>();
    std::visit(
      [&](const auto& o) {
        made->report.replica = o.replica;
        made->report.generation = o.generation;
        if constexpr (requires { o.devices; })
          made->report.devices = o.devices;
      },
      what
    );
    replicas.push_back(made);
    return std::shared_ptr<replica_deeds>{made};
  }
  result<std::shared_ptr<replica_deeds>, problem>
  take_over(const std::string& directory, artifact_answer) override {
    auto made = std::make_shared<fake_replica>();
    made->rules_value.found = true;
    made->report.replica = {directory};
    made->report.generation = 1;
    replicas.push_back(made);
    return std::shared_ptr<replica_deeds>{made};
  }
  void verify(const fabric::artifact_manifest& artifact, artifact_answer answer) override {
    answer({artifact.id, {}, fabric::artifact_state::verified});
  }
  void forgive(wall_ms before) override { forgiven = before; }
  bool send(const fabric::agent_message& message) override {
    sent.push_back(message);
    return true;
  }

  template <class Message>
  std::vector<Message> all() const {
    std::vector<Message> result;
    for (const auto& message : sent)
      if (const auto* wanted = std::get_if<Message>(&message))
        result.push_back(*wanted);
    return result;
  }
};

fabric::start_replica start(std::uint64_t generation = 1) {
  fabric::start_replica result;
  result.replica = {"r"};
  result.generation = generation;
  return result;
}

fabric::stop_replica stop(std::uint64_t generation = 1) {
  return {1, {"r"}, generation, "scaled down", 0ms};
}

/// A stage with an UPLINK that has a session.
struct scene {
  test::stage stage;
  std::shared_ptr<fake_host> host = std::make_shared<fake_host>();
  uplink_actor up = stage.system.spawn(uplink, std::static_pointer_cast<host_deeds>(host));

  scene() { open(); }
  ~scene() { stage.end(up); }

  void open() { say(session_began{"c:1", {}}); }
  void close() { say(session_lost{"cut"}); }

  template <class Message>
  void say(Message message) {
    stage.self->send(up, std::move(message));
    stage.settle();
  }
  void command(fabric::coordinator_message message) { say(coordinator_said{std::move(message)}); }

  fake_replica& newest() { return *host->replicas.back(); }
  void answer(deed_answer& to, life::event what) {
    REQUIRE(to);
    std::exchange(to, {})(std::move(what));
    stage.settle();
  }
  steady_time now() { return stage.self->clock().now(); }

  void see(life::verdict verdict) {
    stage.pass(limits::observe_every);
    answer(newest().looked, life::sighted{now(), verdict, "seen", false, {}});
  }

  /// Starts a replica and brings it to `ready`.
  void make_ready() {
    command(start());
    answer(newest().launched, life::launched{now()});
    see(life::verdict::good);
    answer(newest().proven, life::proved{now()});
  }

  std::vector<replica_phase> phases() const {
    std::vector<replica_phase> result;
    for (const auto& report : host->all<fabric::replica_report>())
      result.push_back(report.phase);
    return result;
  }
};

} // namespace

TEST_CASE("a started replica is reported in each phase up to ready") {
  scene s;
  s.make_ready();
  CHECK(
    s.phases()
    == std::
      vector{replica_phase::starting, replica_phase::loading, replica_phase::proving, replica_phase::ready}
  );
}

TEST_CASE("an engine that comes back as another version between two looks is reported, once") {
  scene s;
  s.make_ready();
  auto told = s.phases().size();
  s.see(life::verdict::good);
  CHECK(s.phases().size() == told);
  s.newest().report.engine = "b2";
  s.see(life::verdict::good);
  s.see(life::verdict::good);
  CHECK(s.phases().size() == told + 1);
  CHECK(s.host->all<fabric::replica_report>().back().engine == "b2");
}

TEST_CASE("the same start again starts nothing and is answered by what there is") {
  scene s;
  s.make_ready();
  s.command(start());
  CHECK(s.host->replicas.size() == 1);
  CHECK(s.phases().back() == replica_phase::ready);
}

TEST_CASE("a death is reported within a second and the next agent does not take it over") {
  scene s;
  s.make_ready();
  s.stage.pass(limits::observe_every);
  s.answer(s.newest().looked, life::ended{"ended by SIGKILL"});
  CHECK(s.phases().back() == replica_phase::failed);
  CHECK(s.host->all<fabric::replica_report>().back().reason == "ended by SIGKILL");
  CHECK(s.newest().forgotten);
  static_assert(limits::observe_every <= 1s);
}

TEST_CASE("a stopped replica is told to stop until it has ended, and is then gone") {
  scene s;
  s.make_ready();
  s.command(stop());
  CHECK(s.phases().back() == replica_phase::stopping);
  CHECK(s.newest().stops == 1);
  s.stage.pass(limits::observe_every);
  CHECK(s.newest().stops == 2);
  s.answer(s.newest().looked, life::ended{"ended with exit code 0"});
  CHECK(s.phases().back() == replica_phase::gone);
}

TEST_CASE("a replica that is stopped while it starts ends once its launch has come back") {
  scene s;
  s.command(start());
  s.command(stop());
  CHECK(s.newest().stops == 1);
  s.answer(s.newest().launched, life::launch_failed{"it was stopped before it started"});
  CHECK(s.phases().back() == replica_phase::gone);
}

TEST_CASE("stopping what is not there is answered with gone") {
  scene s;
  s.command(stop());
  CHECK(s.phases() == std::vector{replica_phase::gone});
}

TEST_CASE("a launch that is refused is reported as failed with the reason") {
  scene s;
  s.host->refuses = problem{problem_kind::not_found, "no such program"};
  s.command(start());
  CHECK(s.phases() == std::vector{replica_phase::failed});
  CHECK(s.host->all<fabric::replica_report>().back().reason == "no such program");
}

TEST_CASE("a new session is told everything, the stack before the replicas") {
  scene s;
  s.say(family_found{catalog::family::cpu, {}});
  s.make_ready();
  s.close();
  s.host->sent.clear();
  s.open();
  REQUIRE(s.host->sent.size() == 2);
  CHECK(std::holds_alternative<fabric::inventory>(s.host->sent[0]));
  CHECK(s.phases() == std::vector{replica_phase::ready});
}

TEST_CASE("a death during a cut is told to the next session, once") {
  scene s;
  s.make_ready();
  s.close();
  s.host->sent.clear();
  s.stage.pass(limits::observe_every);
  s.answer(s.newest().looked, life::ended{"ended by SIGSEGV"});
  CHECK(s.host->sent.empty());
  s.open();
  CHECK(s.phases() == std::vector{replica_phase::failed});
  s.close();
  s.open();
  CHECK(s.phases().size() == 1);
}

TEST_CASE("a newer generation ends the older one of the same replica") {
  scene s;
  s.make_ready();
  s.command(start(2));
  CHECK(s.host->replicas.size() == 2);
  CHECK(s.host->replicas.front()->stops == 1);
}

TEST_CASE("an older generation than the one that runs is refused") {
  scene s;
  s.command(start(2));
  s.command(start(1));
  CHECK(s.host->replicas.size() == 1);
  CHECK(s.phases().back() == replica_phase::failed);
}

TEST_CASE("no two replicas get one device, until the one that has it ended") {
  scene s;
  auto first = start(1), second = start(2);
  first.devices = {"GPU-1", "GPU-2"};
  second.replica = {"other"};
  second.devices = {"GPU-2"};
  s.command(first);
  s.command(second);
  CHECK(s.host->replicas.size() == 1);
  CHECK(s.phases().back() == replica_phase::failed);
  second.devices = {"GPU-3"};
  second.generation = 3;
  s.command(second);
  CHECK(s.host->replicas.size() == 2);
}

TEST_CASE("a draining host starts nothing until it is told otherwise") {
  scene s;
  s.command(fabric::drain_host{1, true, "maintenance"});
  s.command(start(1));
  CHECK(s.host->replicas.empty());
  s.command(fabric::drain_host{1, false, ""});
  s.command(start(2));
  CHECK(s.host->replicas.size() == 1);
}

TEST_CASE("what was decided on the host forgives its devices, where it says since when") {
  scene s;
  s.command(fabric::drain_host{1, true, "maintenance", {5}});
  CHECK(s.host->forgiven == wall_ms{});
  s.command(fabric::drain_host{1, false, "", {}});
  CHECK(s.host->forgiven == wall_ms{});
  s.command(fabric::drain_host{1, false, "", {7}});
  CHECK(s.host->forgiven == wall_ms{7});
}

TEST_CASE("the host is told with the devices of all its families, whichever speaks last") {
  scene s;
  fabric::inventory cpu;
  cpu.cpus = 4;
  cpu.fingerprint.sum = sha256("before");
  fabric::inventory card;
  card.devices = {{catalog::family::nvidia, "GPU-1", "H100", 1}};
  card.fingerprint.sum = sha256("after");
  s.say(family_found{catalog::family::cpu, cpu});
  s.say(family_found{catalog::family::nvidia, card});
  auto told = s.host->all<fabric::inventory>().back();
  CHECK(told.cpus == 4);
  CHECK(told.devices == card.devices);
  CHECK(told.fingerprint.sum == sha256("after"));
  cpu.fingerprint.sum = sha256("after");
  s.say(family_found{catalog::family::cpu, cpu});
  CHECK(s.host->all<fabric::inventory>().back() == told);
  card.devices.clear();
  s.say(family_found{catalog::family::nvidia, card});
  CHECK(s.host->all<fabric::inventory>().back().devices.empty());
}

TEST_CASE("events of all families are told together, in order, and again in each session") {
  scene s;
  auto event = [](std::int64_t at) {
    return fabric::device_event{catalog::family::nvidia, "GPU-1", "Xid", 79, "gone", {at}};
  };
  s.say(family_events{catalog::family::nvidia, {event(2), event(4)}});
  s.say(family_events{catalog::family::amd, {event(3)}});
  auto told = s.host->all<fabric::device_events>().back().events;
  CHECK(told == std::vector{event(2), event(3), event(4)});
  s.close();
  s.host->sent.clear();
  s.open();
  CHECK(s.host->all<fabric::device_events>().size() == 1);
}

TEST_CASE("a changed stack makes every replica report again") {
  scene s;
  s.say(family_found{catalog::family::cpu, {}});
  s.make_ready();
  auto before = s.phases().size();
  fabric::inventory changed;
  changed.fingerprint.sum = sha256("other");
  s.say(family_found{catalog::family::cpu, changed});
  CHECK(s.phases().size() == before + 1);
}

TEST_CASE("replicas outlive UPLINK: its end stops none") {
  scene s;
  s.make_ready();
  s.stage.end(s.up);
  CHECK(s.newest().stops == 0);
  CHECK_FALSE(s.newest().forgotten);
}

TEST_CASE("a replica that an earlier agent left is told of once it was looked at") {
  scene s;
  s.say(replica_found{"left"});
  s.stage.pass(limits::observe_every);
  s.say(family_found{catalog::family::cpu, {}});
  fabric::inventory changed;
  changed.fingerprint.sum = sha256("another stack");
  s.say(family_found{catalog::family::cpu, changed}); // Makes every replica report again.
  CHECK(s.phases().empty());
  SECTION("and is ready when it was proven and answers well") {
    s.answer(s.newest().launched, life::launched{s.now(), true});
    CHECK(s.phases() == std::vector{replica_phase::ready});
  }
  SECTION("and is proven when it was not") {
    s.answer(s.newest().launched, life::launched{s.now()});
    s.see(life::verdict::good);
    s.answer(s.newest().proven, life::proved{s.now()});
    CHECK(
      s.phases()
      == std::vector{replica_phase::loading, replica_phase::proving, replica_phase::ready}
    );
  }
}

TEST_CASE("when the agent ends with its replicas, all are stopped and none is started") {
  scene s;
  s.make_ready();
  auto answer = s.stage.self->request(s.up, caf::infinite, stop_all{});
  s.stage.settle();
  CHECK(s.newest().stops == 1);
  s.command(start(2));
  CHECK(s.host->replicas.size() == 1);
  CHECK(s.stage.self->mailbox().empty()); // It still ends.
  s.stage.pass(limits::observe_every);
  s.answer(s.newest().looked, life::ended{"ended"});
  auto is_told = false;
  answer.receive([&](all_stopped) { is_told = true; }, [](const caf::error&) {});
  CHECK(is_told);
}

namespace {

/// Somebody who adopts, and what they were told; empty while nothing was said.
std::string told_of_offer(scene& s, const std::string& url, const auto& then) {
  std::string told;
  auto asked = s.stage.self->request(
    s.up, caf::infinite, adopt_question{{url, "m", {"http"}, {"default"}, {}}}
  );
  s.stage.settle();
  then();
  s.stage.settle();
  asked.receive(
    [&](const adopt_answer& answer) {
      told = answer.taken ? answer.taken->value : to_text(answer.taken.error());
    },
    [&](const caf::error& why) { told = to_string(why); }
  );
  return told;
}

} // namespace

TEST_CASE("who offers a server is told what the coordinator made of that offer and of no other") {
  scene s;
  const auto* url = "http://127.0.0.1:8000";
  CHECK(
    told_of_offer(
      s,
      url,
      [&] {
        s.command(fabric::adopt_outcome{2, {"another"}, {}, {}});
        s.command(fabric::adopt_outcome{1, {"m/p/adopted-h-8000"}, {}, {}});
      }
    )
    == "m/p/adopted-h-8000"
  );
  CHECK(
    told_of_offer(
      s,
      url,
      [&] {
        s.command(fabric::adopt_outcome{1, {"m/p/adopted-h-8000"}, {}, {}}); // Late, and twice.
        s.command(fabric::adopt_outcome{2, {}, "no such profile", "declare it"});
      }
    )
    == "http://127.0.0.1:8000: no such profile; declare it"
  );
}

TEST_CASE("who offers a second server ends the wait for the first, which is told so") {
  scene s;
  std::string second;
  CHECK(
    told_of_offer(
      s,
      "http://127.0.0.1:8000",
      [&] {
        second = told_of_offer(s, "http://127.0.0.1:9000", [&] {
          s.command(fabric::adopt_outcome{2, {"m/p/adopted-h-9000"}, {}, {}});
        });
      }
    ).find("http://127.0.0.1:8000: another server was offered meanwhile")
    == 0
  );
  CHECK(second == "m/p/adopted-h-9000");
}

TEST_CASE("an offer that a lost session leaves open is answered at once") {
  scene s;
  CHECK(
    told_of_offer(s, "http://127.0.0.1:8000", [&] { s.close(); }).find("the session ended")
    != std::string::npos
  );
}

// -- PROBE ------------------------------------------------------------------------------------

namespace {

struct fake_family : family_deeds {
  std::function<void(family_news)> sampled;
  std::function<void(fabric::inventory)> discovered;
  int samples_asked = 0;

  catalog::family family() const override { return catalog::family::cpu; }
  void sample(std::function<void(family_news)> answer) override {
    ++samples_asked;
    sampled = std::move(answer);
  }
  void discover(std::function<void(fabric::inventory)> answer) override {
    discovered = std::move(answer);
  }
};

struct probe_scene : scene {
  std::shared_ptr<fake_family> family = std::make_shared<fake_family>();
  probe_actor watch = stage.system.spawn(probe, std::static_pointer_cast<family_deeds>(family), up);

  probe_scene() { stage.settle(); }
  ~probe_scene() {
    family->sampled = {};
    family->discovered = {};
    stage.end(watch);
  }

  void give_sample() {
    fabric::native_sample sample;
    sample.name = "MemAvailable";
    sample.value = 5.0;
    std::exchange(family->sampled, {})({{sample}, {}, {}});
    stage.settle();
  }
  void give_stack(const std::string& text) {
    fabric::inventory found;
    found.fingerprint.sum = sha256(text);
    std::exchange(family->discovered, {})(found);
    stage.settle();
  }
};

} // namespace

TEST_CASE("a family that does not answer is asked once and becomes stale, not silent") {
  probe_scene s;
  s.give_sample();
  s.stage.pass(limits::sample_every);
  for (auto seconds = 0; seconds < 6; ++seconds)
    s.stage.pass(limits::sample_every);
  CHECK(s.family->samples_asked == 2);
  auto newest = s.host->all<fabric::native_samples>().back();
  REQUIRE(newest.samples.size() == 1);
  CHECK(newest.samples[0].name == "MemAvailable");
  CHECK(std::holds_alternative<fabric::unavailable>(newest.samples[0].value));
}

TEST_CASE("a sample is told with its age, and keeps its text") {
  probe_scene s;
  fabric::native_sample sample;
  sample.name = "memory.max";
  sample.value = std::string{"max"};
  sample.at = {wall_now().value - 5'000};
  std::exchange(s.family->sampled, {})({{sample}, {}, {}});
  s.stage.settle();
  auto told = s.host->all<fabric::native_samples>().back().samples;
  REQUIRE(told.size() == 1);
  CHECK(told[0].value == fabric::native_value{std::string{"max"}});
  CHECK(told[0].age >= std::chrono::milliseconds{5'000});
  CHECK(told[0].age < std::chrono::milliseconds{60'000});
}

TEST_CASE("an unchanged stack is sent once, a changed one within ten seconds") {
  probe_scene s;
  s.give_stack("first");
  CHECK(s.host->all<fabric::inventory>().size() == 1);
  s.stage.pass(limits::fingerprint_every);
  s.give_stack("first");
  CHECK(s.host->all<fabric::inventory>().size() == 1);
  s.stage.pass(limits::fingerprint_every);
  s.give_stack("second");
  CHECK(s.host->all<fabric::inventory>().size() == 2);
}

} // namespace assay::agent
