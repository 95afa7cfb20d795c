#include "src/qualification/checks.hpp"

#include "src/qualification/input_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::qualification {

namespace {

using history = std::vector<exchange>;

constexpr std::uint32_t short_answer = 8;
constexpr std::uint32_t capped_answer = 8;
constexpr std::uint32_t long_answer = 512;

struct wish {
  std::string text;
  std::uint32_t max_tokens = short_answer;
  bool streaming = false;
  std::string extra;
};

ask make(const run_state& run, wish w) {
  sampling how;
  how.max_tokens = w.max_tokens;
  if (w.streaming)
    w.extra = R"("stream":true,"stream_options":{"include_usage":true})";
  ask a;
  a.body =
    compose_body(run.suite.task, run.subject.model, {{"user", std::move(w.text)}}, how, w.extra);
  a.streaming = w.streaming;
  a.max_tokens = w.max_tokens;
  return a;
}

check_result passed(std::string why) {
  return {{}, outcome::pass, std::move(why)};
}

check_result failed(std::string why) {
  return {{}, outcome::fail, std::move(why)};
}

bool is_refusal(const answer& a) {
  return a.status >= 400 && a.status < 500 && !is_unavailable(a.status);
}

next_of_check unary_schema(const run_state& run, const history& so_far) {
  if (so_far.empty())
    return make(run, {"Say hello."});
  const auto read = qualification::read(run.suite.task, so_far.back());
  if (!read)
    return failed(read.error());
  return passed("one choice with text and finish reason " + read->finish_reason);
}

next_of_check streaming_schema(const run_state& run, const history& so_far) {
  if (!run.subject.promises.streaming)
    return passed("the contract promises no streaming");
  if (so_far.empty())
    return make(run, {.text = "Say hello.", .streaming = true});
  const auto read = qualification::read(run.suite.task, so_far.back());
  if (!read)
    return failed(read.error());
  return passed("events parse, finish reason " + read->finish_reason + ", [DONE] last");
}

/// Empty when the usage is as promised.
std::string wrong_usage(const run_state& run, const exchange& e) {
  const auto form = e.ask.streaming ? "streamed" : "unary";
  const auto read = qualification::read(run.suite.task, e);
  if (!read)
    return fmt::format("{}: {}", form, read.error());
  if (!read->usage)
    return fmt::format("the {} answer reports no usage", form);
  const auto& u = *read->usage;
  if (u.prompt == 0 || u.total != u.prompt + u.completion)
    return fmt::format(
      "the {} usage does not add up: {} prompt, {} completion, {} total",
      form,
      u.prompt,
      u.completion,
      u.total
    );
  return {};
}

next_of_check usage(const run_state& run, const history& so_far) {
  if (!so_far.empty())
    if (auto wrong = wrong_usage(run, so_far.back()); !wrong.empty())
      return failed(wrong);
  if (so_far.empty())
    return make(run, {"Say hello."});
  if (so_far.size() == 1 && run.subject.promises.streaming)
    return make(run, {.text = "Say hello.", .streaming = true});
  return passed("prompt and completion tokens are reported and add up");
}

/// What may be asked for: the declared limit, else half of the context; 0 when neither is there.
std::uint32_t output_edge(const contract::request_limits& limits) {
  return limits.output_tokens > 0 ? limits.output_tokens : limits.context_tokens / 2;
}

/// Empty when no more than `most` tokens came.
std::string over_output(const run_state& run, const exchange& e, std::uint32_t most) {
  const auto read = qualification::read(run.suite.task, e);
  if (!read)
    return fmt::format("asked for {} tokens: {}", e.ask.max_tokens, read.error());
  if (!read->usage)
    return "the answer reports no usage";
  if (read->usage->completion > most)
    return fmt::format("at most {} tokens are allowed and {} came", most, read->usage->completion);
  return {};
}

next_of_check output_limit(const run_state& run, const history& so_far) {
  const auto edge = output_edge(run.subject.limits);
  const bool past = so_far.size() == 3;
  if (past && is_refusal(so_far.back().answer))
    return passed(fmt::format("kept at {}; {} tokens are refused", capped_answer, edge + 1));
  if (!so_far.empty()) {
    const auto most = so_far.size() == 1 ? capped_answer : edge;
    if (auto wrong = over_output(run, so_far.back(), most); !wrong.empty())
      return failed(wrong);
  }
  if (so_far.empty())
    return make(run, {"Count from 1 to 100.", capped_answer});
  if (so_far.size() == 1 && edge > 0)
    return make(run, {"Answer with the one word yes.", edge});
  if (so_far.size() == 2 && run.subject.limits.output_tokens > 0)
    return make(run, {"Answer with the one word yes.", edge + 1});
  return passed(fmt::format("kept at {}; {} tokens may be asked for", capped_answer, edge));
}

next_of_check cancellation(const run_state& run, const history& so_far) {
  if (!run.subject.promises.cancellation || !run.subject.promises.streaming)
    return passed("the contract promises no cancellation");
  const auto streams = streams_to_leave(run.subject.slots);
  if (so_far.size() <= streams && !so_far.empty() && so_far.back().answer.status != 200)
    return failed(fmt::format("a stream to be left was answered {}", so_far.back().answer.status));
  if (so_far.size() < streams) {
    const auto edge = output_edge(run.subject.limits);
    auto a = make(
      run,
      {.text = "Write a very long story about the sea.",
       .max_tokens = edge == 0 ? long_answer : std::min(edge, long_answer),
       .streaming = true}
    );
    a.leave_at_first_content = true;
    return a;
  }
  if (so_far.size() == streams) {
    auto a = make(run, {"Say hello.", 1});
    a.deadline = run.suite.frees_within;
    a.silence_is_answer = true;
    return a;
  }
  const auto& last = so_far.back().answer;
  if (last.status != 200)
    return failed(fmt::format(
      "after {} streams were left there was no answer within {} ms: slots are not freed",
      streams,
      run.suite.frees_within.count()
    ));
  return passed(
    fmt::format("{} streams left, the next answer after {} ms", streams, last.times.total_ms)
  );
}

next_of_check unknown_field(const run_state& run, const history& so_far) {
  if (so_far.empty())
    return make(run, {.text = "Say hello.", .extra = R"("assay_unknown_field":{"probe":true})"});
  const auto read = qualification::read(run.suite.task, so_far.back());
  if (!read)
    return failed("with a member that nobody knows: " + read.error());
  return passed("a member that nobody knows is tolerated");
}

next_of_check error_shape(const run_state& run, const history& so_far) {
  if (so_far.empty()) {
    auto a = make(run, {"Say hello."});
    const auto wrong = run.suite.task == contract::task::chat ? R"("messages":"no list")"
                                                              : R"("prompt":{"no":"text"})";
    a.body = fmt::format(R"({{"model":"{}",{}}})", run.subject.model, wrong);
    return a;
  }
  const auto& a = so_far.back().answer;
  if (!is_refusal(a))
    return failed(fmt::format("a request without a usable prompt got status {}", a.status));
  const auto message = read_error(a.body);
  if (!message)
    return failed(fmt::format("status {}: {}", a.status, message.error()));
  return passed(fmt::format("status {}, \"{}\"", a.status, message->substr(0, 80)));
}

next_of_check next_by_kind(check_kind kind, const run_state& run, const history& so_far) {
  switch (kind) {
  case check_kind::unary_schema:
    return unary_schema(run, so_far);
  case check_kind::streaming_schema:
    return streaming_schema(run, so_far);
  case check_kind::usage:
    return usage(run, so_far);
  case check_kind::output_limit:
    return output_limit(run, so_far);
  case check_kind::input_limit:
    return next_of_input_check(run, so_far);
  case check_kind::cancellation:
    return cancellation(run, so_far);
  case check_kind::unknown_field:
    return unknown_field(run, so_far);
  case check_kind::error_shape:
    return error_shape(run, so_far);
  }
  return failed("there is no such check");
}

std::uint32_t capped(std::uint32_t value, std::uint32_t most) {
  return most == 0 ? value : std::min(value, most);
}

} // namespace

next_of_check next_of(check_kind kind, const run_state& run, const std::vector<exchange>& so_far) {
  auto next = next_by_kind(kind, run, so_far);
  if (auto* found = std::get_if<check_result>(&next))
    found->kind = kind;
  return next;
}

std::uint32_t input_edge(const contract::request_limits& limits) {
  const auto by_context = limits.context_tokens > 0 ? limits.context_tokens - 1 : 0;
  return limits.input_tokens > 0 ? capped(limits.input_tokens, by_context) : by_context;
}

std::uint32_t streams_to_leave(std::uint32_t slots) {
  return std::min(slots, 8U) + 1;
}

void grow(envelope& e, const subject& who, const exchange& shown, const reading& read) {
  e.task = who.promises.task;
  (shown.ask.streaming ? e.streaming : e.unary) = true;
  const auto& limits = who.limits;
  if (read.usage)
    e.input_tokens = std::max(e.input_tokens, capped(read.usage->prompt, input_edge(limits)));
  e.output_tokens = std::max(e.output_tokens, capped(shown.ask.max_tokens, output_edge(limits)));
}

} // namespace assay::qualification
