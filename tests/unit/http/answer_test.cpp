// Replicas that fail, refuse or are slow before an answer has begun: what is tried again, and what
// the caller sees.

#include "tests/unit/http/ingress_fixture.hpp"

#include <catch2/generators/catch_generators_all.hpp>

#include <semaphore>

using namespace assay;
using namespace assay::tests;

namespace {

std::string ask(ingress_fixture& ingress, std::string_view request = chat_request(chat_body())) {
  raw_client client{ingress.port()};
  client.send(request);
  return client.read_answer();
}

std::uint16_t closed_port() {
  mock_upstream nobody{answers("")};
  return nobody.port();
}

} // namespace

TEST_CASE("connections to a replica are kept and used again") {
  mock_upstream replica{answers(json_answer(paris))};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  for (int i = 0; i < 5; ++i)
    CHECK(status_of(ask(ingress)) == 200);
  CHECK(replica.connections() == 1);
  CHECK(ingress.server->stats().upstream_reuses == 4);
}

TEST_CASE("a kept connection that the replica has closed is not used") {
  mock_upstream replica{[](mock_peer& peer, const mock_request&) {
    peer.send(json_answer(paris));
    peer.close();
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  for (int i = 0; i < 20; ++i)
    REQUIRE(status_of(ask(ingress)) == 200);
}

TEST_CASE("news on a kept connection closes it at once, and no request ever meets it") {
  auto ends = GENERATE(true, false);
  std::counting_semaphore<> answered{0};
  std::counting_semaphore<> looked{0};
  std::atomic<int> closed{0};
  mock_upstream replica{[&](mock_peer& peer, const mock_request& r) {
    peer.send(json_answer(r.body));
    answered.try_acquire_for(10s); // It is kept before its answer reaches the client.
    ends ? peer.finish_sending() : peer.send("H");
    closed += peer.closed_within(10s);
    looked.release();
    peer.close();
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.options.limits.upstream_idle = 1h;
  ingress.start();
  for (int i = 0; i < 3; ++i) {
    CHECK(body_of(ask(ingress)) == chat_body());
    answered.release();
    CHECK(looked.try_acquire_for(20s));
  }
  CHECK(closed == 3);
  CHECK(replica.connections() == 3);
  CHECK(ingress.server->stats().upstream_reuses == 0);
  CHECK(ingress.server->stats().replays == 0);
}

TEST_CASE("a kept connection that dies on its next request is replayed once, on a fresh one") {
  auto how = GENERATE(0, 1);
  mock_upstream replica{[how](mock_peer& peer, const mock_request& r) {
    static thread_local int on_this_connection = 0;
    if (on_this_connection++ == 0)
      peer.send(json_answer(r.body));
    else if (how == 0)
      peer.close();
    else
      peer.reset();
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  for (int i = 0; i < 3; ++i)
    CHECK(body_of(ask(ingress)) == chat_body());
  CHECK(ingress.server->stats().replays == 2);
  CHECK(replica.requests().size() == 5);
}

TEST_CASE("a fresh connection that closes without an answer is 502, and nothing is sent twice") {
  mock_upstream replica{[](mock_peer& peer, const mock_request&) { peer.close(); }};
  mock_upstream other{answers(json_answer(paris))};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  auto answer = ask(ingress);
  CHECK(status_of(answer) == 502);
  CHECK(body_of(answer).find("upstream_disconnected") != std::string_view::npos);
  CHECK(replica.requests().size() == 1);
  CHECK(ingress.all_released());
}

TEST_CASE("a replica that cannot be reached costs nothing but another choice") {
  mock_upstream alive{answers(json_answer(paris))};
  ingress_fixture ingress{{{closed_port()}, {alive.port()}, {closed_port()}}};
  ingress.start();
  for (int i = 0; i < 20; ++i)
    REQUIRE(status_of(ask(ingress)) == 200);
}

TEST_CASE("with every replica out of reach the answer is 502 after each was tried once") {
  ingress_fixture ingress{{{closed_port()}, {closed_port()}}};
  ingress.start();
  CHECK(status_of(ask(ingress)) == 502);
  CHECK(ingress.server->stats().upstream_connects == 2);
  CHECK(ingress.all_released());
}

TEST_CASE("what a replica refuses is asked of another one, never of the same again") {
  auto status = GENERATE("429 Too Many", "502 Bad", "503 Busy", "504 Late", "500 Oops");
  mock_upstream full{answers(json_answer(R"({"error":"full"})", status))};
  mock_upstream alive{answers(json_answer(paris))};
  ingress_fixture ingress{{{full.port()}, {alive.port()}}};
  ingress.start();
  for (int i = 0; i < 8; ++i)
    REQUIRE(status_of(ask(ingress)) == 200);
  CHECK(full.requests().size() + alive.requests().size() == 8 + ingress.server->stats().retries);
}

TEST_CASE("retries stay within their budget") {
  mock_upstream full{answers(json_answer(R"({"error":"full"})", "503 Busy"))};
  mock_upstream also{answers(json_answer(R"({"error":"full"})", "503 Busy"))};
  ingress_fixture ingress{{{full.port()}, {also.port()}}};
  ingress.start();
  for (int i = 0; i < 50; ++i)
    REQUIRE(status_of(ask(ingress)) == 503);
  CHECK(
    ingress.server->stats().retries <= limits::retry_reserve + 50 * limits::retry_percent / 100
  );
  CHECK(ingress.server->stats().retries >= limits::retry_reserve);
}

TEST_CASE("the replica's own JSON error passes unchanged, plain text is wrapped") {
  struct row {
    std::string answer;
    int status;
    std::string body;
  };
  auto [answer, status, body] = GENERATE(
    row{
      json_answer(R"({"error":{"code":400,"message":"too long","n_ctx":4}})", "400 Bad"),
      400,
      R"({"error":{"code":400,"message":"too long","n_ctx":4}})"},
    row{json_answer(R"({"error":"busy"})", "503 Busy"), 503, R"({"error":"busy"})"},
    row{
      "HTTP/1.1 404 No\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunk(R"({"detail":)") + chunk(R"("x"})") + "0\r\n\r\n",
      404,
      R"({"detail":"x"})"},
    row{
      "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nContent-Length: 21\r\n\r\nInternal Server "
      "Error",
      500,
      R"({"error":{"message":"Internal Server Error","type":"server_error","param":null,"code":"upstream_error"}})"},
    row{
      "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
      500,
      R"({"error":{"message":"the replica answered without a body","type":"server_error","param":null,"code":"upstream_error"}})"}
  );
  mock_upstream replica{answers(answer)};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  auto got = ask(ingress);
  CHECK(status_of(got) == status);
  CHECK(body_of(got) == body);
  CHECK(header_of(got, "content-type").starts_with("application/json"));
  CHECK(replica.requests().size() == 1);
}

TEST_CASE("an answer that breaks HTTP is 502 and never guessed at") {
  auto answer = GENERATE(
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "hello\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX : 1\r\n\r\n",
    "HTTP/1.1 101 Switching\r\n\r\n"
  );
  mock_upstream replica{[answer](mock_peer& peer, const mock_request&) {
    peer.send(answer);
    peer.close();
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  CHECK(status_of(ask(ingress)) == 502);
}

TEST_CASE("an interim answer is passed over") {
  mock_upstream replica{answers("HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + json_answer(paris))};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  auto answer = ask(ingress);
  CHECK(status_of(answer) == 200);
  CHECK(body_of(answer) == paris);
}

TEST_CASE("a short answer that is cut is 502, not half an answer") {
  mock_upstream replica{[](mock_peer& peer, const mock_request&) {
    auto whole = json_answer(paris);
    peer.send(std::string_view{whole}.substr(0, whole.size() - 1));
    peer.close();
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  CHECK(status_of(ask(ingress)) == 502);
}

TEST_CASE("an answer of any framing and size arrives byte for byte") {
  auto size = GENERATE(0u, 1u, 32'767u, 32'768u, 32'769u, 1'000'000u);
  auto framing = GENERATE(0, 1, 2);
  std::string body;
  for (std::size_t i = 0; i < size; ++i)
    body += static_cast<char>('a' + i % 26);
  std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  auto sized = head + "Content-Length: " + std::to_string(size) + "\r\n\r\n" + body;
  auto chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < size; at += 10'000)
    chunked += chunk(std::string_view{body}.substr(at, 10'000));
  chunked += last_chunk;
  auto until_close = head + "\r\n" + body;
  auto& bytes = framing == 0 ? sized : framing == 1 ? chunked : until_close;
  mock_upstream replica{[&](mock_peer& peer, const mock_request&) {
    peer.send(bytes);
    if (framing == 2)
      peer.close();
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  auto answer = ask(ingress);
  auto got = std::string{body_of(answer)};
  if (!header_of(answer, "transfer-encoding").empty())
    got = dechunked(got);
  CHECK(status_of(answer) == 200);
  CHECK(got == body);
}

TEST_CASE("a replica that says nothing in time is 504 and is cancelled") {
  mock_upstream replica{[](mock_peer& peer, const mock_request&) {
    CHECK(peer.closed_within(10s));
    peer.close();
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.options.limits.first_token = 50ms;
  ingress.start();
  auto answer = ask(ingress);
  CHECK(status_of(answer) == 504);
  CHECK(body_of(answer).find("upstream_timeout") != std::string_view::npos);
  CHECK(ingress.all_released());
}

TEST_CASE("the outcome tells what happened, with the engine's own token counts") {
  mock_upstream replica{answers(json_answer(paris))};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  auto answer = ask(ingress);
  auto o = ingress.outcomes.wait_for(1)[0];
  CHECK(o.how == routing::ending::served);
  CHECK(o.status == 200);
  CHECK(o.usage.stated);
  CHECK(o.usage.input_tokens == 9);
  CHECK(o.usage.output_tokens == 2);
  CHECK(o.implementation.value == "small/pool-0/weights");
  CHECK(o.project.value == "tests");
  CHECK(o.key.value == "tester");
  CHECK(o.decision.value == header_of(answer, "x-assay-decision"));
  CHECK(o.in_flight == 1);
  CHECK(o.bytes_out == paris.size());
}
