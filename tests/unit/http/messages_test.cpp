// Anthropic's messages and OpenAI's responses: passed through to replicas that offer them, with
// errors and ends in the words of each.

#include "tests/unit/http/doors_fixture.hpp"

#include <catch2/generators/catch_generators_all.hpp>

using namespace assay;
using namespace assay::tests;
using contract::operation;
using contract::task;

namespace {

constexpr std::string_view ask_message =
  R"({"model":"small","max_tokens":9,"messages":[{"role":"user","content":"hi"}]})";
constexpr std::string_view ask_stream =
  R"({"model":"small","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]})";
constexpr std::string_view ask_response = R"({"model":"small","input":"hi","stream":true})";
constexpr std::string_view message =
  R"({"id":"msg_1","type":"message","content":[{"type":"text","text":"Paris"}],"usage":{"input_tokens":9,"output_tokens":2}})";

std::string event(const std::string& type, const std::string& more) {
  return "event: " + type + "\ndata: {\"type\":\"" + type + "\"" + more + "}\n\n";
}

std::string message_events() {
  return event(
           "message_start",
           R"(,"message":{"id":"msg_1","usage":{"input_tokens":9,"output_tokens":1}})"
         )
         + event("ping", "")
         + event("content_block_delta", R"(,"delta":{"type":"text_delta","text":"Pa"})");
}

std::string message_end() {
  return event(
           "message_delta", R"(,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2})"
         )
         + event("message_stop", "");
}

std::string response_events() {
  return event("response.created", R"(,"sequence_number":0,"response":{"id":"resp_1"})")
         + event("response.output_text.delta", R"(,"sequence_number":1,"delta":"Pa")");
}

std::string response_end() {
  return event(
    "response.completed",
    R"(,"sequence_number":2,"response":{"id":"resp_1","usage":{"input_tokens":9,"output_tokens":2}})"
  );
}

struct messaging : serving {
  explicit messaging(mock_upstream::script script)
    : serving{
      task::chat,
      std::move(script),
      {operation::messages, operation::count_tokens, operation::responses}} {}
};

mock_upstream::script streams(std::string events) {
  return answers(stream_head() + chunk(events) + std::string{last_chunk});
}

mock_upstream::script cut_after(std::string events) {
  return [events = std::move(events)](mock_peer& peer, const mock_request&) {
    peer.send(stream_head() + chunk(events));
    peer.close();
  };
}

} // namespace

TEST_CASE("a message passes both ways as it is, with its query and its version") {
  messaging w{answers(json_answer(message))};
  auto answer = w.ask(
    "/v1/messages?beta=true", ask_message, "anthropic-version: 2026-10-21\r\nanthropic-beta: x\r\n"
  );
  CHECK(body_of(answer) == message);
  auto sent = w.replica.requests()[0];
  CHECK(sent.head.starts_with("POST /v1/messages?beta=true HTTP/1.1\r\n"));
  CHECK(sent.head.find("anthropic-version: 2026-10-21\r\n") != std::string::npos);
  CHECK(sent.head.find("anthropic-beta: x\r\n") != std::string::npos);
  CHECK(sent.head.find("Bearer replica-secret") != std::string::npos);
  CHECK(sent.body == ask_message);
  auto o = w.outcome();
  CHECK(o.usage.input_tokens == 9);
  CHECK(o.usage.output_tokens == 2);
}

TEST_CASE("the key of a message comes as x-api-key, too, and never reaches the replica") {
  messaging w{answers(json_answer(message))};
  raw_client client{w.ingress.port()};
  client.send(
    "POST /v1/messages HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-api-key: "
    + std::string{test_key} + "\r\nContent-Length: " + std::to_string(ask_message.size())
    + "\r\n\r\n" + std::string{ask_message}
  );
  CHECK(status_of(client.read_all()) == 200);
  CHECK(w.replica.requests()[0].head.find(test_key) == std::string::npos);
}

TEST_CASE("tokens are counted by the replica") {
  messaging w{answers(json_answer(R"({"input_tokens":9})"))};
  auto answer =
    w.ask("/v1/messages/count_tokens", R"({"model":"small","messages":[{"content":"hi"}]})");
  CHECK(body_of(answer) == R"({"input_tokens":9})");
  CHECK(w.replica.requests()[0].head.starts_with("POST /v1/messages/count_tokens "));
}

TEST_CASE("a whole stream is served: message_stop and response.completed need no [DONE]") {
  struct row {
    std::string path;
    std::string_view body;
    std::string events;
  };
  auto [path, body, events] = GENERATE(
    row{"/v1/messages", ask_stream, message_events() + message_end()},
    row{"/v1/messages", ask_stream, message_events() + message_end() + std::string{done_event}},
    row{"/v1/responses", ask_response, response_events() + response_end()}
  );
  messaging w{streams(events)};
  CHECK(dechunked(body_of(w.ask(path, body))) == events);
  auto o = w.outcome();
  CHECK(o.how == routing::ending::served);
  CHECK(o.ttft.has_value());
  CHECK(o.usage.input_tokens == 9);
  CHECK(o.usage.output_tokens == 2);
}

TEST_CASE("a stream that is cut ends in its family's own error event") {
  SECTION("of messages") {
    messaging w{cut_after(message_events())};
    auto got = dechunked(body_of(w.ask("/v1/messages", ask_stream)));
    CHECK(got.starts_with(
      message_events() + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\""
    ));
    CHECK(got.find("message_stop") == got.npos);
    CHECK(w.outcome().how == routing::ending::failed);
  }
  SECTION("of responses, with the next number and the response's id") {
    messaging w{cut_after(response_events())};
    auto got = dechunked(body_of(w.ask("/v1/responses", ask_response)));
    CHECK(got.starts_with(
      response_events()
      + "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":2,"
        "\"response\":{\"id\":\"resp_1\""
    ));
    CHECK(w.outcome().how == routing::ending::failed);
  }
  SECTION("also when the transfer is whole but the message is not") {
    messaging w{streams(message_events())};
    auto got = dechunked(body_of(w.ask("/v1/messages", ask_stream)));
    CHECK(got.starts_with(message_events() + "event: error\n"));
  }
}

TEST_CASE("a replica's error event passes and counts as a failure") {
  struct row {
    std::string path;
    std::string_view body;
    std::string events;
  };
  auto [path, body, events] = GENERATE(
    row{
      "/v1/messages",
      ask_stream,
      message_events() + event("error", R"(,"error":{"type":"overloaded_error","message":"m"})")},
    row{
      "/v1/responses",
      ask_response,
      response_events() + event("response.failed", R"(,"response":{"error":{"code":"x"}})")}
  );
  messaging w{streams(events)};
  CHECK(dechunked(body_of(w.ask(path, body))) == events);
  CHECK(w.outcome().how == routing::ending::failed);
}

TEST_CASE("a refusal of a message is Anthropic's, whichever step refuses") {
  messaging w{answers(json_answer(message))};
  struct row {
    std::string request;
    int status;
    std::string type;
  };
  auto post = [](std::string_view body, std::string_view key = test_key) {
    return "POST /v1/messages HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer "
           + std::string{key} + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n"
           + std::string{body};
  };
  auto [request, status, type] = GENERATE_COPY(
    row{post(ask_message, "sk-nobody"), 401, "authentication_error"},
    row{post(R"({"model":"none","max_tokens":1})"), 404, "not_found_error"},
    row{post(R"({"model":"small"})"), 400, "invalid_request_error"},
    row{post("no JSON"), 400, "invalid_request_error"},
    row{
      "GET /v1/messages HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      405,
      "invalid_request_error"}
  );
  raw_client client{w.ingress.port()};
  client.send(request);
  auto answer = client.read_all();
  CHECK(status_of(answer) == status);
  auto start = R"({"type":"error","error":{"type":")" + type + "\"";
  CHECK(body_of(answer).starts_with(start));
  CHECK(
    body_of(answer).find(
      "\"request_id\":\"" + std::string{header_of(answer, "x-request-id")} + "\""
    )
    != std::string_view::npos
  );
  CHECK(w.replica.requests().empty());
}

TEST_CASE("a replica's own error passes as it is, and text that is no JSON is put into words") {
  SECTION("JSON") {
    auto own = R"({"type":"error","error":{"type":"invalid_request_error","message":"m"}})";
    messaging w{answers(json_answer(own, "400 Bad Request"))};
    auto answer = w.ask("/v1/messages", ask_message);
    CHECK(status_of(answer) == 400);
    CHECK(body_of(answer) == own);
  }
  SECTION("text") {
    messaging w{answers(
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\noops"
    )};
    auto answer = w.ask("/v1/messages", ask_message);
    CHECK(body_of(answer).starts_with(
      R"({"type":"error","error":{"type":"api_error","message":"oops"})"
    ));
  }
}

TEST_CASE("a response that needs a kept one is refused before any replica is asked") {
  messaging w{answers(json_answer("{}"))};
  auto answer =
    w.ask("/v1/responses", R"({"model":"small","input":"a","previous_response_id":"r"})");
  CHECK(status_of(answer) == 400);
  CHECK(body_of(answer).find("\"param\":\"previous_response_id\"") != std::string_view::npos);
  CHECK(body_of(answer).find("unsupported_feature") != std::string_view::npos);
  CHECK(w.replica.requests().empty());
}
