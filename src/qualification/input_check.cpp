#include "src/qualification/input_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace assay::qualification {

namespace {

constexpr std::uint32_t first_words = 8;

check_result result_of(outcome o, std::string why) {
  return {check_kind::input_limit, o, std::move(why)};
}

ask prompt_of(const run_state& run, std::uint32_t words, bool streaming) {
  std::string text;
  text.reserve(words * run.suite.filler.size());
  for (std::uint32_t i = 0; i < words; ++i)
    text += run.suite.filler;
  sampling how;
  how.max_tokens = 1;
  ask a;
  a.body = compose_body(
    run.suite.task,
    run.subject.model,
    {{"user", std::move(text)}},
    how,
    streaming ? R"("stream":true,"stream_options":{"include_usage":true})" : ""
  );
  a.streaming = streaming;
  a.max_tokens = 1;
  a.words = words;
  return a;
}

/// One prompt that was tried: how many words made how many tokens, or that it was refused.
struct sample {
  std::uint32_t words = 0;
  std::optional<std::uint32_t> tokens;
};

/// What all unary prompts so far say about the way to `edge` tokens.
struct calibration {
  std::optional<sample> below; ///< The longest that was answered under the edge.
  std::optional<sample> above; ///< The shortest that is past the edge, or was refused.
  std::optional<sample> exact;
  double tokens_per_word = 1;
  std::string broken; ///< What makes going on pointless.
};

/// Like `read`, but a refusal is a value: no tokens.
result<sample, std::string> sample_of(const run_state& run, const exchange& e) {
  const auto status = e.answer.status;
  if (status >= 400 && status < 500)
    return sample{e.ask.words, {}};
  const auto read = qualification::read(run.suite.task, e);
  if (!read)
    return unexpected{read.error()};
  if (!read->usage)
    return unexpected{std::string{"the answer reports no usage, so no prompt can be measured"}};
  return sample{e.ask.words, read->usage->prompt};
}

void learn(calibration& c, const sample& s, std::uint32_t edge) {
  if (s.tokens == edge) {
    c.exact = s;
    return;
  }
  if (!s.tokens || *s.tokens > edge) {
    if (!c.above || s.words < c.above->words)
      c.above = s;
    return;
  }
  if (c.below && s.words > c.below->words) {
    const auto more = static_cast<double>(*s.tokens) - static_cast<double>(*c.below->tokens);
    c.tokens_per_word = more / (s.words - c.below->words);
    if (more <= 0)
      c.broken = fmt::format(
        "{} words make {} tokens and {} words make {}: the prompt is cut silently",
        c.below->words,
        *c.below->tokens,
        s.words,
        *s.tokens
      );
  }
  if (!c.below || s.words > c.below->words)
    c.below = s;
}

calibration
calibrate(const run_state& run, const std::vector<exchange>& so_far, std::uint32_t edge) {
  calibration c;
  for (const auto& e : so_far) {
    if (e.ask.streaming || c.exact)
      break;
    const auto s = sample_of(run, e);
    if (!s) {
      c.broken = fmt::format("a prompt of {} words: {}", e.ask.words, s.error());
      return c;
    }
    learn(c, *s, edge);
  }
  return c;
}

/// The gap between `below` and `above` is closed and the edge was not hit.
check_result missed(const calibration& c, std::uint32_t edge) {
  const auto next = *c.below->tokens + static_cast<std::uint32_t>(c.tokens_per_word + 0.5);
  if (!c.above->tokens && next <= edge)
    return result_of(
      outcome::fail,
      fmt::format("a prompt of {} tokens is refused though the limit is {}", next, edge)
    );
  return result_of(
    outcome::inconclusive,
    fmt::format(
      "no prompt of exactly {} tokens can be built from the suite's filler, {} is the nearest; "
      "choose a filler that is one token",
      edge,
      *c.below->tokens
    )
  );
}

next_of_check
next_guess(const run_state& run, const calibration& c, std::uint32_t edge, std::size_t tries) {
  if (!c.below && !c.above)
    return prompt_of(run, first_words, false);
  if (!c.below) {
    if (c.above->words <= 1)
      return result_of(
        outcome::fail, fmt::format("the shortest prompt is refused though the limit is {}", edge)
      );
    return prompt_of(run, c.above->words / 2, false);
  }
  if (tries >= calibration_tries)
    return result_of(
      outcome::inconclusive,
      fmt::format(
        "no prompt of exactly {} tokens in {} tries, {} is the nearest",
        edge,
        tries,
        *c.below->tokens
      )
    );
  const auto least = c.below->words + 1;
  auto words =
    c.below->words + static_cast<std::uint32_t>((edge - *c.below->tokens) / c.tokens_per_word);
  if (c.above) {
    if (c.above->words <= least)
      return missed(c, edge);
    if (words >= c.above->words) // The words are dearer than thought: halve the gap instead.
      words = c.below->words + (c.above->words - c.below->words) / 2;
  }
  return prompt_of(run, std::max(words, least), false);
}

/// What the engine did with a prompt one past the edge; empty when that is as it should be.
std::string wrong_past(const run_state& run, const exchange& e, std::uint32_t edge) {
  const auto status = e.answer.status;
  const auto form = e.ask.streaming ? "streamed" : "unary";
  if (status >= 400 && status < 500)
    return {};
  const auto read = qualification::read(run.suite.task, e);
  if (!read && status == 200) // An engine may only learn of it once the stream has begun.
    return {};
  if (!read)
    return fmt::format("one past the limit, {}: {}", form, read.error());
  if (!read->usage || read->usage->prompt <= edge)
    return fmt::format("one past the limit, {}: answered, so the prompt was cut silently", form);
  const auto& limits = run.subject.limits;
  if (limits.context_tokens > 0 && edge + 1 >= limits.context_tokens)
    return fmt::format(
      "one past the limit, {}: answered where no room for an answer is left", form
    );
  return {}; // A declared limit below the engine's own; the engine counted honestly.
}

next_of_check at_and_past(
  const run_state& run, const std::vector<exchange>& after, const sample& exact, std::uint32_t edge
) {
  const bool streaming = run.subject.promises.streaming;
  const std::size_t at = streaming ? 1 : 0;
  if (streaming && after.empty())
    return prompt_of(run, exact.words, true);
  if (streaming && after.size() == 1) {
    const auto read = qualification::read(run.suite.task, after[0]);
    if (!read)
      return result_of(outcome::fail, "at the limit, streamed: " + read.error());
    if (!read->usage || read->usage->prompt != edge)
      return result_of(outcome::fail, "at the limit, streamed: the usage is not the unary one");
  }
  if (after.size() > at)
    if (auto wrong = wrong_past(run, after.back(), edge); !wrong.empty())
      return result_of(outcome::fail, wrong);
  if (after.size() == at)
    return prompt_of(run, exact.words + 1, false);
  if (streaming && after.size() == at + 1)
    return prompt_of(run, exact.words + 1, true);
  return result_of(
    outcome::pass, fmt::format("{} prompt tokens are answered, one more is not cut silently", edge)
  );
}

} // namespace

next_of_check next_of_input_check(const run_state& run, const std::vector<exchange>& so_far) {
  const auto edge = input_edge(run.subject.limits);
  const auto c = calibrate(run, so_far, edge);
  if (!c.broken.empty())
    return result_of(outcome::fail, c.broken);
  if (!c.exact)
    return next_guess(run, c, edge, so_far.size());
  const auto hit = std::find_if(so_far.begin(), so_far.end(), [&](const exchange& e) {
    return !e.ask.streaming && e.ask.words == c.exact->words;
  });
  return at_and_past(run, {hit + 1, so_far.end()}, *c.exact, edge);
}

} // namespace assay::qualification
