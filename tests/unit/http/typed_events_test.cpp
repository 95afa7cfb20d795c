// Streams whose events have types: Anthropic's messages and OpenAI's responses.

#include "src/http/reply.hpp"
#include "src/http/sse.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include <string>

using namespace assay;
using namespace assay::http;
using contract::api_family;

namespace {

stream_facts facts_of(api_family family, const std::string& events) {
  answer_reader reader;
  sse_observer observer{reader, family};
  CHECK(observer.release(events) == events.size());
  return observer.facts();
}

stream_facts after_message(const std::string& data) {
  return facts_of(api_family::anthropic, "event: x\ndata: " + data + "\n\n");
}

stream_facts after_response(const std::string& data) {
  return facts_of(api_family::responses, "event: x\ndata: " + data + "\n\n");
}

} // namespace

TEST_CASE("text, thinking and arguments are a message's content, and nothing else is") {
  struct row {
    std::string data;
    bool content;
  };
  auto [data, content] = GENERATE(
    row{R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}})", true},
    row{R"({"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"a"}})", true},
    row{R"({"type":"content_block_delta","delta":{"partial_json":"{"}})", true},
    row{R"({"type":"content_block_start","content_block":{"type":"tool_use","name":"t"}})", true},
    row{R"({"type":"content_block_start","content_block":{"type":"text","text":""}})", false},
    row{R"({"type":"content_block_delta","delta":{"type":"text_delta","text":""}})", false},
    row{R"({"type":"message_start","message":{"role":"assistant","content":[]}})", false},
    row{R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})", false},
    row{R"({"type":"ping"})", false},
    row{R"({"type":"content_block_delta","delta":7})", false},
    row{R"({"type":"content_block_delta","delta":null})", false},
    row{R"([1])", false}
  );
  INFO(data);
  CHECK(after_message(data).content == content);
}

TEST_CASE("a message ends with message_stop, not with a stop reason or with a word in its text") {
  CHECK(after_message(R"({"type":"message_stop"})").done);
  auto open = GENERATE(
    R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}})",
    R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"message_stop"}})",
    R"({"type":"content_block_delta","delta":{"type":"message_stop","text":"a"}})",
    R"({"type":["message_stop"]})",
    R"({"type":"ping"})"
  );
  INFO(open);
  CHECK_FALSE(after_message(open).done);
  CHECK_FALSE(after_message(open).finish);
}

TEST_CASE("a message's usage is gathered from its start and its last delta") {
  auto facts = facts_of(
    api_family::anthropic,
    "event: message_start\ndata: "
    "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":"
    "{\"input_tokens\":10,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":5,"
    "\"output_tokens\":1}}}\n\n"
    "event: message_delta\ndata: "
    "{\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":7}}\n\n"
  );
  CHECK(facts.usage == token_usage{18, 7, 5});
  CHECK(facts.subject == "msg_1");
}

TEST_CASE("an error event is an error in each family, and null is none") {
  CHECK(after_message(R"({"type":"error","error":{"type":"overloaded_error"}})").error);
  CHECK(facts_of(api_family::anthropic, "event: error\ndata: {}\n\n").error);
  CHECK(after_response(R"({"type":"error","code":"x","message":"m"})").error);
  CHECK(after_response(R"({"type":"response.failed","response":{"error":{"code":"x"}}})").error);
  CHECK_FALSE(after_response(R"({"type":"response.created","response":{"error":null}})").error);
}

TEST_CASE("a response's text is its content, and its last event is its end") {
  CHECK(after_response(R"({"type":"response.output_text.delta","delta":"a"})").content);
  CHECK(after_response(R"({"type":"response.function_call_arguments.delta","delta":"{"})").content);
  CHECK_FALSE(after_response(R"({"type":"response.output_text.delta","delta":""})").content);
  CHECK_FALSE(after_response(R"({"type":"response.in_progress","response":{}})").content);
  auto last = GENERATE("response.completed", "response.incomplete", "response.failed");
  CHECK(after_response(R"({"type":")" + std::string{last} + R"("})").done);
  CHECK_FALSE(after_response(R"({"type":"response.output_text.done"})").done);
}

TEST_CASE("a response's usage, id and last number are kept") {
  auto facts = facts_of(
    api_family::responses,
    "data: "
    "{\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\"}}\n\n"
    "data: "
    "{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"usage\":{\"input_tokens\":"
    "9,"
    "\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":2}},\"sequence_number\":12}"
    "\n\n"
  );
  CHECK(facts.subject == "resp_1");
  CHECK(facts.sequence == 12u);
  CHECK(facts.usage == token_usage{9, 2, 4});
  auto named = [](std::size_t size) {
    return R"({"response":{"id":")" + std::string(size, 'x') + R"("}})";
  };
  CHECK(after_response(named(128)).subject.size() == 128);
  CHECK(after_response(named(129)).subject.empty());
}

TEST_CASE("a chat's events are not read for types") {
  auto facts = facts_of(
    api_family::openai, "data: {\"type\":\"message_stop\",\"delta\":\"a\",\"choices\":[]}\n\n"
  );
  CHECK_FALSE(facts.done);
  CHECK_FALSE(facts.content);
}

TEST_CASE("a cut stream ends in the words of its family") {
  auto why = contract::failure::upstream_disconnected;
  CHECK(
    write_error_event(why, "it \"broke\"", {api_family::anthropic, "req-1", "msg_1", 0})
    == "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":"
       "\"it \\\"broke\\\"\"},\"request_id\":\"req-1\"}\n\n"
  );
  CHECK(
    write_error_event(why, "it broke", {api_family::responses, "req-1", "resp_\"1", 13})
    == "event: response.failed\ndata: "
       "{\"type\":\"response.failed\",\"sequence_number\":13,\"response\":"
       "{\"id\":\"resp_\\\"1\",\"object\":\"response\",\"status\":\"failed\",\"output\":[],"
       "\"error\":"
       "{\"code\":\"upstream_disconnected\",\"message\":\"it broke\"}}}\n\n"
  );
}

TEST_CASE("a refusal has Anthropic's body for Anthropic's clients, and a full house their status") {
  reply_terms terms{.request_id = "req-1", .family = api_family::anthropic};
  struct row {
    contract::failure failure;
    std::string line;
    std::string type;
  };
  auto [failure, line, type] = GENERATE(
    row{contract::failure::invalid_api_key, "HTTP/1.1 401 Unauthorized", "authentication_error"},
    row{contract::failure::model_not_allowed, "HTTP/1.1 403 Forbidden", "permission_error"},
    row{contract::failure::model_not_found, "HTTP/1.1 404 Not Found", "not_found_error"},
    row{contract::failure::invalid_request, "HTTP/1.1 400 Bad Request", "invalid_request_error"},
    row{
      contract::failure::request_too_large, "HTTP/1.1 413 Content Too Large", "request_too_large"},
    row{contract::failure::rate_limited, "HTTP/1.1 429 Too Many Requests", "rate_limit_error"},
    row{contract::failure::no_capacity, "HTTP/1.1 529 Overloaded", "overloaded_error"},
    row{contract::failure::upstream_error, "HTTP/1.1 502 Bad Gateway", "api_error"}
  );
  auto text = write_refusal({failure, "why", "param", 3, {}}, terms);
  INFO(text);
  CHECK(text.starts_with(line + "\r\n"));
  CHECK(text.ends_with(
    R"({"type":"error","error":{"type":")" + type + R"(","message":"why"},"request_id":"req-1"})"
  ));
  auto may_wait =
    failure == contract::failure::no_capacity || failure == contract::failure::rate_limited;
  CHECK((text.find("retry-after: 3\r\n") != text.npos) == may_wait);
}
