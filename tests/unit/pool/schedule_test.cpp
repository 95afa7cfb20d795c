// Random schedules of everything that can happen to a pool, from a printed seed.

#include "src/base/limits.hpp"
#include "tests/unit/pool/pool_stage.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace assay::pool {

namespace {

using namespace test;

/// Agents and ingresses that obey, lose messages, die and come back.
class world {
public:
  explicit world(std::uint64_t seed) : chance_{seed} {
    for (auto n = 0; n < 3; ++n)
      hosts_.push_back({.id = {"h" + std::to_string(n)}});
  }

  void run(int steps) {
    for (auto n = 0; n < steps; ++n) {
      stage.now += std::chrono::milliseconds{roll(400)};
      happen();
    }
  }

  pool_stage stage;
  std::size_t admitted = 0;
  std::size_t refused = 0;
  std::size_t asked = 0;

private:
  struct running {
    start_replica what;
    pool::phase phase = phase::starting;
  };
  struct host {
    host_id id;
    std::uint64_t session = 0;
    bool connected = false;
    std::vector<running> replicas;
  };
  struct held {
    std::uint32_t credits = 0;
    std::uint32_t in_flight = 0;
    std::uint64_t finished = 0;
    std::uint64_t grant = 0;
  };

  std::uint64_t roll(std::uint64_t sides) { return chance_() % sides; }

  template <class T>
  T& any(std::vector<T>& list) {
    return list[roll(list.size())];
  }

  void tell(const event& what) {
    for (const auto& e : stage.step(what))
      std::visit([this](const auto& one) { obey(one); }, e);
  }

  void obey(const start_replica& s) {
    if (roll(10) == 0)
      return; // Lost on the way.
    auto h =
      std::find_if(hosts_.begin(), hosts_.end(), [&](auto& one) { return one.id == s.host; });
    for (const auto& r : h->replicas)
      if (r.what.generation == s.generation)
        return;
    h->replicas.push_back({s});
  }
  void obey(const stop_replica& s) {
    auto h =
      std::find_if(hosts_.begin(), hosts_.end(), [&](auto& one) { return one.id == s.host; });
    for (auto& r : h->replicas)
      if (r.what.generation == s.generation)
        r.phase = phase::stopping;
  }
  void obey(const grant_lease& g) {
    if (roll(8) == 0)
      return;
    auto& mine = ingresses_[g.ingress][g.endpoint];
    mine.credits = g.grant.credits;
    mine.grant = g.number;
  }
  void obey(const admit_ticket& a) {
    ++admitted;
    auto& mine = ingresses_[a.ingress][a.endpoint];
    if (mine.in_flight < mine.credits)
      ++mine.in_flight;
    settled_[a.ingress].push_back(a.ticket);
  }
  void obey(const refuse_ticket&) { ++refused; }
  void obey(const view_changed&) {}

  void happen() {
    switch (roll(12)) {
    case 0:
      return want();
    case 1:
      return connect(any(hosts_));
    case 2:
      return lose(any(hosts_));
    case 3:
    case 4:
    case 5:
      return report(any(hosts_));
    case 6:
    case 7:
      return use();
    case 8:
    case 9:
      return ask();
    case 10:
      if (roll(5) == 0)
        return leave();
      [[fallthrough]];
    default:
      tell(ticked{});
    }
  }

  void want() {
    wanted_changed e;
    for (auto n = 0; n < 3; ++n) {
      if (roll(4) == 0)
        continue;
      auto w =
        wanted("i" + std::to_string(n), 1 + static_cast<std::uint32_t>(roll(4)), n % 2 ? 1 : 0);
      w.replicas_max = 1 + static_cast<std::uint32_t>(roll(3));
      w.launch.args["v"] = std::to_string(roll(2));
      e.implementations.push_back(w);
    }
    for (const auto& h : hosts_)
      if (roll(8) == 0)
        e.kept[h.id] = {roll(2) == 0, "kept"};
    tell(e);
  }

  void connect(host& h) {
    ++h.session;
    h.connected = true;
    if (roll(6) == 0)
      h.replicas.clear(); // It was rebooted.
    host_reported e{.host = h.id, .session = h.session, .devices = {"0", "1"}};
    if (roll(8) == 0)
      e.sick["1"] = "its own word";
    if (roll(2) == 0) {
      e.running.emplace();
      for (const auto& r : h.replicas)
        e.running->push_back(r.what.generation);
    }
    tell(e);
  }

  void lose(host& h) {
    if (!h.connected || roll(3) > 0)
      return;
    h.connected = false;
    tell(host_lost{h.id, h.session, roll(3) == 0 ? host_loss::left : host_loss::silent});
  }

  void report(host& h) {
    if (h.replicas.empty())
      return;
    auto& r = any(h.replicas);
    if (r.phase == phase::stopping || roll(25) == 0)
      r.phase = phase::gone;
    else if (r.phase < phase::ready)
      r.phase = static_cast<pool::phase>(static_cast<int>(r.phase) + 1);
    else
      r.phase = std::array{phase::ready, phase::ready, phase::saturated, phase::suspect}[roll(4)];
    auto told = stage.report(r.what, r.phase);
    told.session = roll(10) == 0 ? h.session - 1 : h.session;
    if (r.phase == phase::gone)
      std::erase_if(h.replicas, [&](auto& one) { return one.what.generation == told.generation; });
    if (h.connected)
      tell(told);
  }

  void use() {
    auto id = ingress_id{"g" + std::to_string(roll(3))};
    ingress_reported e{.ingress = id};
    for (auto& [endpoint, mine] : ingresses_[id]) {
      if (mine.in_flight > 0 && roll(2) == 0) {
        --mine.in_flight;
        ++mine.finished;
      } else if (mine.in_flight < mine.credits && roll(2) == 0)
        ++mine.in_flight;
      e.holdings.push_back({endpoint, mine.credits, mine.in_flight, mine.finished, mine.grant});
    }
    e.settled = std::exchange(settled_[id], {});
    tell(e);
  }

  void ask() {
    ticket_asked t{.ingress = {"g" + std::to_string(roll(3))}, .ticket = ++asked};
    t.traffic = static_cast<contract::traffic_class>(roll(4));
    t.project = {"p" + std::to_string(roll(3))};
    t.acceptable = {{"i" + std::to_string(roll(3))}, {"i" + std::to_string(roll(3))}};
    t.deadline = stage.now + std::chrono::seconds{roll(40)};
    tell(t);
    if (roll(6) == 0)
      tell(ticket_withdrawn{t.ingress, t.ticket});
  }

  void leave() {
    auto id = ingress_id{"g" + std::to_string(roll(3))};
    ingresses_.erase(id);
    tell(ingress_lost{id});
  }

  std::mt19937_64 chance_;
  std::vector<host> hosts_;
  std::map<ingress_id, std::map<endpoint_key, held>> ingresses_;
  std::map<ingress_id, std::vector<std::uint64_t>> settled_;
};

std::uint64_t first_seed() {
  if (const auto* text = std::getenv("ASSAY_SEED"))
    return std::strtoull(text, nullptr, 10);
  return std::random_device{}();
}

} // namespace

TEST_CASE("no schedule of events breaks a promise of the pool") {
  auto seed = first_seed();
  std::size_t admitted = 0;
  for (auto n = 0; n < 40; ++n) {
    INFO("ASSAY_SEED=" << seed + static_cast<std::uint64_t>(n));
    world w{seed + static_cast<std::uint64_t>(n)};
    w.run(500);
    REQUIRE(w.admitted + w.refused + w.stage.coordinator.waiting() > 0);
    admitted += w.admitted;
  }
  CHECK(admitted > 0); // Else the schedules never get anywhere.
}

TEST_CASE("one seed gives one schedule") {
  world a{7};
  world b{7};
  a.run(300);
  b.run(300);
  CHECK(a.admitted == b.admitted);
  CHECK(a.stage.view().replicas == b.stage.view().replicas);
}

} // namespace assay::pool
