#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <chrono>

namespace assay::ledger::test {

namespace {

using enum artifact_state;

constexpr std::array states{registered, present, verified, quarantined, deprecated, tombstoned};

constexpr std::array<std::pair<artifact_state, artifact_state>, 7> legal{{
  {registered, present},
  {present, verified},
  {verified, deprecated},
  {verified, quarantined},
  {quarantined, verified},
  {quarantined, tombstoned},
  {deprecated, tombstoned},
}};

const auto manifest = manifest_digest(artifact_a());

artifact_changed becomes(artifact_state to) {
  return {{"m/a"}, manifest, to, {}, ""};
}

constexpr std::int64_t day_ms = 24 * 3'600'000;

waiver waives(std::vector<std::uint8_t> gates, std::int64_t for_ms) {
  return {"w1", impl_a, std::move(gates), {dawn.value + for_ms}, "first light"};
}

} // namespace

TEST_CASE("an artifact takes exactly the listed transitions") {
  for (auto from : states)
    for (auto to : states) {
      auto w = world::site();
      auto row = w.t.artifact_states->at({"m/a"});
      row.state = from;
      w.t.load(row);
      bool listed = std::ranges::find(legal, std::pair{from, to}) != legal.end();
      INFO(name(from) << " to " << name(to));
      CHECK(w.code(becomes(to)) == (listed ? "taken" : "not_allowed"));
    }
}

TEST_CASE("a refused transition of an artifact names the ones that may follow") {
  auto w = world::site();
  auto no = std::get<refusal>(w.say(becomes(present)));
  CHECK(no.text.find("deprecated, quarantined") != std::string::npos);
}

TEST_CASE("a report about other bytes than are declared is refused") {
  auto w = world::site();
  auto late = becomes(quarantined);
  late.manifest = some_digest("old bytes");
  CHECK(w.code(late) == "stale_manifest");
}

TEST_CASE("an operator's word raises the trust of an adopted server, and of nothing else") {
  auto w = world::site();
  auto adopted = artifact_a();
  adopted.id = {"m/adopted"};
  adopted.kind = catalog::artifact_kind::adopted;
  adopted.files.clear();
  w.must(declared{adopted}, trust::claimed);
  artifact_changed seen{adopted.id, manifest_digest(adopted), present, {"h1"}, ""};
  w.must(seen, trust::claimed);
  seen.to = verified;
  w.must(seen, trust::claimed);
  CHECK(w.code(seen, trust::claimed) == "not_allowed");
  CHECK(w.code(seen, trust::verified) == "taken");
  CHECK(w.t.artifact_states->at(adopted.id).trust == trust::verified);
  CHECK(w.code(becomes(verified), trust::verified) == "not_allowed");
}

TEST_CASE("an artifact that traffic still needs gets no tombstone") {
  auto w = world::site();
  qualify(w, {"q1"}, impl_a);
  promote(w, "mv1", impl_a, {"q1"});
  w.must(becomes(deprecated));
  CHECK(w.code(becomes(tombstoned)) == "in_use");
}

TEST_CASE("a second stack of one host is drift and keeps the stack before") {
  auto w = world::site();
  w.must(stack_seen{{"h1"}, {"cpu-a"}, some_digest("stack 2"), stack_fields("2")});
  const auto& host = w.t.hosts->at({"h1"});
  CHECK(host.fingerprint == some_digest("stack 2"));
  CHECK(host.previous == some_digest("stack 1"));
  CHECK(w.t.stacks->size() == 2);
}

TEST_CASE("a stack's digest stands for one set of fields") {
  auto w = world::site();
  CHECK(
    w.code(stack_seen{{"h1"}, {"cpu-a"}, some_digest("stack 1"), stack_fields("1")}) == "unchanged"
  );
  CHECK(
    w.code(stack_seen{{"h2"}, {"cpu-a"}, some_digest("stack 1"), stack_fields("9")}) == "bad_stack"
  );
  CHECK(
    w.code(stack_seen{{"h2"}, {"cpu-a"}, some_digest("stack 1"), stack_fields("1")}) == "taken"
  );
  CHECK(w.code(stack_seen{{"h3"}, {"cpu-a"}, some_digest("stack 3"), {}}) == "bad_stack");
}

TEST_CASE("a run of another tuple, on an unknown stack, or with impossible numbers is no evidence"
) {
  auto w = world::site();
  w.must(qualification_opened{{"q1"}, impl_a, {"lenient"}});
  auto run = good_run(w, "r1", {"q1"});
  CHECK(w.code(run) == "not_allowed"); // Still a draft.
  w.must(qualification_changed{{"q1"}, qualification::event::start, {}, ""});
  auto other = run;
  other.manifest = some_digest("other");
  CHECK(w.code(other) == "wrong_tuple");
  other = run;
  other.fingerprint = some_digest("stack 9");
  CHECK(w.code(other) == "unknown_stack");
  other = run;
  other.failed = 8;
  CHECK(w.code(other) == "bad_run");
  other = run;
  other.score_lower_ppm = other.score_ppm + 1;
  CHECK(w.code(other) == "bad_run");
  other = run;
  other.measures = {{"ttft", 5, ""}};
  CHECK(w.code(other) == "bad_run");
  CHECK(w.code(run) == "taken");
  CHECK(w.code(run) == "exists");
}

TEST_CASE("a waiver holds for 24 hours at most, for gates that can be waived, with a reason") {
  auto w = world::site();
  CHECK(w.code(waives({4, 5}, day_ms + 1)) == "bad_waiver");
  CHECK(w.code(waives({4, 5}, 0)) == "bad_waiver");
  CHECK(w.code(waives({}, day_ms)) == "bad_waiver");
  CHECK(w.code(waives({3}, day_ms)) == "bad_waiver");
  auto silent = waives({4}, day_ms);
  silent.reason.clear();
  CHECK(w.code(silent) == "bad_waiver");
  CHECK(w.code(waives({2, 4, 5}, day_ms)) == "taken");
}

TEST_CASE("a waiver ends by its hour or before it, and not twice") {
  auto w = world::site();
  w.must(waives({4, 5}, day_ms));
  CHECK(waiver_of(w.t, impl_a, 5, {dawn.value + day_ms - 1}));
  CHECK_FALSE(waiver_of(w.t, impl_a, 5, {dawn.value + day_ms}));
  CHECK_FALSE(waiver_of(w.t, impl_a, 2, dawn));
  CHECK_FALSE(waiver_of(w.t, impl_b, 5, dawn));
  w.must(waiver_ended{"w1"});
  CHECK_FALSE(waiver_of(w.t, impl_a, 5, dawn));
  CHECK(w.code(waiver_ended{"w1"}) == "unchanged");
}

TEST_CASE("a waiver that ran out by itself waits to be looked at, once (I21)") {
  auto w = world::site();
  w.must(waives({4, 5}, day_ms));
  CHECK(waivers_to_review(w.t, {dawn.value + day_ms - 1}).empty());
  w.now.value += day_ms;
  REQUIRE(waivers_to_review(w.t, w.now).size() == 1);
  CHECK(waivers_to_review(w.t, w.now)[0]->waiver.id == "w1");
  w.must(waiver_ended{"w1"});
  CHECK(waivers_to_review(w.t, w.now).empty());
  CHECK(w.code(waiver_ended{"w1"}) == "unchanged");
}

TEST_CASE("revoking a manifest quarantines the artifact for good (I16)") {
  auto w = world::site();
  qualify(w, {"q1"}, impl_a);
  w.must(revocation{revocation_target::artifact, manifest, "poisoned"});
  CHECK(w.t.artifact_states->at({"m/a"}).state == quarantined);
  CHECK_FALSE(current_qualification(w.t, impl_a, w.now));
  CHECK(w.code(becomes(verified)) == "revoked");
  CHECK(w.code(revocation{revocation_target::artifact, manifest, ""}) == "unchanged");
}

TEST_CASE("revoking a stack takes it out of every qualification") {
  auto w = world::site();
  qualify(w, {"q1"}, impl_a);
  CHECK(current_qualification(w.t, impl_a, w.now));
  w.must(revocation{revocation_target::fingerprint, some_digest("stack 1"), "driver fault"});
  CHECK_FALSE(current_qualification(w.t, impl_a, w.now));
}

} // namespace assay::ledger::test
