// Hours of service: how they are counted, and what the ledger takes.

#include "src/ledger/describe.hpp"
#include "src/ledger/service.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::ledger::test {

namespace {

using routing::ending;

constexpr auto hour_ms = service_hour.count();
constexpr wall_ms noon{500'000 * hour_ms};

/// Ended so long after noon.
routing::outcome request(std::int64_t after_noon_ms, ending how = ending::served) {
  routing::outcome o;
  o.decision = {"gate-7-" + std::to_string(after_noon_ms)};
  o.how = how;
  o.model = {"m"};
  o.implementation = impl_a;
  o.route_generation = 3;
  o.began = {noon.value + after_noon_ms - 20};
  o.total = std::chrono::milliseconds{20};
  o.usage = {.input_tokens = 10, .output_tokens = 2};
  return o;
}

serving_summary summary() {
  service_tally tally{"gate", 7};
  tally.add({request(5), request(9, ending::failed)});
  return tally.take_all().front();
}

wall_ms after(wall_ms t, std::chrono::milliseconds time) {
  return {t.value + time.count()};
}

constexpr wall_ms one{noon.value + hour_ms};
constexpr std::chrono::milliseconds tick{1};

std::string verdict_of(world& w, const serving_summary& s, std::string reason = {}) {
  auto r = record_of(s);
  r.reason_text = std::move(reason); // All that the world's bytes of a record show, beside its id.
  auto said = w.say(r);
  if (auto* no = std::get_if<refusal>(&said))
    return no->code;
  return std::get<receipt>(said).repeated ? "repeated" : "taken";
}

world at_one() {
  auto w = world::site();
  w.now = after(one, tick);
  return w;
}

} // namespace

TEST_CASE("an hour counts each request once, by class and by how it ended") {
  service_tally tally{"gate", 7};
  auto batch = request(3, ending::client_gone);
  batch.traffic = contract::traffic_class::batch;
  tally.add({request(1), request(2, ending::failed)});
  tally.add({batch, request(4, ending::refused), request(5)});
  auto all = tally.take_closed(after(one, service_tally::grace));
  REQUIRE(all.size() == 1);
  const auto& s = all.front();
  CHECK(s.hour == noon);
  CHECK(s.ingress == "gate");
  CHECK(s.boot == 7);
  CHECK(s.route == model_id{"m"});
  CHECK(s.implementation == impl_a);
  CHECK(s.interactive == 4);
  CHECK(s.batch == 1);
  CHECK(s.served == 2);
  CHECK(s.failed == 1);
  CHECK(s.refused == 1);
  CHECK(s.client_gone == 1);
  CHECK(s.input_tokens == 50);
  CHECK(s.output_tokens == 10);
  CHECK(s.first_ended == wall_ms{noon.value + 1});
  CHECK(s.last_ended == wall_ms{noon.value + 5});
}

TEST_CASE("what an engine refused is no failure of it, and what it had no room for is") {
  service_tally tally{"gate", 7};
  tally.add({request(1, ending::rejected), request(2, ending::overloaded)});
  auto all = tally.take_all();
  REQUIRE(all.size() == 1);
  CHECK(all.front().refused == 1);
  CHECK(all.front().failed == 1);
}

TEST_CASE("evaluation, shadow and requests without a route are no service") {
  service_tally tally{"gate", 7};
  auto evaluation = request(1), shadow = request(2), lost = request(3);
  evaluation.traffic = contract::traffic_class::evaluation;
  shadow.traffic = contract::traffic_class::shadow;
  lost.model = {};
  tally.add({evaluation, shadow, lost});
  CHECK(tally.take_all().empty());
}

TEST_CASE("an hour is taken a minute after its end, and not a millisecond sooner") {
  service_tally tally{"gate", 7};
  tally.add({request(0), request(hour_ms - 1), request(hour_ms)});
  CHECK(tally.take_closed(after(one, service_tally::grace - tick)).empty());
  auto first = tally.take_closed(after(one, service_tally::grace));
  REQUIRE(first.size() == 1);
  CHECK(first.front().served == 2);
  CHECK(tally.take_closed(after(one, service_tally::grace)).empty());
  auto rest = tally.take_all();
  REQUIRE(rest.size() == 1);
  CHECK(rest.front().hour == one);
}

TEST_CASE("what ends in an hour that was taken counts in the next one") {
  service_tally tally{"gate", 7};
  tally.add({request(1)});
  REQUIRE(tally.take_closed(after(one, service_tally::grace)).size() == 1);
  tally.add({request(2)});
  auto late = tally.take_all();
  REQUIRE(late.size() == 1);
  CHECK(late.front().hour == one);
  CHECK(late.front().last_ended == wall_ms{noon.value + 2});
}

TEST_CASE("routes, implementations and refusals before a choice are told apart") {
  service_tally tally{"gate", 7};
  auto other = request(1), none = request(2, ending::refused), elsewhere = request(3);
  other.implementation = impl_b;
  none.implementation = {};
  elsewhere.model = {"n"};
  tally.add({request(0), other, none, elsewhere});
  CHECK(tally.take_all().size() == 4);
}

TEST_CASE("the generations that decisions were made under are told, first and last") {
  service_tally tally{"gate", 7};
  auto older = request(2);
  older.route_generation = 2;
  tally.add({request(1), older});
  auto s = tally.take_all().front();
  CHECK(s.first_generation == 2);
  CHECK(s.last_generation == 3);
}

TEST_CASE("another decision, or another order, is another digest") {
  auto digest_of = [](const std::vector<routing::outcome>& all) {
    service_tally tally{"gate", 7};
    tally.add(all);
    return tally.take_all().front().decisions;
  };
  CHECK(digest_of({request(1), request(2)}) == digest_of({request(1), request(2)}));
  CHECK(digest_of({request(1), request(2)}) != digest_of({request(2), request(1)}));
  CHECK(digest_of({request(1)}) != digest_of({request(1, ending::failed)}));
}

TEST_CASE("an hour of service is taken once, however often it is told") {
  auto w = at_one();
  CHECK(verdict_of(w, summary()) == "taken");
  CHECK(verdict_of(w, summary()) == "repeated");
  auto more = summary();
  ++more.served, ++more.interactive;
  CHECK(verdict_of(w, more, "more") == "id_reused");
}

TEST_CASE("another ingress, start, hour, route or implementation is another summary") {
  auto w = at_one();
  CHECK(verdict_of(w, summary()) == "taken");
  std::vector<serving_summary> others(5, summary());
  others[0].ingress = "gate-2";
  others[1].boot = 8;
  others[2].hour = {noon.value - hour_ms};
  others[3].route = {"n"};
  others[4].implementation = {};
  for (const auto& s : others)
    CHECK(verdict_of(w, s) == "taken");
}

TEST_CASE("a summary under an id of its proposer's choice could be told twice, and is refused") {
  auto w = at_one();
  auto r = w.next_record(summary());
  auto said = w.say(r);
  REQUIRE(std::holds_alternative<refusal>(said));
  CHECK(std::get<refusal>(said).code == "bad_envelope");
}

TEST_CASE("an hour that has not begun, or does not begin on the hour, is refused") {
  auto w = at_one();
  auto s = summary();
  s.hour = one;
  CHECK(verdict_of(w, s) == "taken");
  s.hour = after(one, service_hour);
  CHECK(verdict_of(w, s) == "bad_hour");
  s.hour = after(noon, tick);
  CHECK(verdict_of(w, s) == "bad_hour");
}

TEST_CASE("counts that do not add up are refused") {
  auto w = at_one();
  std::vector<serving_summary> wrong(5, summary());
  ++wrong[0].served;
  wrong[1].interactive = wrong[1].served = wrong[1].failed = 0;
  wrong[2].first_generation = wrong[2].last_generation + 1;
  wrong[3].first_ended = after(wrong[3].last_ended, tick);
  wrong[4].decisions = {};
  for (const auto& s : wrong)
    CHECK(verdict_of(w, s) == "bad_counts");
}

TEST_CASE("a name that no key can hold is refused") {
  auto w = at_one();
  auto s = summary();
  s.ingress = "";
  // Without a name there is no author either.
  CHECK(verdict_of(w, s) == "bad_envelope");
  s = summary();
  s.route = {"a\nb"};
  CHECK(verdict_of(w, s) == "bad_name");
}

TEST_CASE("a summary is found by its route and by its hour, and reads as one line") {
  auto w = at_one();
  CHECK(verdict_of(w, summary()) == "taken");
  std::vector<digest> found;
  for (const auto& change : w.last.rows)
    if (change.row)
      if (auto* s = std::get_if<subject_row>(&*change.row))
        found.push_back(s->what);
  auto hour = subject_of("service_hour", service_hour_name({"m"}, noon));
  CHECK(std::ranges::count(found, hour) == 1);
  CHECK(std::ranges::count(found, subject_of("service", "m")) == 1);
  CHECK(
    describe(record_of(summary())).summary
    == "m gate sent 2 requests of the hour 2027-01-15T08:00 to m/cpu-a/a: 1 served, 1 failed, 0 "
       "left, 0 refused"
  );
}

} // namespace assay::ledger::test
