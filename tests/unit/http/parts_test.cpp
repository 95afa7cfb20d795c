// The small pure parts: retries, the timer wheel, heads and doors.

#include "src/http/front_doors.hpp"
#include "src/http/head.hpp"
#include "src/http/retry.hpp"
#include "src/http/timer_wheel.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include <map>
#include <memory>
#include <vector>

using namespace assay;
using namespace assay::http;
using namespace std::chrono_literals;

TEST_CASE("each way an attempt can end has its next step") {
  struct row {
    attempt_end end;
    retry_history history;
    retry_step step;
  };
  auto [end, history, step] = GENERATE(
    row{attempt_end::answered, {1}, retry_step::give_up},
    row{attempt_end::lost, {1}, retry_step::give_up},
    row{attempt_end::late, {1}, retry_step::give_up},
    row{attempt_end::not_connected, {1}, retry_step::elsewhere},
    row{attempt_end::not_connected, {limits::route_attempts}, retry_step::give_up},
    row{attempt_end::reused_closed, {limits::route_attempts}, retry_step::replay},
    row{attempt_end::reused_closed, {1, true}, retry_step::give_up},
    row{attempt_end::pushed_back, {1}, retry_step::elsewhere},
    row{attempt_end::pushed_back, {limits::route_attempts}, retry_step::give_up},
    row{attempt_end::broke, {1}, retry_step::elsewhere},
    row{attempt_end::broke, {2, false, true}, retry_step::give_up}
  );
  retry_budget budget;
  CHECK(next_step(end, history, budget) == step);
}

TEST_CASE("a used-up budget stops retries of refusals, not of connections") {
  retry_budget budget;
  while (budget.spend()) {
  }
  CHECK(next_step(attempt_end::pushed_back, {1}, budget) == retry_step::give_up);
  CHECK(next_step(attempt_end::not_connected, {1}, budget) == retry_step::elsewhere);
  for (unsigned i = 1; i < 100 / limits::retry_percent; ++i)
    budget.earn();
  CHECK(next_step(attempt_end::pushed_back, {1}, budget) == retry_step::give_up);
  budget.earn();
  CHECK(next_step(attempt_end::pushed_back, {1}, budget) == retry_step::elsewhere);
}

namespace {

struct wheel_alarm : timer_wheel::entry {
  steady_time due{};
  int rung = 0;

  std::optional<steady_time> on_time(steady_time now) override {
    if (now < due)
      return due;
    ++rung;
    return {};
  }
};

constexpr steady_time start{1'000'000s};

} // namespace

TEST_CASE("an alarm rings once, after its time and within two ticks of it") {
  auto after = GENERATE(0ms, 1ms, 5ms, 7ms, 999ms, 5'000ms, 5'120ms, 5'125ms, 60'000ms);
  timer_wheel wheel{start};
  wheel_alarm a;
  a.due = start + after;
  wheel.watch(a, a.due);
  auto now = start;
  for (; now < a.due; now += 1ms) {
    wheel.advance(now);
    REQUIRE(a.rung == 0);
  }
  wheel.advance(a.due + 2 * timer_wheel::tick);
  CHECK(a.rung == 1);
  wheel.advance(a.due + 60s);
  CHECK(a.rung == 1);
}

TEST_CASE("a deadline that moves later costs no move, one that moves earlier is met") {
  timer_wheel wheel{start};
  wheel_alarm a;
  a.due = start + 100ms;
  wheel.watch(a, a.due);
  a.due = start + 300ms;
  wheel.watch(a, a.due);
  wheel.advance(start + 200ms);
  CHECK(a.rung == 0);
  a.due = start + 220ms;
  wheel.watch(a, a.due);
  wheel.advance(start + 230ms);
  CHECK(a.rung == 1);
}

TEST_CASE("the wheel says when it is worth turning, and forgets alarms that are gone") {
  timer_wheel wheel{start};
  CHECK_FALSE(wheel.next().has_value());
  {
    wheel_alarm a;
    a.due = start + 50ms;
    wheel.watch(a, a.due);
    REQUIRE(wheel.next().has_value());
    CHECK(*wheel.next() <= a.due + 2 * timer_wheel::tick);
  }
  CHECK_FALSE(wheel.next().has_value());
}

TEST_CASE("a wheel that was not turned for long still rings everything") {
  timer_wheel wheel{start};
  std::vector<std::unique_ptr<wheel_alarm>> alarms;
  for (int i = 0; i < 2'000; ++i) {
    alarms.push_back(std::make_unique<wheel_alarm>());
    alarms.back()->due = start + std::chrono::milliseconds{i * 7};
    wheel.watch(*alarms.back(), alarms.back()->due);
  }
  wheel.advance(start + 1h);
  wheel.advance(start + 1h + 10s);
  for (const auto& a : alarms)
    REQUIRE(a->rung == 1);
}

TEST_CASE("a request id is taken when it is short and visible, else made") {
  CHECK(is_sane_request_id("abc-1"));
  CHECK(is_sane_request_id(std::string(128, 'x')));
  CHECK_FALSE(is_sane_request_id(std::string(129, 'x')));
  CHECK_FALSE(is_sane_request_id(""));
  CHECK_FALSE(is_sane_request_id("a b"));
  CHECK_FALSE(is_sane_request_id("\xc3\xa9"));
}

TEST_CASE("media types are compared without parameters and case") {
  CHECK(is_event_stream("text/event-stream; charset=utf-8"));
  CHECK(is_event_stream("Text/Event-Stream ;x"));
  CHECK_FALSE(is_event_stream("text/event-streams"));
  CHECK(is_json("application/json"));
  CHECK_FALSE(is_json("text/html"));
}

TEST_CASE("an answer loses what belongs to the replica's connection") {
  std::string bytes =
    "HTTP/1.1 200 Fine\r\nServer: uvicorn\r\nSet-Cookie: a=b\r\nConnection: close, X-Own\r\n"
    "X-Own: 1\r\nKeep-Alive: timeout=5\r\nX-Assay-Pool: forged\r\nX-Request-Id: theirs\r\n"
    "Content-Type: text/plain\r\nopenai-processing-ms: 5\r\nContent-Length: 3\r\n\r\n";
  response_reader reader;
  REQUIRE(reader.read(bytes) == reading::complete);
  std::string out;
  answer_terms terms;
  terms.request_id = "ours";
  terms.content_length = 3;
  write_answer_head(out, bytes, reader.head(), terms);
  CHECK(
    out
    == "HTTP/1.1 200 Fine\r\nContent-Type: text/plain\r\nopenai-processing-ms: 5\r\n"
       "content-length: 3\r\nx-request-id: ours\r\n\r\n"
  );
}

TEST_CASE("the path decides the door, without its query, and the method is checked after") {
  for (std::size_t i = 0; i < contract::operation_count; ++i) {
    auto operation = static_cast<contract::operation>(i);
    auto path = contract::describe(operation).path;
    auto chosen = choose_door("POST", path, false);
    REQUIRE(chosen.has_value());
    CHECK(chosen->door == door::inference);
    CHECK(chosen->operation == operation);
    auto get = choose_door("GET", path, false).error();
    CHECK(get.failure == contract::failure::method_not_allowed);
    CHECK(get.allow == "POST");
    auto nothing = choose_door("POST", std::string{path} + "/", false).error();
    CHECK(nothing.failure == contract::failure::unknown_path);
    CHECK(nothing.message.find("POST " + std::string{path} + ",") != std::string::npos);
  }
  CHECK(choose_door("GET", "/v1/models", false)->door == door::models);
  CHECK(choose_door("GET", "/v1/models/a%2Fb", false)->name == "a/b");
  CHECK(choose_door("GET", "/v1/models/a%zz%", false)->name == "a%zz%");
  CHECK(
    choose_door("GET", "/v1/models/", false).error().failure == contract::failure::unknown_path
  );
  CHECK(
    choose_door("GET", "/v1/responses", true).error().failure == contract::failure::upgrade_required
  );
  // An upgrade is an offer; a request that can be served without it is.
  CHECK(choose_door("POST", "/v1/chat/completions", true).has_value());
}
