#include "src/routing/explain.hpp"
#include "tests/unit/routing/site.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::routing {

using namespace test;

namespace {

std::string value_of(const std::vector<name_value>& pairs, std::string_view name) {
  auto found = std::find_if(pairs.begin(), pairs.end(), [&](auto& p) { return p.first == name; });
  return found == pairs.end() ? "" : found->second;
}

} // namespace

TEST_CASE("the ring keeps its last entries and says that an older one was overwritten") {
  decision_ring ring{2};
  auto names = std::make_shared<const name_table>();
  CHECK(ring.find(1).error() == decision_ring::miss::never_made);
  CHECK(ring.push({.snapshot = 1}, names) == 1);
  ring.push({.snapshot = 2}, names);
  CHECK(ring.find(1)->trace.snapshot == 1);
  CHECK(ring.push({.snapshot = 3}, names) == 3);
  CHECK(ring.find(1).error() == decision_ring::miss::overwritten);
  CHECK(ring.find(2)->trace.snapshot == 2);
  CHECK(ring.find(3)->trace.snapshot == 3);
  CHECK(ring.find(0).error() == decision_ring::miss::never_made);
  CHECK(ring.find(4).error() == decision_ring::miss::never_made);
}

TEST_CASE("an amendment reaches its entry and never another that took its place") {
  decision_ring ring{1};
  auto names = std::make_shared<const name_table>();
  auto first = ring.push({.snapshot = 1}, names);
  ring.amend(first, {.snapshot = 10});
  CHECK(ring.find(first)->trace.snapshot == 10);
  auto second = ring.push({.snapshot = 2}, names);
  ring.amend(first, {.snapshot = 11});
  CHECK(ring.find(second)->trace.snapshot == 2);
}

TEST_CASE("a remembered decision is told by its own names after the site has changed") {
  site s;
  s.add("a");
  auto d = s.route_once();
  decision_ring ring{4};
  auto at = ring.push(d.trace, s.snapshot->names());
  d = {};
  s.specs.clear();
  s.add("z");
  s.build();
  auto pairs = to_pairs(*ring.find(at));
  CHECK(value_of(pairs, "outcome") == "chosen");
  CHECK(value_of(pairs, "implementation") == "a");
  CHECK(value_of(pairs, "endpoint") == "a/1 at 10.0.0.1:7201");
  CHECK(value_of(pairs, "model") == "m");
  CHECK(value_of(pairs, "key") == "k");
  CHECK(value_of(pairs, "signals") == "portable");
}

TEST_CASE("a remembered refusal names the gates and the numbers") {
  site s;
  s.add("a").implementation.limits.input_tokens = 50;
  s.add("b").implementation.artifact_verified = false;
  auto d = s.route_once();
  decision_ring ring{4};
  auto entry = *ring.find(ring.push(d.trace, s.snapshot->names()));
  auto pairs = to_pairs(entry);
  CHECK(value_of(pairs, "status") == "400");
  CHECK(value_of(pairs, "code") == "context_length_exceeded");
  CHECK(value_of(pairs, "refusals.0") == "a: within_limits input_too_long");
  CHECK(value_of(pairs, "refusals.1") == "b: artifact_approved artifact_unverified");
  CHECK(value_of(pairs, "nearest") == "within_limits: input of 100 tokens, allowed 50");
  CHECK(to_lines(entry).size() == pairs.size());
}

} // namespace assay::routing
