// Who served a route, when, why, and how to undo it: asked of a small ledger in memory.

#include "src/ledger/service.hpp"
#include "src/ledger/who_served.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::ledger::test {

namespace {

const model_id route{"m"};
constexpr std::int64_t minute = 60'000;

/// Answers from a world, and counts what it was asked.
class kept_life : public chronicle {
public:
  explicit kept_life(const world& w) : world_{w} {}

  const tables& now() const override { return world_.t; }
  result<kept_record, problem> record_at(std::uint64_t seq) const override {
    ++records_read;
    return world_.kept.at(seq - 1);
  }
  result<wall_ms, problem> stamped_at(std::uint64_t seq) const override {
    ++stamps_read;
    return world_.kept.at(seq - 1).stamp.stamped_at;
  }
  result<std::vector<std::uint64_t>, problem> about(
    const digest& subject, std::uint64_t from, direction where, std::size_t count
  ) const override {
    std::vector<std::uint64_t> found;
    auto at = world_.subjects.find(subject);
    if (at == world_.subjects.end() || (is_old && subject == mark()))
      return found;
    auto all = at->second;
    if (where == direction::older)
      std::ranges::reverse(all);
    for (auto seq : all)
      if ((where == direction::older ? seq <= from : seq >= from) && found.size() < count
          && (found.empty() || found.back() != seq))
        found.push_back(seq);
    return found;
  }
  static digest mark() { return subject_of(indexes::mark, indexes::mark); }

  bool is_old = false; ///< As if the ledger had been begun before there were indexes.
  mutable std::size_t records_read = 0, stamps_read = 0;

private:
  const world& world_;
};

served ask(const chronicle& c, wall_ms at) {
  auto found = who_served(c, route, at);
  if (!found)
    FAIL(to_text(found.error()));
  return *std::move(found);
}

wall_ms minutes(std::int64_t n) {
  return {dawn.value + n * minute};
}

/// At 1 `a` is promoted, at 2 `b`.
world two_moves() {
  auto w = world::site();
  qualify(w, {"qa"}, impl_a);
  qualify(w, {"qb"}, impl_b);
  w.now = minutes(1);
  promote(w, "to-a", impl_a, {"qa"});
  w.now = minutes(2);
  promote(w, "to-b", impl_b, {"qb"});
  w.now = minutes(3);
  w.must(declared{catalog::pool{.name = {"later"}}});
  return w;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines)
    text += line + '\n';
  return text;
}

} // namespace

TEST_CASE("each instant has the vectors of the last change before it, and the record that made it"
) {
  auto w = two_moves();
  kept_life c{w};
  auto first = ask(c, minutes(1));
  CHECK(first.generation == 1);
  CHECK(first.carried == all_to(impl_a));
  CHECK(first.move == move_id{"to-a"});
  CHECK(w.kept.at(first.changed.seq - 1).stamp.record == first.changed.record);
  REQUIRE(first.until);
  CHECK(first.until->stamped_at == minutes(2));
  auto last_ms = ask(c, {minutes(2).value - 1});
  CHECK(last_ms.generation == 1);
  auto second = ask(c, minutes(2));
  CHECK(second.generation == 2);
  CHECK(second.carried == all_to(impl_b));
  CHECK_FALSE(second.until);
  CHECK(ask(c, minutes(9)).generation == 2);
}

TEST_CASE("before its first change a route carried nothing, and a route that never was is named") {
  auto w = two_moves();
  kept_life c{w};
  auto early = who_served(c, route, {minutes(1).value - 1});
  REQUIRE_FALSE(early);
  CHECK(early.error().kind == problem_kind::not_found);
  CHECK(early.error().what.find("carried nothing yet") != std::string::npos);
  auto none = who_served(c, {"n"}, minutes(2));
  REQUIRE_FALSE(none);
  CHECK(none.error().next == "routes: m");
}

TEST_CASE("the answer names who asked, who authorised, and the proposal's record") {
  auto w = two_moves();
  kept_life c{w};
  auto s = ask(c, minutes(1));
  CHECK(s.proposed.author.who == "tester");
  CHECK(s.proposed.record == w.t.moves->at({"to-a"}).record);
  REQUIRE(s.authorised);
  CHECK(s.authorised->seq > s.proposed.seq);
  CHECK(s.authorised->seq < s.changed.seq);
}

TEST_CASE("a carrier stands on the qualification, policy, suite, bytes and runs that let it") {
  auto w = two_moves();
  kept_life c{w};
  auto s = ask(c, minutes(1));
  REQUIRE(s.carriers.size() == 1);
  REQUIRE(s.carriers[0].qualifications.size() == 1);
  const auto& q = s.carriers[0].qualifications[0];
  const auto& row = w.t.qualifications->at({"qa"});
  CHECK(q.authorised);
  CHECK(q.holds);
  CHECK(q.policy_record == row.policy_record);
  CHECK(q.suite == row.suite);
  CHECK(q.manifest == row.manifest);
  CHECK(q.profile == row.profile);
  CHECK(q.expires_at == row.expires_at);
  REQUIRE(q.runs.size() == 1);
  CHECK(q.runs[0].record == w.t.runs->at("run of qa").record);
  CHECK(q.runs[0].passed == 13);
}

TEST_CASE("what happened to a qualification later does not change who served before") {
  auto w = two_moves();
  w.now = minutes(4);
  w.must(qualification_changed{{"qb"}, qualification::event::drift, {}, "another stack"});
  kept_life c{w};
  auto before = ask(c, minutes(3));
  CHECK(before.carriers[0].qualifications[0].state == qualification::state::qualified);
  CHECK(before.carriers[0].qualifications[0].holds);
  auto after = ask(c, minutes(4));
  const auto& q = after.carriers[0].qualifications[0];
  CHECK(q.state == qualification::state::suspended);
  CHECK_FALSE(q.holds);
  CHECK(q.since.seq == w.t.head.seq);
  CHECK(q.verdict->seq < q.since.seq);
  CHECK(joined(lines_of(after)).find("gate 5 was shut") != std::string::npos);
}

TEST_CASE("a newer qualification that holds is named beside the one that authorised the move") {
  auto w = two_moves();
  w.now = minutes(4);
  qualify(w, {"qb2"}, impl_b);
  w.must(qualification_changed{{"qb"}, qualification::event::supersede, {{"qb2"}}, ""});
  kept_life c{w};
  auto qs = ask(c, minutes(4)).carriers[0].qualifications;
  REQUIRE(qs.size() == 2);
  CHECK(qs[0].authorised);
  CHECK(qs[0].state == qualification::state::superseded);
  CHECK(qs[1].id == qualification_id{"qb2"});
  CHECK(qs[1].holds);
  CHECK_FALSE(qs[1].authorised);
}

TEST_CASE("a qualification that ran out is over at that millisecond, record or none") {
  auto w = two_moves();
  auto until = w.t.qualifications->at({"qb"}).expires_at;
  kept_life c{w};
  CHECK(ask(c, {until.value - 1}).carriers[0].qualifications[0].holds);
  CHECK_FALSE(ask(c, until).carriers[0].qualifications[0].holds);
}

TEST_CASE("a waiver that let something carry is named with its gates, reason and end") {
  auto w = world::site();
  w.now = minutes(1);
  w.must(waiver{"w1", impl_a, {5}, minutes(30), "demo"});
  auto p = plan(w, "by-waiver", all_to(impl_a));
  w.must(p);
  w.must(move_authorised{p.id, {}, {"w1"}});
  w.must(move_acked{p.id, moves::event::stage, {}});
  w.must(move_route_changed{p.id, moves::event::step, 0, 1, p.after, observation::none, ""});
  w.now = minutes(2);
  w.must(waiver_ended{"w1"});
  kept_life c{w};
  auto then = ask(c, minutes(1)).carriers[0].waivers;
  REQUIRE(then.size() == 1);
  CHECK(then[0].authorised);
  CHECK(then[0].holds);
  CHECK(then[0].gates == std::vector<std::uint8_t>{5});
  auto later = ask(c, minutes(2)).carriers[0].waivers;
  CHECK_FALSE(later[0].holds);
  CHECK(later[0].ended);
}

TEST_CASE("the newest move is undone by itself; an older one after those that came later") {
  auto w = two_moves();
  kept_life c{w};
  auto newest = ask(c, minutes(2)).undo;
  CHECK(newest.command == "assay reverse to-b");
  CHECK(newest.plan.target == all_to(impl_a));
  CHECK(newest.changes_since == 0);
  auto older = ask(c, minutes(1)).undo;
  CHECK(older.command == "assay reverse to-b");
  CHECK(older.first == std::vector{move_id{"to-b"}});
  CHECK(older.changes_since == 1);
  CHECK_FALSE(moves::carries_anything(older.plan.target));
}

TEST_CASE("a move that was declared irreversible has no way back, and says why") {
  auto w = world::site();
  qualify(w, {"qa"}, impl_a);
  auto p = plan(w, "one-way", all_to(impl_a));
  p.inverse.irreversible = true;
  p.inverse.note = "the old bytes are gone";
  w.must(p);
  w.must(move_authorised{p.id, {{"qa"}}, {}});
  w.must(move_acked{p.id, moves::event::stage, {}});
  w.must(move_route_changed{p.id, moves::event::step, 0, 1, p.after, observation::none, ""});
  kept_life c{w};
  auto undo = ask(c, w.now).undo;
  CHECK(undo.command.empty());
  CHECK(undo.why.find("the old bytes are gone") != std::string::npos);
}

TEST_CASE("what was sent in the hour of the instant is told, and of no other hour") {
  auto w = two_moves();
  serving_summary s{
    .ingress = "gate",
    .boot = 1,
    .hour = hour_of(minutes(2)),
    .route = route,
    .implementation = impl_b,
    .interactive = 4,
    .served = 4,
    .first_generation = 2,
    .last_generation = 2,
    .decisions = some_digest("ring")};
  w.now = minutes(61);
  REQUIRE(std::holds_alternative<receipt>(w.say(record_of(s))));
  kept_life c{w};
  auto found = ask(c, minutes(2)).service;
  REQUIRE(found.size() == 1);
  CHECK(found[0].counts == s);
  CHECK(found[0].told.seq == w.t.head.seq);
  CHECK(ask(c, minutes(60)).service.empty());
}

TEST_CASE("a ledger from before the indexes gives the same answers, by a longer way") {
  auto w = two_moves();
  kept_life c{w}, old{w};
  old.is_old = true;
  for (std::int64_t at = 1; at < 4; ++at)
    CHECK(ask(old, minutes(at)) == ask(c, minutes(at)));
  CHECK(*route_history(old, route, 9) == *route_history(c, route, 9));
}

TEST_CASE("how much is read does not grow with what lies between") {
  auto w = two_moves();
  auto cost = [&] {
    kept_life c{w};
    ask(c, minutes(2));
    return c.records_read;
  };
  auto before = cost();
  for (int i = 0; i < 500; ++i) {
    w.must(plan(w, "idle-" + std::to_string(i), all_to(impl_a)));
    w.must(move_changed{{"idle-" + std::to_string(i)}, moves::event::deny, {}, "no"});
  }
  CHECK(cost() == before);
  kept_life c{w};
  ask(c, minutes(2));
  CHECK(c.stamps_read <= 12);
}

TEST_CASE("a route's history has its changes and nothing else, newest first") {
  auto w = two_moves();
  kept_life c{w};
  auto all = route_history(c, route, 10);
  REQUIRE(all);
  REQUIRE(all->size() == 2);
  CHECK(all->front().generation == 2);
  CHECK(all->back().move == move_id{"to-a"});
  CHECK(route_history(c, route, 1)->size() == 1);
  CHECK(route_history(c, {"n"}, 1).error().kind == problem_kind::not_found);
}

TEST_CASE("the lines hold what an auditor asks for, one thing a line") {
  auto w = two_moves();
  kept_life c{w};
  auto s = ask(c, minutes(2));
  auto lines = lines_of(s);
  auto text = joined(lines);
  for (const auto& part : std::vector<std::string>{
         "generation 2",
         impl_b.value,
         to_text(s.changed.record),
         to_text(s.carriers[0].qualifications[0].policy_record),
         to_text(s.carriers[0].qualifications[0].runs[0].record),
         "asked by tester (socket)",
         "assay reverse to-b",
         to_text(w.t.head.chain)}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(std::ranges::none_of(lines, [](const auto& l) { return l.find('\n') != l.npos; }));
}

TEST_CASE("programs get the same as fields with names") {
  auto w = two_moves();
  kept_life c{w};
  auto fields = describe(ask(c, minutes(2)));
  auto value = [&](std::string_view name) {
    auto at = std::ranges::find(fields, name, &described_field::name);
    return at == fields.end() ? "" : at->value;
  };
  CHECK(value("generation") == "2");
  CHECK(value("carriers[0].qualifications[0].id") == "qb");
  CHECK(value("undo.command") == "assay reverse to-b");
}

TEST_CASE("times are read as RFC 3339 has them, and nothing else is") {
  CHECK(parse_time("1970-01-01T00:00:00Z") == wall_ms{0});
  CHECK(parse_time("2026-12-02T08:42:15.25Z") == wall_ms{1'796'200'935'250});
  CHECK(parse_time("2026-12-02T09:42:15.25+01:00") == wall_ms{1'796'200'935'250});
  CHECK(parse_time("2026-12-02t07:42:15.2509-01:00") == wall_ms{1'796'200'935'250});
  for (auto wrong :
       {"",
        "now",
        "2026-12-02",
        "2026-12-02T08:42:15",
        "2026-12-02T08:42Z",
        "2026-02-30T08:42:15Z",
        "2026-12-02T24:00:00Z",
        "2026-12-02T08:42:15.Z",
        "2026-12-02T08:42:15Z and",
        "2026-12-02T08:42:15+1:00"}) {
    INFO(wrong);
    CHECK_FALSE(parse_time(wrong));
  }
}

TEST_CASE("the hosts of its pools that were kept from work then are named, with who said so") {
  auto w = two_moves();
  w.must(cluster_version{2});
  for (auto [name, pool] : {std::pair{"node", "cpu-b"}, {"other", "cpu-a"}})
    w.must(identity_added{
      name, identity_role::host, std::string(40, name[0]), {std::string{pool}}, {}});
  w.now = minutes(4);
  for (const auto* name : {"node", "other"})
    w.must(host_standing{{name}, host_duty::quarantined, "wrong answers"});
  w.now = minutes(5);
  w.must(host_standing{{"node"}, host_duty::in_service, "mended"});
  kept_life c{w};
  CHECK(ask(c, minutes(3)).kept_hosts.empty());
  auto then = ask(c, minutes(4)); // It carries what is in the pool cpu-b.
  REQUIRE(then.kept_hosts.size() == 1);
  CHECK(then.kept_hosts[0].host == host_id{"node"});
  CHECK(then.kept_hosts[0].duty == host_duty::quarantined);
  CHECK(then.kept_hosts[0].said.stamped_at == minutes(4));
  CHECK(joined(lines_of(then)).find("host node: quarantined since ") != std::string::npos);
  CHECK(ask(c, minutes(5)).kept_hosts.empty());
}

} // namespace assay::ledger::test
