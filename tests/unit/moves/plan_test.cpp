#include "src/moves/plan.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

namespace assay::moves {

namespace {

using catalog::implementation_status;

const implementation_id a{"m/nvidia/a"};
const implementation_id b{"m/amd/b"};
const implementation_id c{"m/neuron/c"};

route nothing_yet() {
  return {{"m"}, 0, {}};
}

route promoted(
  route now, const implementation_id& id, implementation_status to, promotion_options how = {}
) {
  auto p = plan_promotion(now, id, to, how);
  REQUIRE(p);
  REQUIRE(validate(p->after));
  return {now.model, now.generation + 1, p->after};
}

route with_production() {
  return promoted(nothing_yet(), a, implementation_status::production);
}

} // namespace

TEST_CASE("the first production implementation carries everything of both classes") {
  const auto p = plan_promotion(nothing_yet(), a, implementation_status::production);
  REQUIRE(p);
  CHECK(p->expected_generation == 0);
  const std::vector<share> all = {{a, standing::production, 10'000, 10'000}};
  CHECK(p->after == vectors{all, all});
  CHECK_FALSE(carries_anything(p->before));
  CHECK(p->inverse.targets == std::vector<vectors>{{}});
}

TEST_CASE("a canary takes 5 % unless another share is said, and production keeps the rest") {
  auto now = promoted(with_production(), b, implementation_status::canary);
  CHECK(
    to_text(now.carried)
    == "interactive m/amd/b 5 %, m/nvidia/a 95 %; batch m/amd/b 5 %, m/nvidia/a 95 %"
  );
  now = promoted(with_production(), b, implementation_status::canary, {.share = 1});
  CHECK(standing_of(now.carried, b) == standing::canary);
  CHECK(now.carried.interactive.front().ceiling == 1);
}

TEST_CASE("a canary's share is refused at nothing and at the whole") {
  for (std::uint32_t share : {0U, 10'000U})
    CHECK_FALSE(
      plan_promotion(with_production(), b, implementation_status::canary, {.share = share})
    );
  CHECK(plan_promotion(with_production(), b, implementation_status::canary, {.share = 9'999}));
}

TEST_CASE("a canary beside nothing is refused, and it says what to do first") {
  const auto p = plan_promotion(nothing_yet(), b, implementation_status::canary);
  REQUIRE_FALSE(p);
  CHECK(p.error().next.find("--status production") != std::string::npos);
}

TEST_CASE("a batch-only implementation carries batch and no interactive traffic") {
  auto now = promoted(nothing_yet(), c, implementation_status::batch_only);
  CHECK(now.carried.interactive.empty());
  CHECK(now.carried.batch == std::vector<share>{{c, standing::batch_only, 10'000, 10'000}});
  now = promoted(with_production(), c, implementation_status::batch_only);
  CHECK(now.carried.interactive.size() == 1);
  CHECK(now.carried.batch.size() == 2);
}

TEST_CASE("two production implementations are chosen between by the route's policy") {
  const auto now = promoted(with_production(), b, implementation_status::production);
  for (const auto& s : now.carried.interactive) {
    CHECK(s.floor == 0);
    CHECK(s.ceiling == 10'000);
  }
}

TEST_CASE("a canary that is promoted is no canary any more") {
  const auto canary = promoted(with_production(), b, implementation_status::canary);
  const auto now = promoted(canary, b, implementation_status::production);
  CHECK(standing_of(now.carried, b) == standing::production);
}

TEST_CASE("taking the only production implementation away is refused while canaries stand beside it"
) {
  const auto now = promoted(with_production(), b, implementation_status::canary);
  CHECK_FALSE(plan_promotion(now, a, implementation_status::retired));
  const auto without = promoted(now, b, implementation_status::suspended);
  CHECK(without.carried == with_production().carried);
}

TEST_CASE("the last implementation may be taken away, and the route carries nothing") {
  CHECK_FALSE(
    carries_anything(promoted(with_production(), a, implementation_status::retired).carried)
  );
}

TEST_CASE("a promotion that changes nothing is refused") {
  CHECK_FALSE(plan_promotion(with_production(), a, implementation_status::production));
  CHECK_FALSE(plan_promotion(nothing_yet(), a, implementation_status::retired));
}

TEST_CASE("canaries may not take everything together") {
  auto now = promoted(with_production(), b, implementation_status::canary, {.share = 6'000});
  CHECK_FALSE(plan_promotion(now, c, implementation_status::canary, {.share = 4'000}));
  CHECK(plan_promotion(now, c, implementation_status::canary, {.share = 3'999}));
}

TEST_CASE("the way back begins with the vectors before and goes on with what is left of them") {
  const auto two = promoted(with_production(), b, implementation_status::production);
  const auto p = plan_promotion(two, c, implementation_status::canary);
  REQUIRE(p);
  REQUIRE(p->inverse.targets.size() == 3);
  CHECK(p->inverse.targets[0] == two.carried);
  for (const auto& target : p->inverse.targets) {
    CHECK(validate(target));
    CHECK_FALSE(standing_of(target, c));
  }
}

TEST_CASE("the inverse of a move brings the vectors before back") {
  const auto before = with_production();
  const auto p = plan_promotion(before, b, implementation_status::canary);
  REQUIRE(p);
  const auto back = plan_inverse({"mv"}, *p, 2, {before.model, 2, p->after});
  REQUIRE(back);
  CHECK(back->after == before.carried);
  CHECK(back->before == p->after);
  CHECK(back->inverse_of == move_id{"mv"});
}

TEST_CASE("an older move is not undone under a later one") {
  const auto p = plan_promotion(nothing_yet(), a, implementation_status::production);
  CHECK_FALSE(plan_inverse({"mv"}, *p, 1, {{"m"}, 2, p->after}));
  CHECK(plan_inverse({"mv"}, *p, 1, {{"m"}, 1, p->after}));
}

TEST_CASE("an irreversible move says why it cannot be undone") {
  auto p = *plan_promotion(nothing_yet(), a, implementation_status::production);
  p.inverse.reversible = false;
  p.inverse.irreversible_because = "the old weights are gone";
  const auto back = plan_inverse({"mv"}, p, 1, {{"m"}, 1, p.after});
  REQUIRE_FALSE(back);
  CHECK(back.error().what.find("the old weights are gone") != std::string::npos);
}

TEST_CASE("shares are bounded, whole, sorted and each there once") {
  const auto one = [](std::uint32_t floor, std::uint32_t ceiling) {
    return vectors{{{a, standing::production, floor, ceiling}}, {}};
  };
  CHECK(validate(one(0, 10'000)));
  CHECK(validate(one(10'000, 10'000)));
  CHECK_FALSE(validate(one(0, 9'999)));
  CHECK_FALSE(validate(one(0, 10'001)));
  CHECK_FALSE(validate(one(2, 1)));
  CHECK(validate({}));
  const share half{a, standing::production, 5'000, 10'000};
  auto other = half;
  CHECK_FALSE(validate({{half, other}, {}}));
  other.implementation = b;
  CHECK(validate({{other, half}, {}}));
  CHECK_FALSE(validate({{half, other}, {}}));
  other.floor = 5'001;
  CHECK_FALSE(validate({{other, half}, {}}));
}

} // namespace assay::moves
