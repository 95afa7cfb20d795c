// What the auditor asks of tables, whatever rules made them: each line of invariants.cpp, seen on
// tables that were tampered with.

#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>

namespace assay::ledger::test {

namespace {

world serving() {
  auto w = world::site();
  qualify(w, {"qa"}, impl_a);
  promote(w, "first", impl_a, {"qa"});
  return w;
}

/// What is broken once `tamper` had the row.
template <class Row, class Key>
std::vector<std::string>
broken_by(held<Key, Row> tables::*table, const Key& key, const std::function<void(Row&)>& tamper) {
  auto w = serving();
  auto row = (w.t.*table)->at(key);
  tamper(row);
  w.t.load(row);
  return broken_invariants(w.t);
}

std::vector<std::string> route_broken_by(const std::function<void(route_row&)>& tamper) {
  return broken_by<route_row>(&tables::routes, model_id{"m"}, tamper);
}

std::vector<std::string> move_broken_by(const std::function<void(move_row&)>& tamper) {
  return broken_by<move_row>(&tables::moves, move_id{"first"}, tamper);
}

std::vector<std::string>
qualification_broken_by(const std::function<void(qualification_row&)>& tamper) {
  return broken_by<qualification_row>(&tables::qualifications, qualification_id{"qa"}, tamper);
}

bool says(
  const std::vector<std::string>& broken, std::string_view invariant, std::string_view what
) {
  return std::ranges::any_of(broken, [&](const std::string& line) {
    return line.starts_with(invariant) && line.find(what) != std::string::npos;
  });
}

} // namespace

TEST_CASE("tables that rules made hold every invariant") {
  CHECK(broken_invariants(serving().t).empty());
}

TEST_CASE("a route with shares that do not add up, no generation or no move is broken (I8)") {
  CHECK(says(
    route_broken_by([](route_row& r) { r.route.carried.interactive[0].ceiling = 9'999; }),
    "I8",
    "the route of \"m\""
  ));
  CHECK(says(route_broken_by([](route_row& r) { r.route.generation = 0; }), "I8", "no generation"));
  CHECK(says(route_broken_by([](route_row& r) { r.by = {"none"}; }), "I8", "no move made"));
  CHECK(says(move_broken_by([](move_row& m) { m.generation = 2; }), "I8", "ahead of its route"));
}

TEST_CASE("a standing of what is no host, that nobody explains or that is too new is broken") {
  auto w = serving();
  identity_row row;
  row.identity = {"node", identity_role::host, std::string(40, 'n'), {}, {}};
  row.standing = standing_decided{host_duty::draining, "a new fan", "root", dawn, 1};
  auto broken = [&](std::uint16_t agreed) {
    w.t.head.schema_version = agreed;
    w.t.load(row);
    return broken_invariants(w.t);
  };
  CHECK(broken(2).empty());
  CHECK(says(broken(1), "hosts", "nobody agreed to know"));
  row.standing->reason.clear();
  CHECK(says(broken(2), "hosts", "nobody says why"));
  row.standing->reason = "x";
  row.identity.role = identity_role::ingress;
  CHECK(says(broken(2), "hosts", "is no host"));
}

TEST_CASE("a route that carries what nobody decided on is broken (I7)") {
  CHECK(says(
    route_broken_by([](route_row& r) { r.route.carried = all_to(impl_b); }), "I7", impl_b.value
  ));
}

TEST_CASE("two open moves of one route are broken, and so is a move without a way back (I9, I10)") {
  auto w = serving();
  auto row = w.t.moves->at({"first"});
  row.state = moves::state::holding;
  w.t.load(row);
  CHECK(broken_invariants(w.t).empty());
  row.plan.id = {"second"};
  w.t.load(row);
  CHECK(says(broken_invariants(w.t), "I9", "two open moves"));
  CHECK(says(
    move_broken_by([](move_row& m) { m.plan.inverse.target = all_to(impl_b); }), "I10", "way back"
  ));
}

TEST_CASE("a qualification on no stack, without a run or without a pass is broken (I12, I13)") {
  CHECK(says(
    qualification_broken_by([](qualification_row& q) { q.fingerprints.clear(); }), "I13", "no stack"
  ));
  CHECK(says(
    qualification_broken_by([](qualification_row& q) {
      q.fingerprints = {some_digest("stack 1"), digest{}};
    }),
    "I13",
    "not sorted"
  ));
  CHECK(says(
    qualification_broken_by([](qualification_row& q) { q.runs = {"none"}; }), "I12", "unknown run"
  ));
  for (auto seen : {predicate_outcome::no_data, predicate_outcome::fail})
    CHECK(says(
      qualification_broken_by([&](qualification_row& q) { q.predicates[0].outcome = seen; }),
      "I12",
      "did not pass"
    ));
}

TEST_CASE("a waiver that lasts is broken, and so is a comparison without a unit (I21, I22)") {
  auto w = serving();
  w.must(waiver{"w", impl_b, {5}, {w.now.value + 24 * 3'600'000}, "try"});
  CHECK(broken_invariants(w.t).empty());
  auto row = w.t.waivers->at("w");
  ++row.waiver.expires_at.value;
  w.t.load(row);
  CHECK(says(broken_invariants(w.t), "I21", "24 hours"));
  CHECK(says(
    qualification_broken_by([](qualification_row& q) { q.predicates[0].unit.clear(); }),
    "I22",
    "no unit"
  ));
  CHECK(says(
    move_broken_by([](move_row& m) {
      m.plan.guards = {{"ttft", 1, "", 1, 1}};
    }),
    "I22",
    "no unit"
  ));
}

TEST_CASE("items of a job that are done twice are broken") {
  auto w = serving();
  w.t.load(job_checkpoint{{"j"}, 0, 5, 5, 0, some_digest("out"), {}});
  CHECK(broken_invariants(w.t).empty());
  w.t.load(job_checkpoint{{"j"}, 4, 1, 1, 0, some_digest("out"), {}});
  CHECK(broken_invariants(w.t).at(0) == "items of job \"j\" are done twice");
}

} // namespace assay::ledger::test
