// Random sites and requests, from a printed seed: what route() chose passes every gate.

#include "src/routing/explain.hpp"
#include "tests/unit/routing/site.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <random>

namespace assay::routing {

using namespace test;

namespace {

class random_site {
public:
  explicit random_site(std::uint64_t seed) : chance_{seed} {
    for (auto n = 1 + roll(6); n > 0; --n)
      implementation(n);
    s.model.promises.data_class = roll(4) ? "internal" : "secret";
    if (roll(3) == 0)
      s.model.cost_ceiling_nano = 50;
    s.route.policy = static_cast<route_policy>(roll(3));
    s.shape.stream = roll(2);
    s.shape.input.least = static_cast<std::uint32_t>(roll(1'200));
    s.shape.input.most = s.shape.input.least + static_cast<std::uint32_t>(roll(500));
    if (roll(2))
      s.shape.output_tokens = static_cast<std::uint32_t>(roll(600));
    s.shape.affinity = roll(3);
    s.traffic = static_cast<contract::traffic_class>(roll(2));
    s.chance = chance_();
  }

  site s;

private:
  std::uint64_t roll(std::uint64_t sides) { return chance_() % sides; }
  bool rarely() { return roll(5) == 0; }

  void implementation(std::uint64_t n) {
    auto& spec = s.add("i" + std::to_string(n), static_cast<std::uint32_t>(roll(3)));
    auto& i = spec.implementation;
    i.artifact_verified = !rarely();
    i.evaluation = rarely() ? static_cast<evaluation_state>(roll(5)) : evaluation_state::current;
    if (rarely())
      i.pool_data_classes = {"internal"};
    if (roll(2))
      i.limits.input_tokens = static_cast<std::uint32_t>(200 + roll(1'000));
    if (rarely())
      i.envelope.reset();
    if (roll(2))
      i.cost = cost_figures{roll(100), "measured", {}};
    i.compatibility = rarely();
    if (rarely()) {
      waiver w{.id = "w"};
      w.gates.add(static_cast<gate>(1 + roll(7)));
      i.waivers = {w};
    }
    spec.floor = static_cast<std::uint32_t>(roll(1'500));
    spec.ceiling = spec.floor + static_cast<std::uint32_t>(roll(8'000));
    spec.hard = rarely();
    spec.in_route = !rarely();
    for (auto k = roll(3); k > 0; --k)
      s.endpoint(spec, static_cast<std::uint32_t>(roll(3)));
    for (auto& e : spec.endpoints) {
      if (rarely())
        e.fingerprint = other_stack;
      if (rarely())
        e.phase = static_cast<pool::phase>(roll(10));
      if (rarely())
        e.takes_traffic = false;
      if (roll(2))
        e.learned = learned_rates(0.1 * static_cast<double>(1 + roll(50)));
      if (rarely())
        s.tried.push_back(e.key());
    }
  }

  std::mt19937_64 chance_;
};

std::uint64_t first_seed() {
  if (const auto* text = std::getenv("ASSAY_SEED"))
    return std::strtoull(text, nullptr, 10);
  return std::random_device{}();
}

/// Written out here once more, from the design page: the test must not ask the code under test.
void check_choice(const site& s, const decision& d) {
  const auto& i = *d.implementation;
  const auto& e = *d.endpoint;
  auto waived = [&](gate g) { return waiver_for(i, g, today) != nullptr; };
  REQUIRE(&d.model->implementations);
  REQUIRE(e.takes_traffic);
  REQUIRE(e.phase == pool::phase::ready);
  REQUIRE((e.fingerprint == good_stack || waived(gate::evaluation_current)));
  for (const auto& t : s.tried)
    REQUIRE(t != e.key());
  REQUIRE((i.artifact_verified || waived(gate::artifact_approved)));
  REQUIRE((i.evaluation == evaluation_state::current || waived(gate::evaluation_current)));
  REQUIRE((i.envelope || waived(gate::within_evidence)));
  REQUIRE(
    (!i.limits.input_tokens || s.shape.input.least <= i.limits.input_tokens
     || waived(gate::within_limits))
  );
  REQUIRE(
    (i.pool_data_classes.empty() || s.model.promises.data_class == "internal"
     || waived(gate::data_allowed))
  );
  REQUIRE(
    (!s.model.cost_ceiling_nano || (i.cost && i.cost->nano_per_unit <= 50)
     || waived(gate::economics_acceptable))
  );
  REQUIRE(e.counters->in_flight() == 1);
  REQUIRE(e.counters->granted().credits >= 1);
}

} // namespace

TEST_CASE("what is chosen passes every gate and holds a credit, and explain agrees") {
  auto seed = first_seed();
  auto chosen = 0;
  auto waiting = 0;
  auto refused = 0;
  for (auto n = std::uint64_t{0}; n < 3'000; ++n) {
    INFO("ASSAY_SEED=" << seed + n);
    random_site world{seed + n};
    auto told = explain(world.s.build(), world.s.query());
    auto d = world.s.route_once();
    if (d.outcome == outcome_kind::chosen) {
      ++chosen;
      check_choice(world.s, d);
      REQUIRE(told.implementations[d.implementation->position].eligible);
    } else if (d.outcome == outcome_kind::needs_ticket) {
      ++waiting;
      REQUIRE(d.acceptable.any());
      for (const auto& e : world.s.snapshot->endpoints())
        REQUIRE(e.counters->in_flight() == 0);
    } else {
      ++refused;
      REQUIRE_FALSE(d.reservation);
      REQUIRE_FALSE(refusal_text(*world.s.snapshot, world.s.query(), d).empty());
    }
  }
  CHECK(chosen > 100);
  CHECK(waiting > 100);
  CHECK(refused > 100);
}

} // namespace assay::routing
