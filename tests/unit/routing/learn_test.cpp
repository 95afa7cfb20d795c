#include "src/base/limits.hpp"
#include "src/routing/learn.hpp"
#include "src/routing/outcome.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace assay::routing {

namespace {

using namespace std::chrono_literals;
using Catch::Approx;

const auto noon = steady_time{} + 12h;

lesson streamed(
  std::uint32_t input,
  std::uint32_t output,
  std::chrono::microseconds ttft,
  std::chrono::microseconds total,
  std::uint32_t in_flight = 1
) {
  return {
    .input_tokens = input,
    .output_tokens = output,
    .ttft = ttft,
    .total = total,
    .in_flight = in_flight,
  };
}

prediction
foretell(const rates& r, const work& w, steady_time now = noon, std::uint32_t slots = 1) {
  return predict(pace_of(r, slots), w, now);
}

} // namespace

TEST_CASE("what was never seen is unknown, which is not zero") {
  rates r;
  CHECK(r.decode_tokens_per_second.state(noon) == knowledge::unknown);
  CHECK_FALSE(foretell(r, {.input_tokens = 10}).known);
}

TEST_CASE("a rate is fresh until its limit and stale after it") {
  learned l;
  l.learn(5, noon);
  CHECK(l.state(noon + limits::rates_stale) == knowledge::fresh);
  CHECK(l.state(noon + limits::rates_stale + 1ns) == knowledge::stale);
}

TEST_CASE("a stream teaches prefill, decode and throughput") {
  rates r;
  learn(r, streamed(200, 101, 500ms, 2500ms, 3), noon);
  CHECK(r.prefill_tokens_per_second.value == Approx(400));
  CHECK(r.decode_tokens_per_second.value == Approx(50));
  CHECK(r.throughput_tokens_per_second.value == Approx(150));
}

TEST_CASE("cached tokens do not make the prefill look fast") {
  rates r;
  auto l = streamed(1'000, 11, 100ms, 1s);
  l.cached_tokens = 900;
  learn(r, l, noon);
  CHECK(r.prefill_tokens_per_second.value == Approx(1'000));
}

TEST_CASE("a prediction is in seconds and grows with input, output and load") {
  rates r;
  learn(r, streamed(400, 101, 500ms, 2500ms), noon);
  auto base = foretell(r, {.input_tokens = 400, .output_tokens = 100});
  CHECK(base.known);
  CHECK(base.seconds == Approx(2.5));
  CHECK(foretell(r, {.input_tokens = 800, .output_tokens = 100}).seconds == Approx(3.0));
  CHECK(foretell(r, {.input_tokens = 400, .output_tokens = 200}).seconds == Approx(4.5));
  auto busy = foretell(r, {.input_tokens = 400, .output_tokens = 100, .in_flight = 2});
  CHECK(busy.seconds > base.seconds + 1.9);
}

TEST_CASE("a prediction says when it rests on rates that are out of date") {
  rates r;
  learn(r, {.total = 200ms}, noon);
  CHECK_FALSE(foretell(r, {}, noon + limits::rates_stale).stale);
  CHECK(foretell(r, {}, noon + limits::rates_stale + 1ns).stale);
}

TEST_CASE("work without tokens is predicted from its whole time") {
  rates r;
  learn(r, {.total = 200ms}, noon);
  CHECK(foretell(r, {}, noon, 2).seconds == Approx(0.2));
  CHECK(foretell(r, {.in_flight = 2}, noon, 2).seconds == Approx(0.4));
}

TEST_CASE("a mean follows a change and does not jump") {
  learned l;
  for (auto n = 0; n < 100; ++n)
    l.learn(10, noon);
  l.learn(20, noon);
  CHECK(l.value < 11);
  for (auto n = 0; n < 100; ++n)
    l.learn(20, noon);
  CHECK(l.value == Approx(20).epsilon(0.01));
}

TEST_CASE("the gap between contents is learnt of streams that were not held up") {
  rates r;
  auto l = streamed(200, 0, 500ms, 2500ms);
  l.contents = 21;
  learn(r, l, noon);
  CHECK(r.gap_seconds.value == Approx(0.1));
  l.contents = 1;
  learn(r, l, noon);
  l.contents = 500;
  l.held_up = true;
  learn(r, l, noon);
  CHECK(r.gap_seconds.seen == 1);
}

TEST_CASE("until the first sign a stream owes its prefill, and an answer in one piece all of it") {
  rates r;
  CHECK_FALSE(expected_first(pace_of(r, 1), {.input_tokens = 10}, true));
  learn(r, {.total = 3s}, noon); // No stream was seen: the whole time is all that is known.
  CHECK(expected_first(pace_of(r, 1), {.input_tokens = 10}, true) == Approx(3));
  rates streams;
  learn(streams, streamed(400, 101, 1s, 3s), noon);
  CHECK(expected_first(pace_of(streams, 1), {.input_tokens = 800}, true) == Approx(2));
  work whole{.input_tokens = 800, .output_tokens = 100, .in_flight = 50};
  CHECK(expected_first(pace_of(streams, 1), whole, false) == Approx(4));
}

TEST_CASE("what an endpoint finishes in a second follows from its throughput") {
  rates r;
  learn(r, streamed(200, 101, 500ms, 2500ms, 3), noon); // 150 tokens a second, 101 a request.
  CHECK(pace_of(r, 4).completions_per_second == Approx(150.0 / 101));
  rates whole;
  learn(whole, {.total = 2s}, noon);
  CHECK(pace_of(whole, 4).completions_per_second == Approx(2));
  CHECK(pace_of({}, 4).completions_per_second == 0);
}

TEST_CASE("an answer that was held up by its reader teaches prefill alone") {
  rates r;
  auto l = streamed(200, 101, 500ms, 2500ms);
  l.held_up = true;
  learn(r, l, noon);
  CHECK(r.prefill_tokens_per_second.value == Approx(400));
  CHECK(r.output_tokens.value == Approx(101));
  CHECK(r.decode_tokens_per_second.seen == 0);
  CHECK(r.throughput_tokens_per_second.seen == 0);
  CHECK(r.total_seconds.seen == 0);
}

TEST_CASE("of an answer in one piece the usual prefill is no decoding") {
  rates r;
  learn(r, streamed(400, 101, 1s, 3s), noon);
  for (auto n = 0; n < 200; ++n) // One second of prefill, and two for a hundred tokens.
    learn(r, {.input_tokens = 400, .output_tokens = 100, .total = 3s}, noon);
  CHECK(r.decode_tokens_per_second.value == Approx(50));
}

TEST_CASE("a lesson is what the replica took, not what the caller waited") {
  outcome o{.endpoint = {"10.0.0.1:7200", 1}, .queued = 5s, .ttft = 6s, .total = 9s};
  o.replica = {.first = 400ms, .total = 2s};
  o.usage = {.input_tokens = 100, .output_tokens = 50};
  auto l = lesson_of(o);
  REQUIRE(l);
  CHECK(l->ttft == 400ms);
  CHECK(l->total == 2s);
  rates r;
  learn(r, *l, noon);
  CHECK(r.prefill_tokens_per_second.value == Approx(250));
  CHECK(r.total_seconds.value == Approx(2));
}

TEST_CASE("an error's status says whose fault it is") {
  CHECK(ending_of_status(200) == ending::served);
  CHECK(ending_of_status(399) == ending::served);
  CHECK(ending_of_status(400) == ending::rejected);
  CHECK(ending_of_status(401) == ending::failed);
  CHECK(ending_of_status(429) == ending::overloaded);
  CHECK(ending_of_status(499) == ending::rejected);
  CHECK(ending_of_status(500) == ending::failed);
  CHECK(ending_of_status(503) == ending::overloaded);
}

TEST_CASE("errors, cut answers and refusals teach nothing") {
  outcome o{.endpoint = {"10.0.0.1:7200", 1}, .replica = {.total = 1s}};
  CHECK(lesson_of(o));
  o.how = ending::rejected;
  CHECK_FALSE(lesson_of(o));
  o.how = ending::overloaded;
  CHECK_FALSE(lesson_of(o));
  o.how = ending::client_gone;
  CHECK_FALSE(lesson_of(o));
  o.how = ending::served;
  o.status = 400;
  CHECK_FALSE(lesson_of(o));
  o.status = 200;
  o.endpoint = {};
  CHECK_FALSE(lesson_of(o));
}

TEST_CASE("a table forgets endpoints that nothing was learnt about for long") {
  rate_table table;
  auto key = pool::endpoint_key{"10.0.0.1:7200", 1};
  table.learn(key, {.total = 1s}, noon);
  table.sweep(noon + limits::rates_kept);
  CHECK(table.of(key).total_seconds.seen == 1);
  table.sweep(noon + limits::rates_kept + 1ns);
  CHECK(table.of(key).total_seconds.seen == 0);
}

} // namespace assay::routing
