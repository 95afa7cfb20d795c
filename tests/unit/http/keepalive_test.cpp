// A stream whose request still waits for its turn is kept awake, where the contract says so.

#include "tests/unit/http/ingress_fixture.hpp"

#include <catch2/generators/catch_generators_all.hpp>

using namespace assay;
using namespace assay::tests;

namespace {

constexpr std::string_view comment = ": keep-alive\n\n";
constexpr std::string_view ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n";

struct waiting {
  explicit waiting(mock_upstream::script script)
    : replica{std::move(script)}, ingress{{{replica.port(), 0}}} {
    ingress.world.promises.queue_keepalive = true;
    ingress.world.operations.add(contract::operation::messages);
    ingress.options.limits.keepalive = 20ms;
    ingress.hooks.ask_ticket = [this](auto, auto done) { asked.set_value(std::move(done)); };
  }
  void ask(std::string_view path = "/v1/chat/completions", bool stream = true) {
    ingress.start();
    client.emplace(ingress.port());
    auto request = chat_request(
      path == "/v1/messages"
        ? R"({"model":"small","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]})"
        : chat_body(stream)
    );
    request.replace(5, std::string_view{"/v1/chat/completions"}.size(), path);
    client->send(request);
  }
  void admit() {
    ingress.world.grant(0, 1);
    asked.get_future().get()(http::ticket_admitted{ingress.world.counters(0)->key()});
  }

  mock_upstream replica;
  ingress_fixture ingress;
  std::promise<http::ticket_completion> asked;
  std::optional<raw_client> client;
};

std::string good_stream() {
  return stream_head() + chunk(content_event("Paris") + std::string{finish_event})
         + chunk(done_event) + std::string{last_chunk};
}

} // namespace

TEST_CASE("a stream that waits has its head and signs of life before its turn, and then its answer"
) {
  auto [path, sign] = GENERATE(table<std::string_view, std::string_view>({
    {"/v1/chat/completions", comment},
    {"/v1/messages", ping},
  }));
  auto is_chat = sign == comment;
  auto events = is_chat
                  ? content_event("Paris") + std::string{finish_event} + std::string{done_event}
                  : "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
  waiting w{answers(stream_head() + chunk(events) + std::string{last_chunk})};
  w.ask(path);
  REQUIRE(w.client->read_until(sign));
  REQUIRE(w.client->read_until(sign, w.client->held().find(sign) + 1)); // And again.
  CHECK(w.replica.requests().empty());
  w.admit();
  auto answer = w.client->read_answer();
  CHECK(status_of(answer) == 200);
  CHECK(header_of(answer, "content-type") == "text/event-stream");
  auto body = dechunked(body_of(answer));
  CHECK(body.starts_with(sign));
  CHECK(body.ends_with(events));
  CHECK(body.find("HTTP/1.1") == body.npos); // The replica's head is not sent again.
  auto o = w.ingress.outcomes.wait_for(1)[0];
  CHECK(o.how == routing::ending::served);
  CHECK(o.status == 200);
  CHECK(w.ingress.all_released());
}

TEST_CASE("what refuses a stream that was opened is an error event, and the connection stays") {
  waiting w{answers(good_stream())};
  w.ask();
  REQUIRE(w.client->read_until(comment));
  w.asked.get_future().get()(http::ticket_refused{pool::ticket_refusal::queue_full, 3s});
  auto answer = w.client->read_answer();
  CHECK(status_of(answer) == 200);
  auto body = dechunked(body_of(answer));
  CHECK(body.find("data: {\"error\":") != body.npos);
  CHECK(body.find("no_capacity") != body.npos);
  auto o = w.ingress.outcomes.wait_for(1)[0];
  CHECK(o.how == routing::ending::refused);
  CHECK(o.status == 503);
}

TEST_CASE("a replica that refuses an opened stream ends it with its reason") {
  auto [status, how] = GENERATE(table<std::string, routing::ending>({
    {"400 Bad Request", routing::ending::rejected},
    {"503 Busy", routing::ending::overloaded},
    {"500 Oops", routing::ending::failed},
    {"200 OK", routing::ending::failed}, // And no stream.
  }));
  waiting w{answers(json_answer(R"({"error":"too long"})", status))};
  w.ask();
  REQUIRE(w.client->read_until(comment));
  w.admit();
  auto body = dechunked(body_of(w.client->read_answer()));
  CHECK(body.find("data: {\"error\":") != body.npos);
  CHECK(body.find("the replica answered " + status.substr(0, 3)) != body.npos);
  CHECK(w.ingress.outcomes.wait_for(1)[0].how == how);
  CHECK(w.ingress.all_released());
}

TEST_CASE("without the contract's word, or without a stream, nothing is sent before the answer") {
  auto is_promised = GENERATE(true, false);
  waiting w{answers(json_answer(paris))};
  w.ingress.world.promises.queue_keepalive = is_promised;
  w.ask("/v1/chat/completions", !is_promised);
  auto done = w.asked.get_future().get();
  ::usleep(60'000); // Three times as long as would bring a sign.
  w.ingress.world.grant(0, 1);
  done(http::ticket_admitted{w.ingress.world.counters(0)->key()});
  auto answer = w.client->read_answer();
  CHECK(header_of(answer, "content-type") == "application/json");
  CHECK(body_of(answer) == paris);
}

TEST_CASE("a client that leaves while it is kept awake gives its place up") {
  waiting w{answers(good_stream())};
  w.ask();
  REQUIRE(w.client->read_until(comment));
  w.client->close();
  CHECK(w.ingress.outcomes.wait_for(1)[0].how == routing::ending::client_gone);
  CHECK(w.replica.requests().empty());
}
