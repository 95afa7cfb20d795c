#include "src/qualification/run.hpp"
#include "tests/unit/qualification/fake_engine.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::qualification {

namespace {

using test::fake_engine;
using test::ran;
using test::run_all;

subject subject_of(std::uint32_t context = 64) {
  subject who;
  who.implementation = {"m/p/a"};
  who.model = "m";
  who.limits.context_tokens = context;
  who.limits.output_tokens = 16;
  who.slots = 2;
  return who;
}

suite suite_of(std::vector<check_kind> checks, std::size_t items = 20) {
  suite s;
  s.name = {"s"};
  s.checks = std::move(checks);
  for (std::size_t i = 0; i < items; ++i) {
    const auto word = "word" + std::to_string(i);
    s.items.push_back({"item" + std::to_string(i), {{"user", word}}, {}, contains_answer{word}, 1});
  }
  return s;
}

catalog::policy tryout() {
  catalog::policy p;
  p.name = {"tryout"};
  p.score_at_least_ppm = 400'000;
  return p;
}

run_state start(std::vector<check_kind> checks, std::uint32_t context = 64) {
  auto run = prepare(subject_of(context), suite_of(std::move(checks)), tryout());
  REQUIRE(run);
  return std::move(*run);
}

ran run_checks(std::vector<check_kind> checks, fake_engine engine, std::uint32_t context = 64) {
  return run_all(start(std::move(checks), context), engine);
}

const std::vector<check_kind> everything = {
  check_kind::unary_schema,
  check_kind::streaming_schema,
  check_kind::usage,
  check_kind::output_limit,
  check_kind::input_limit,
  check_kind::cancellation,
  check_kind::unknown_field,
  check_kind::error_shape,
};

/// The run failed at exactly this check and asked nothing of the items.
void fails_at(check_kind kind, const ran& r, const std::string& words) {
  REQUIRE(r.verdict);
  CHECK(r.verdict->verdict.outcome == outcome::fail);
  REQUIRE_FALSE(r.verdict->checks.empty());
  CHECK(r.verdict->checks.back().kind == kind);
  INFO(r.verdict->checks.back().why);
  CHECK(r.verdict->checks.back().why.find(words) != std::string::npos);
  CHECK(r.last.items.empty());
}

} // namespace

TEST_CASE("an honest engine passes, and the envelope is the box of its limits") {
  const auto r = run_checks(everything, {});
  REQUIRE(r.verdict);
  INFO(r.verdict->verdict.reasons.front());
  CHECK(r.verdict->verdict.outcome == outcome::pass);
  CHECK(r.verdict->verdict.counts.right == 20);
  CHECK(r.verdict->envelope == envelope{contract::task::chat, 63, 16, true, true});
}

TEST_CASE("the input limit is hit exactly, whatever a word costs and the template adds") {
  for (std::uint32_t overhead : {1U, 10U, 30U, 61U})
    for (std::uint32_t context : {64U, 100U, 4'096U}) {
      fake_engine engine;
      engine.overhead = overhead;
      engine.context = context;
      CAPTURE(overhead, context);
      const auto r = run_checks({check_kind::input_limit}, engine, context);
      REQUIRE(r.verdict);
      CHECK(r.verdict->checks.at(0).outcome == outcome::pass);
      CHECK(r.verdict->envelope.input_tokens == context - 1);
    }
}

TEST_CASE("a filler of several tokens that cannot hit the limit is no evidence") {
  fake_engine engine;
  engine.tokens_per_word = 2;
  engine.overhead = 10;
  const auto r = run_checks({check_kind::input_limit}, engine);
  REQUIRE(r.verdict);
  CHECK(r.verdict->verdict.outcome == outcome::inconclusive);
  CHECK(r.asks.size() <= 12);
  engine.overhead = 11;
  CHECK(
    run_checks({check_kind::input_limit}, engine).verdict->checks.at(0).outcome == outcome::pass
  );
}

TEST_CASE("an engine that cuts long prompts silently fails") {
  fake_engine engine;
  engine.cuts_prompts = true;
  fails_at(check_kind::input_limit, run_checks({check_kind::input_limit}, engine), "silently");
}

TEST_CASE("an engine that refuses below its limit fails") {
  fake_engine engine;
  engine.context = 60;
  fails_at(
    check_kind::input_limit,
    run_checks({check_kind::input_limit}, engine, 64),
    "a prompt of 60 tokens is refused though the limit is 63"
  );
}

TEST_CASE("an engine with more room than declared passes at the declared limit") {
  auto who = subject_of(64);
  who.limits.input_tokens = 40;
  fake_engine engine;
  auto run = prepare(who, suite_of({check_kind::input_limit}), tryout());
  REQUIRE(run);
  const auto r = run_all(std::move(*run), engine);
  CHECK(r.verdict->checks.at(0).outcome == outcome::pass);
  CHECK(r.verdict->envelope.input_tokens == 40);
}

TEST_CASE("each broken promise is found by its check, and no item is asked") {
  fake_engine engine;
  SECTION("usage") {
    engine.lies_about_usage = true;
    fails_at(check_kind::usage, run_checks(everything, engine), "does not add up");
  }
  SECTION("no usage") {
    engine.omits_usage = true;
    fails_at(check_kind::usage, run_checks(everything, engine), "no usage");
  }
  SECTION("stream end") {
    engine.omits_done = true;
    fails_at(check_kind::streaming_schema, run_checks(everything, engine), "[DONE]");
  }
  SECTION("an error event before [DONE]") {
    engine.error_event_then_done = true;
    fails_at(check_kind::streaming_schema, run_checks(everything, engine), "worker died");
  }
  SECTION("output limit") {
    engine.ignores_max_tokens = true;
    fails_at(
      check_kind::output_limit,
      run_checks(everything, engine),
      "at most 8 tokens are allowed and 13 came"
    );
  }
  SECTION("unknown field") {
    engine.refuses_unknown_fields = true;
    fails_at(check_kind::unknown_field, run_checks(everything, engine), "unknown field");
  }
  SECTION("nonsense is answered") {
    engine.answers_nonsense_requests = true;
    fails_at(check_kind::error_shape, run_checks(everything, engine), "status 200");
  }
  SECTION("error shape") {
    engine.plain_errors = true;
    fails_at(check_kind::error_shape, run_checks(everything, engine), "no JSON object");
  }
  SECTION("slots that are not freed") {
    engine.leaks_slots = true;
    fails_at(check_kind::cancellation, run_checks(everything, engine), "3 streams were left");
  }
}

TEST_CASE("a runtime that answers the same to everything is rejected with numbers") {
  fake_engine engine;
  engine.answers = [](const std::string&) {
    std::string all;
    for (int i = 0; i < 20; ++i)
      all += "word" + std::to_string(i) + " ";
    return all;
  };
  const auto r = run_checks({check_kind::usage}, engine);
  REQUIRE(r.verdict);
  CHECK(r.verdict->verdict.counts.right == 20);
  CHECK(r.verdict->verdict.outcome == outcome::fail);
  CHECK(r.verdict->verdict.reasons.front().find("1 distinct answers") != std::string::npos);
}

TEST_CASE("an engine that is never there is inconclusive, after growing pauses and no more tries") {
  fake_engine engine;
  engine.status = 503;
  const auto r = run_checks({check_kind::usage}, engine);
  REQUIRE(r.verdict);
  CHECK(r.verdict->verdict.outcome == outcome::inconclusive);
  CHECK(engine.asked == 0); // The fake is copied; what was asked is in `asks`.
  CHECK(r.asks.size() == 4);
  using namespace std::chrono_literals;
  CHECK(r.delays == std::vector<std::chrono::milliseconds>{0ms, 500ms, 1'000ms, 2'000ms});
}

TEST_CASE("a silence in the middle of the items is inconclusive, never a smaller pass") {
  fake_engine honest;
  std::uint32_t asked = 0;
  auto engine = [&](const ask& a) -> std::optional<answer> {
    return ++asked > 25 ? std::nullopt : honest(a);
  };
  auto s = suite_of({}, 40);
  auto run = prepare(subject_of(), s, tryout());
  REQUIRE(run);
  const auto r = run_all(std::move(*run), engine);
  REQUIRE(r.verdict);
  CHECK(r.verdict->verdict.counts.answered == 25);
  CHECK(r.verdict->verdict.outcome == outcome::inconclusive);
}

TEST_CASE("an engine that fails on an item got that item wrong") {
  fake_engine honest;
  auto engine = [&](const ask& a) -> std::optional<answer> {
    if (a.purpose == "item/item3")
      return answer{500, "boom"};
    return honest(a);
  };
  const auto r = run_all(start({}), engine);
  REQUIRE(r.verdict);
  CHECK(r.verdict->verdict.counts.answered == 20);
  CHECK(r.verdict->verdict.counts.right == 19);
}

TEST_CASE("late answers, answers after the end and a second begin change nothing") {
  auto s = step(start({check_kind::usage}), begin{});
  const auto open = s.next.open->number;
  CHECK(step(s.next, begin{}).effects.empty());
  CHECK(step(s.next, answered{open + 7, {200, "{}"}}).effects.empty());
  CHECK(step(s.next, not_answered{open + 7, "late"}).effects.empty());
  s = step(std::move(s.next), stop{"a person said so"});
  CHECK(s.next.stage == stage::over);
  CHECK(step(s.next, answered{open, {200, "{}"}}).effects.empty());
}

TEST_CASE("a stopped run gives up its open ask and is inconclusive") {
  auto s = step(start({check_kind::usage}), begin{});
  s = step(std::move(s.next), stop{"the leader changed"});
  REQUIRE(s.effects.size() == 3);
  CHECK(std::holds_alternative<give_up_ask>(s.effects[0]));
  CHECK(std::holds_alternative<store_evidence>(s.effects[1]));
  CHECK(std::get<decided>(s.effects[2]).verdict.outcome == outcome::inconclusive);
}

TEST_CASE("the evidence has a head, a line for each ask, check and item, and the verdict") {
  const auto r = run_checks({check_kind::usage}, {});
  const auto lines = std::count(r.evidence.begin(), r.evidence.end(), '\n');
  CHECK(lines == 1 + 2 + 1 + 2 * 20 + 1);
  CHECK(r.evidence.starts_with(R"({"evidence":1,"suite":"s")"));
  std::size_t at = 0;
  while (at < r.evidence.size()) {
    const auto end = r.evidence.find('\n', at);
    CHECK(boost::json::parse(r.evidence.substr(at, end - at)).is_object());
    at = end + 1;
  }
}

TEST_CASE("what cannot be run is refused with what to do") {
  auto who = subject_of();
  who.limits = {};
  const auto no_limit = prepare(who, suite_of({check_kind::input_limit}), tryout());
  REQUIRE_FALSE(no_limit);
  CHECK(no_limit.error().next.find("context-tokens") != std::string::npos);
  CHECK(prepare(who, suite_of({check_kind::usage}), tryout()));
  CHECK_FALSE(prepare(subject_of(), suite_of({}, 19), tryout()));
  CHECK(prepare(subject_of(), suite_of({}, 20), tryout()));
  who.promises.task = contract::task::embedding;
  CHECK_FALSE(prepare(who, suite_of({check_kind::usage}), tryout()));
}

TEST_CASE("of two limits the tighter holds, and none does not count") {
  const auto t = tighter({4'096, 0, 512, 10}, {1'024, 700, 0, 20});
  CHECK(t == contract::request_limits{1'024, 700, 512, 10});
}

} // namespace assay::qualification
