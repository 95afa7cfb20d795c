// The doors beside chat: each passes its bodies through and understands its own answers.

#include "tests/unit/http/doors_fixture.hpp"

#include <catch2/generators/catch_generators_all.hpp>

using namespace assay;
using namespace assay::tests;
using contract::operation;
using contract::task;

namespace {

std::string text_event(std::string_view text, std::string_view finish = "null") {
  return R"(data: {"object":"text_completion","choices":[{"index":0,"text":")" + std::string{text}
         + R"(","logprobs":null,"finish_reason":)" + std::string{finish} + "}]}\n\n";
}

constexpr std::string_view completion =
  R"({"object":"text_completion","choices":[{"index":0,"text":"Paris","finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}})";
constexpr std::string_view embedding =
  R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPw=="}],"usage":{"prompt_tokens":9,"total_tokens":9}})";

} // namespace

TEST_CASE("a completion passes both ways as it is, and its usage is read") {
  serving w{task::completion, answers(json_answer(completion))};
  auto body = R"({"model":"small","prompt":["a", "b"],"best_of" : 2,"top_k":1.50})";
  auto answer = w.ask("/v1/completions?x=1", body);
  CHECK(status_of(answer) == 200);
  CHECK(body_of(answer) == completion);
  auto sent = w.replica.requests()[0];
  CHECK(sent.head.starts_with("POST /v1/completions?x=1 HTTP/1.1\r\n"));
  CHECK(sent.body == body);
  auto o = w.outcome();
  CHECK(o.task == task::completion);
  CHECK(o.sequences == 4);
  CHECK(o.usage.input_tokens == 9);
  CHECK(o.usage.output_tokens == 2);
}

TEST_CASE("a completion's stream is relayed and watched: text, finish, usage") {
  auto events =
    text_event("Pa") + text_event("ris", "\"stop\"")
    + "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n"
    + std::string{done_event};
  serving w{task::completion, answers(stream_head() + chunk(events) + std::string{last_chunk})};
  auto answer = w.ask("/v1/completions", R"({"model":"small","prompt":"a","stream":true})");
  CHECK(dechunked(body_of(answer)) == events);
  auto o = w.outcome();
  CHECK(o.how == routing::ending::served);
  CHECK(o.stream);
  CHECK(o.ttft.has_value());
  CHECK(o.usage.output_tokens == 2);
}

TEST_CASE("a completion's stream that is cut ends in an error event") {
  serving w{task::completion, [](mock_peer& peer, const mock_request&) {
              peer.send(stream_head() + chunk(text_event("Pa")));
              peer.close();
            }};
  auto body =
    dechunked(body_of(w.ask("/v1/completions", R"({"model":"small","prompt":"a","stream":true})")));
  CHECK(body.starts_with(text_event("Pa") + "data: {\"error\":"));
  CHECK(body.find("[DONE]") == body.npos);
  CHECK(w.outcome().how == routing::ending::failed);
}

TEST_CASE("embeddings pass as they are, and count no output") {
  serving w{task::embedding, answers(json_answer(embedding))};
  auto answer =
    w.ask("/v1/embeddings", R"({"model":"small","input":[[1,2],[3]],"encoding_format":"base64"})");
  CHECK(body_of(answer) == embedding);
  CHECK(w.replica.requests()[0].head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"));
  auto o = w.outcome();
  CHECK(o.task == task::embedding);
  CHECK(o.usage.input_tokens == 9);
  CHECK(o.usage.output_tokens == 0);
}

TEST_CASE("rerank and score pass as they are") {
  auto path = GENERATE("/v1/rerank", "/v1/score");
  serving w{
    task::rerank,
    answers(json_answer(R"({"results":[],"usage":{"prompt_tokens":9,"total_tokens":9}})")),
    {operation::rerank, operation::score}};
  auto answer = w.ask(path, R"({"model":"small","query":"a","documents":["b",{"text":"c"}]})");
  CHECK(status_of(answer) == 200);
  CHECK(w.replica.requests()[0].head.starts_with("POST " + std::string{path} + " "));
  CHECK(w.outcome().usage.input_tokens == 9);
}

TEST_CASE("a model is asked for its own task only") {
  struct row {
    task what;
    std::string path;
    std::string body;
  };
  auto [what, path, body] = GENERATE(
    row{task::chat, "/v1/completions", R"({"model":"small","prompt":"a"})"},
    row{task::chat, "/v1/embeddings", R"({"model":"small","input":"a"})"},
    row{task::completion, "/v1/chat/completions", R"({"model":"small","messages":[]})"},
    row{task::embedding, "/v1/completions", R"({"model":"small","prompt":"a"})"}
  );
  serving w{what, answers(json_answer(completion))};
  auto answer = w.ask(path, body);
  CHECK(status_of(answer) == 400);
  CHECK(body_of(answer).find("unsupported_feature") != std::string_view::npos);
  CHECK(body_of(answer).find("another task") != std::string_view::npos);
  CHECK(w.replica.requests().empty());
}

TEST_CASE("what no profile offers is refused by gate 1, and told so") {
  serving w{task::chat, answers(json_answer(completion))};
  auto [path, body] = GENERATE(
    std::pair<std::string, std::string>{
      "/v1/messages", R"({"model":"small","messages":[],"max_tokens":1})"},
    std::pair<std::string, std::string>{
      "/v1/messages/count_tokens", R"({"model":"small","messages":[]})"},
    std::pair<std::string, std::string>{"/v1/responses", R"({"model":"small","input":"a"})"}
  );
  auto answer = w.ask(path, body);
  CHECK(status_of(answer) == 400);
  CHECK(
    body_of(answer).find("serves_task: its runtime profile does not offer")
    != std::string_view::npos
  );
  CHECK(w.replica.requests().empty());
}

TEST_CASE("the largest prompt is held against the limit, not all of them together") {
  serving w{task::completion, answers(json_answer(completion))};
  w.ingress.world.promises.limits.context_tokens = 4;
  w.ingress.server->post_snapshot(w.ingress.world.snapshot());
  CHECK(
    status_of(
      w.ask("/v1/completions", R"({"model":"small","prompt":[[1,2,3],[4,5,6]],"max_tokens":1})")
    )
    == 200
  );
  auto answer =
    w.ask("/v1/completions", R"({"model":"small","prompt":[[1],[1,2,3,4]],"max_tokens":1})");
  CHECK(status_of(answer) == 400);
  CHECK(body_of(answer).find("context_length_exceeded") != std::string_view::npos);
}

TEST_CASE("a prompt of a wrong type is told by its name and asked of nobody") {
  serving w{task::completion, answers(json_answer(completion))};
  auto answer = w.ask("/v1/completions", R"({"model":"small","prompt":[]})");
  CHECK(status_of(answer) == 400);
  CHECK(body_of(answer).find("\"param\":\"prompt\"") != std::string_view::npos);
  CHECK(w.replica.requests().empty());
}
