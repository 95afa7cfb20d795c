#pragma once
// An engine made of a few rules, to run suites against: it counts a token per word and can be given
// one fault at a time.

#include "src/qualification/exchange.hpp"
#include "src/qualification/run.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <functional>
#include <string>

namespace assay::qualification::test {

struct fake_engine {
  std::uint32_t context = 64;
  std::uint32_t overhead = 10; ///< Tokens of the chat template.
  std::uint32_t tokens_per_word = 1;
  std::function<std::string(const std::string& question)> answers = [](const std::string& q) {
    return "about " + q;
  };
  // Faults.
  bool cuts_prompts = false;
  bool lies_about_usage = false;
  bool omits_usage = false;
  bool omits_done = false;
  bool ignores_max_tokens = false;
  bool refuses_unknown_fields = false;
  bool answers_nonsense_requests = false;
  bool plain_errors = false;
  bool error_event_then_done = false;
  bool leaks_slots = false;
  int status = 0; ///< If set, the answer to everything.

  std::uint32_t leaked = 0;
  std::uint32_t asked = 0;

  /// Nothing: it does not answer at all.
  std::optional<answer> operator()(const ask& a) {
    ++asked;
    if (status != 0)
      return error(status, "out of order");
    if (leaks_slots && !a.leave_at_first_content && leaked > 0)
      return std::nullopt;
    const auto body = boost::json::parse(a.body).as_object();
    const auto* messages = body.at("messages").if_array();
    if (!messages)
      return answers_nonsense_requests ? unary("fine", 5, 1) : error(400, "'messages' is no list");
    if (refuses_unknown_fields && body.contains("assay_unknown_field"))
      return error(400, "unknown field");
    const std::string question{messages->back().as_object().at("content").as_string()};
    const auto words =
      static_cast<std::uint32_t>(std::count(question.begin(), question.end(), ' '));
    auto prompt = overhead + words * tokens_per_word;
    if (prompt >= context && !cuts_prompts)
      return error(400, "the prompt is too long");
    prompt = std::min(prompt, context - 1);
    const auto most = body.at("max_tokens").to_number<std::uint32_t>();
    const auto tokens = ignores_max_tokens ? most + 5 : std::min(most, 3U);
    if (!a.streaming)
      return unary(answers(question), prompt, tokens);
    leaked += leaks_slots && a.leave_at_first_content ? 1 : 0;
    return stream(answers(question), prompt, tokens);
  }

private:
  answer error(int code, const std::string& why) const {
    return {code, plain_errors ? why : R"({"error":{"message":")" + why + R"("}})"};
  }

  std::string usage(std::uint32_t prompt, std::uint32_t tokens) const {
    if (omits_usage)
      return {};
    const auto total = prompt + tokens + (lies_about_usage ? 1 : 0);
    return R"(,"usage":{"prompt_tokens":)" + std::to_string(prompt) + R"(,"completion_tokens":)"
           + std::to_string(tokens) + R"(,"total_tokens":)" + std::to_string(total) + "}";
  }

  static std::string in_quotes(const std::string& text) {
    return boost::json::serialize(boost::json::string{text});
  }

  answer unary(const std::string& text, std::uint32_t prompt, std::uint32_t tokens) const {
    return {
      200,
      R"({"object":"chat.completion","choices":[{"message":{"content":)" + in_quotes(text)
        + R"(},"finish_reason":"stop"}])" + usage(prompt, tokens) + "}",
    };
  }

  answer stream(const std::string& text, std::uint32_t prompt, std::uint32_t tokens) const {
    const std::string head = R"(data: {"object":"chat.completion.chunk","choices":)";
    std::string events =
      head + R"([{"delta":{"role":"assistant","content":null},"finish_reason":null}]})";
    events +=
      "\r\n\r\n: a comment\n\n" + head + R"([{"delta":{"content":)" + in_quotes(text) + "}}]}\n\n";
    if (error_event_then_done)
      return {200, events + "data: {\"error\":{\"message\":\"worker died\"}}\n\ndata: [DONE]\n\n"};
    events += head + R"([{"delta":{},"finish_reason":"stop"}]})" + "\n\n";
    events += head + "[]" + usage(prompt, tokens) + "}\n\n";
    return {200, events + (omits_done ? "" : "data: [DONE]\n\n")};
  }
};

/// Runs to the end; every ask is answered by `engine`, or is told to be silent.
struct ran {
  run_state last;
  std::optional<decided> verdict;
  std::string evidence;
  std::vector<ask> asks;
  std::vector<std::chrono::milliseconds> delays;
};

template <class Engine>
ran run_all(run_state start, Engine& engine) {
  ran all;
  auto s = step(std::move(start), begin{});
  for (int i = 0; i < 1'000 && !all.verdict; ++i) {
    std::optional<ask> next;
    for (auto& effect : s.effects) {
      if (auto* e = std::get_if<send>(&effect)) {
        next = e->what;
        all.delays.push_back(e->delay);
      } else if (auto* stored = std::get_if<store_evidence>(&effect)) {
        all.evidence = stored->bytes;
      } else if (auto* end = std::get_if<decided>(&effect)) {
        all.verdict = *end;
      }
    }
    if (!next)
      break;
    all.asks.push_back(*next);
    auto got = engine(*next);
    s = got ? step(std::move(s.next), answered{next->number, *got})
            : step(std::move(s.next), not_answered{next->number, "timed out"});
  }
  all.last = std::move(s.next);
  return all;
}

} // namespace assay::qualification::test
