// The observer never lets half an event out, and reads the same wherever the bytes are split.

#include "src/base/limits.hpp"
#include "src/http/sse.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include <string>
#include <vector>

using namespace assay;
using namespace assay::http;

namespace {

/// Feeds `pieces` and keeps what was released, as the relay does.
struct stream {
  answer_reader reader;
  sse_observer observer{reader};
  std::string window;
  std::string sent;

  void feed(std::string_view piece) {
    window += piece;
    auto size = observer.release(window);
    REQUIRE(size <= window.size());
    sent += window.substr(0, size);
    window.erase(0, size);
  }
  const stream_facts& facts() const { return observer.facts(); }
};

std::string content(std::string_view text) {
  return R"(data: {"choices":[{"index":0,"delta":{"content":")" + std::string{text} + "\"}}]}\n\n";
}

} // namespace

TEST_CASE("an answer reads the same however it is split") {
  std::string all =
    ": hello\r\n\r\n"
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\r\n\r\n"
    "data:{\"choices\":[{\"delta\":{\"content\":\"\xc3\xa9\"}}]}\n\n"
    "data: {\"choices\":\rdata: [{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\r"
    "event: x\nid: 1\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
    "\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_tokens\":1}}}\n\n"
    "data: [DONE]\n\n";
  for (std::size_t first = 0; first <= all.size(); ++first)
    for (auto second : {first, (first + all.size()) / 2, all.size()}) {
      stream s;
      s.feed(all.substr(0, first));
      s.feed(all.substr(first, second - first));
      s.feed(all.substr(second));
      REQUIRE(s.sent == all);
      REQUIRE(s.facts().events == 5);
      REQUIRE(s.facts().content_events == 1);
      REQUIRE(s.facts().done);
      REQUIRE(s.facts().finish);
      REQUIRE_FALSE(s.facts().error);
      REQUIRE(s.facts().usage == token_usage{3, 2, 1});
    }
}

TEST_CASE("bytes arriving one by one leave in whole events") {
  auto all = content("a") + ": ping\n\n" + content("b");
  stream s;
  for (auto c : all) {
    s.feed(std::string_view{&c, 1});
    auto whole = s.sent.empty() || s.sent.ends_with("\n\n");
    REQUIRE(whole);
  }
  CHECK(s.sent == all);
}

TEST_CASE("an incomplete last event is held back") {
  stream s;
  s.feed(content("a") + "data: {\"choi");
  CHECK(s.sent == content("a"));
  CHECK_FALSE(s.observer.inside_event());
}

TEST_CASE("the largest held event stays whole and a larger one streams through") {
  auto event = "data: " + std::string(limits::event_bytes - 6, 'x');
  stream held;
  held.feed(event);
  CHECK(held.sent.empty());
  CHECK_FALSE(held.observer.inside_event());
  stream through;
  through.feed(event + "x");
  CHECK(through.sent == event + "x");
  CHECK(through.observer.inside_event());
  through.feed("more\n");
  CHECK(through.observer.inside_event());
  through.feed("\n" + content("b") + "data: half");
  CHECK_FALSE(through.observer.inside_event());
  CHECK(through.sent == event + "xmore\n\n" + content("b"));
  CHECK(through.facts().events == 2);
  CHECK(through.facts().content);
}

TEST_CASE("[DONE] counts only as the whole data of an event") {
  stream s;
  s.feed(content("[DONE]"));
  s.feed("data: [DONE] \n\n");
  s.feed("data: x\ndata: [DONE]\n\n");
  s.feed(": [DONE]\n\n");
  CHECK_FALSE(s.facts().done);
  s.feed("data:[DONE]\n\n");
  CHECK(s.facts().done);
}

TEST_CASE("a role, null or empty text is not content") {
  auto delta = GENERATE(
    R"({"role":"assistant"})",
    R"({"role":"assistant","content":null})",
    R"({"role":"assistant","content":""})",
    R"({"tool_calls":[]})",
    R"({})"
  );
  stream s;
  s.feed("data: {\"choices\":[{\"delta\":" + std::string{delta} + ",\"finish_reason\":null}]}\n\n");
  CHECK(s.facts().events == 1);
  CHECK_FALSE(s.facts().content);
  CHECK_FALSE(s.facts().finish);
}

TEST_CASE("text, reasoning and tool calls are content") {
  auto delta = GENERATE(
    R"({"content":"a"})",
    R"({"reasoning_content":"a"})",
    R"({"content":null,"tool_calls":[{"index":0}]})"
  );
  stream s;
  s.feed("data: {\"choices\":[{\"delta\":" + std::string{delta} + "}]}\n\n");
  CHECK(s.facts().content);
}

TEST_CASE("an error event is an error even when [DONE] follows") {
  auto event = GENERATE(
    "data: {\"error\":{\"message\":\"x\"}}\n\n",
    "data: {\"error\":\"x\"}\n\n",
    "event: error\ndata: {}\n\n",
    "data: {\"object\":\"error\",\"message\":\"x\"}\n\n"
  );
  stream s;
  s.feed(content("a"));
  s.feed(event);
  s.feed("data: [DONE]\n\n");
  CHECK(s.facts().error);
  CHECK(s.facts().done);
}

TEST_CASE("the word error inside the text, and an error that is null, are none") {
  stream s;
  s.feed(content("\\\"error\\\": 1"));
  s.feed("data: {\"error\":null,\"choices\":[]}\n\n");
  CHECK_FALSE(s.facts().error);
}

TEST_CASE("usage that is null, empty or partial does not hide the last stated one") {
  stream s;
  s.feed("data: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n");
  s.feed("data: {\"usage\":null}\n\n");
  s.feed("data: {\"usage\":{}}\n\n");
  CHECK(s.facts().usage == token_usage{3, 1, 0});
  s.feed("data: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n");
  CHECK(s.facts().usage == token_usage{3, 2, 0});
}

TEST_CASE("events that are no JSON pass and say nothing") {
  stream s;
  s.feed("data: \n\ndata: [1]\n\ndata: {\"choices\":7}\n\ndata: {\"choices\":[{\"delta\":\n\n");
  CHECK(s.facts().events == 4);
  CHECK_FALSE(s.facts().content);
}

TEST_CASE("the facts of an answer in one piece are read from its body") {
  answer_reader reader;
  stream_facts facts;
  std::string body = R"({"choices":[{"message":{"content":"Paris"},"finish_reason":"stop"}],)"
                     R"("usage":{"prompt_tokens":9,"completion_tokens":1}})";
  reader.look_into(body, facts);
  CHECK(facts.content);
  CHECK(facts.finish);
  CHECK(facts.usage == token_usage{9, 1, 0});
}
