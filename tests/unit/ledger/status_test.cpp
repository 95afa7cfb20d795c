#include "src/ledger/describe.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

namespace assay::ledger::test {

namespace {

using catalog::implementation_status;

bool mentions(const std::vector<missing>& list, std::string_view part) {
  return std::ranges::any_of(list, [&](const missing& m) {
    return m.what.find(part) != std::string::npos;
  });
}

world promoted() {
  auto w = world::site();
  qualify(w, {"q1"}, impl_a);
  promote(w, "mv1", impl_a, {"q1"});
  return w;
}

} // namespace

TEST_CASE("an implementation is a draft until it is qualified and stands in a route") {
  auto w = world::site();
  CHECK(status_of(w.t, impl_a, w.now) == implementation_status::draft);
  qualify(w, {"q1"}, impl_a);
  CHECK(status_of(w.t, impl_a, w.now) == implementation_status::draft);
  promote(w, "mv1", impl_a, {"q1"});
  CHECK(status_of(w.t, impl_a, w.now) == implementation_status::production);
}

TEST_CASE("the file's wish alone gives no status") {
  auto w = world::site();
  CHECK(w.t.implementations->at(impl_a).what.wanted == implementation_status::production);
  CHECK(status_of(w.t, impl_a, w.now) != implementation_status::production);
}

TEST_CASE("an implementation is suspended with its qualification, and when that expires") {
  auto w = promoted();
  auto hour = w.t.qualifications->at({"q1"}).expires_at;
  CHECK(status_of(w.t, impl_a, {hour.value - 1}) == implementation_status::production);
  CHECK(status_of(w.t, impl_a, hour) == implementation_status::suspended);
  w.must(qualification_changed{{"q1"}, qualification::event::drift, {}, ""});
  CHECK(status_of(w.t, impl_a, w.now) == implementation_status::suspended);
}

TEST_CASE("a waiver of gate 5 lets a route's implementation serve without evidence") {
  auto w = world::site();
  w.must(waiver{"w1", impl_a, {4, 5}, {w.now.value + 1'000}, "first light"});
  auto p = plan(w, "mv1", all_to(impl_a));
  w.must(p);
  w.must(move_authorised{p.id, {}, {"w1"}});
  w.must(move_acked{p.id, moves::event::stage, {}});
  w.must(move_route_changed{p.id, moves::event::step, 0, 1, p.after, observation::none, ""});
  CHECK(status_of(w.t, impl_a, w.now) == implementation_status::production);
  CHECK(status_of(w.t, impl_a, {w.now.value + 1'000}) == implementation_status::suspended);
}

TEST_CASE("a status of the route is the implementation's standing in it") {
  auto w = promoted();
  auto route = w.t.routes->at({"m"});
  route.route.carried.interactive[0].standing = moves::standing::canary;
  w.t.load(route);
  CHECK(status_of(w.t, impl_a, w.now) == implementation_status::canary);
}

TEST_CASE("other bytes or another profile text end what a qualification says") {
  auto w = world::site();
  qualify(w, {"q1"}, impl_a);
  CHECK(current_qualification(w.t, impl_a, w.now));
  w.must(declared{catalog::profile_document{{"p"}, "new text", sha256("new text")}});
  CHECK_FALSE(current_qualification(w.t, impl_a, w.now));
  CHECK(why_not_qualified(w.t, impl_a, w.now).find("another profile") != std::string::npos);
}

TEST_CASE("what the engine is told otherwise ends a qualification, what it is not told does not") {
  auto w = world::site();
  qualify(w, {"q1"}, impl_a);
  auto changed = w.t.implementations->at(impl_a).what;
  SECTION("more replicas") {
    ++changed.replicas.max;
    w.must(declared{changed});
    CHECK(current_qualification(w.t, impl_a, w.now));
  }
  SECTION("another launch") {
    switch (GENERATE(0, 1, 2)) {
    case 0:
      changed.args["threads"] = "1";
      break;
    case 1:
      ++changed.slots;
      break;
    default:
      ++changed.devices;
    }
    w.must(declared{changed});
    CHECK_FALSE(current_qualification(w.t, impl_a, w.now));
  }
}

TEST_CASE("what is missing is listed in the order in which it is to be done") {
  auto w = world::site();
  auto lone = implementation({"m/inf2/b"}, "inf2");
  lone.artifact = {"m/b"};
  w.must(declared{lone});
  auto list = missing_for(w.t, lone.id, w.now);
  REQUIRE(list.size() >= 2);
  CHECK(list[0].what.find("pool \"inf2\"") != std::string::npos);
  CHECK(mentions(list, "artifact \"m/b\""));
  CHECK(mentions(list, "profile"));
  for (const auto& m : list)
    CHECK_FALSE(m.next.empty());
}

TEST_CASE("a complete declaration lacks a qualification, then a route, then nothing") {
  auto w = world::site();
  CHECK(mentions(missing_for(w.t, impl_a, w.now), "no current qualification"));
  qualify(w, {"q1"}, impl_a);
  auto list = missing_for(w.t, impl_a, w.now);
  REQUIRE(list.size() == 1);
  CHECK(list[0].next == "assay promote m/cpu-a/a --status production");
  promote(w, "mv1", impl_a, {"q1"});
  CHECK(missing_for(w.t, impl_a, w.now).empty());
}

TEST_CASE("a record is described by kind, subject, one line, and all its fields by name") {
  auto w = world::site();
  auto r = w.next_record(plan(w, "mv1", all_to(impl_a)));
  auto d = describe(r);
  CHECK(d.kind == "move_proposed");
  CHECK(d.subject == "m");
  CHECK(d.summary.find("interactive m/cpu-a/a 100 %") != std::string::npos);
  auto wanted = described_field{"payload.move_proposed.after.interactive[0].ceiling", "10000"};
  CHECK(std::ranges::find(d.fields, wanted) != d.fields.end());
}

TEST_CASE("a summary stays one line whatever was written into the record") {
  auto w = world::site();
  auto r = w.next_record(key_revoked{{"k"}, "two\nlines\x1b[31m"});
  auto d = describe(r);
  CHECK(d.summary == "k key revoked: two lines [31m");
}

TEST_CASE("moments are described as ISO 8601 in UTC") {
  stamp s;
  s.stamped_at = {1'800'000'000'123};
  auto fields = describe(s);
  auto wanted = described_field{"stamped_at", "2027-01-15T08:00:00.123Z"};
  CHECK(std::ranges::find(fields, wanted) != fields.end());
}

} // namespace assay::ledger::test
