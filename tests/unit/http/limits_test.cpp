// Limits of a request's steps, each for itself: connect, first token, gap, total; and the memory
// that bodies take before any of them is read.

#include "tests/unit/http/ingress_fixture.hpp"

#include <catch2/generators/catch_generators_all.hpp>

#include <thread>

using namespace assay;
using namespace assay::tests;

namespace {

/// Ends itself when it was cut off.
void until_cut(
  mock_peer& peer, const std::function<void()>& deed = [] {}
) {
  while (!peer.closed_within(10ms))
    deed();
  peer.close();
}

constexpr std::string_view role_event =
  "data: "
  "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"finish_reason\":null}]}\n\n";

struct timed {
  explicit timed(mock_upstream::script script)
    : replica{std::move(script)}, ingress{{{replica.port()}}} {}

  std::string ask(bool stream = true) {
    ingress.start();
    raw_client client{ingress.port()};
    client.send(chat_request(chat_body(stream)));
    return client.read_answer();
  }

  mock_upstream replica;
  ingress_fixture ingress;
};

} // namespace

TEST_CASE("a head is no token: a replica that answers at once and then hangs is late") {
  auto before = GENERATE(std::string{}, chunk(role_event), chunk(": thinking\n\n"));
  timed w{[&](mock_peer& peer, const mock_request&) {
    peer.send(stream_head() + before);
    until_cut(peer);
  }};
  w.ingress.options.limits.first_token = 50ms;
  auto body = dechunked(body_of(w.ask()));
  CHECK(body.find("upstream_timeout") != body.npos);
  CHECK(body.find("no content within 0.05 s") != body.npos);
  auto o = w.ingress.outcomes.wait_for(1)[0];
  CHECK(o.how == routing::ending::failed);
  CHECK(o.failure == contract::failure::upstream_timeout);
  CHECK(w.ingress.all_released());
}

TEST_CASE("comments and roles do not put off the first token's limit") {
  auto chatter = GENERATE(std::string{": still here\n\n"}, std::string{role_event});
  timed w{[&](mock_peer& peer, const mock_request&) {
    peer.send(stream_head());
    until_cut(peer, [&] { peer.send(chunk(chatter)); });
  }};
  w.ingress.options.limits.first_token = 80ms;
  CHECK(dechunked(body_of(w.ask())).find("no content within 0.08 s") != std::string::npos);
}

TEST_CASE("our own comments go out while the first token is waited for") {
  timed w{[&](mock_peer& peer, const mock_request&) {
    peer.send(stream_head());
    until_cut(peer);
  }};
  w.ingress.options.limits.first_token = 300ms;
  w.ingress.options.limits.keepalive = 20ms;
  auto body = dechunked(body_of(w.ask()));
  CHECK(body.starts_with(": keep-alive\n\n: keep-alive\n\n"));
  CHECK(body.find("no content within 0.3 s") != body.npos);
}

TEST_CASE("an answer in one piece has its first content with the body") {
  timed w{[&](mock_peer& peer, const mock_request&) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n");
    until_cut(peer);
  }};
  w.ingress.options.limits.first_token = 50ms;
  auto answer = w.ask(false);
  CHECK(status_of(answer) == 504);
  CHECK(body_of(answer).find("no content within 0.05 s") != std::string_view::npos);
}

TEST_CASE("once content has come, only the gap counts") {
  timed w{[&](mock_peer& peer, const mock_request&) {
    peer.send(stream_head() + chunk(content_event("a")));
    for (int i = 0; i < 4; ++i) {
      std::this_thread::sleep_for(40ms);
      peer.send(chunk(content_event("b")));
    }
    peer.send(chunk(std::string{finish_event} + std::string{done_event}) + std::string{last_chunk});
  }};
  w.ingress.options.limits.first_token = 60ms;
  w.ask();
  CHECK(w.ingress.outcomes.wait_for(1)[0].how == routing::ending::served);
}

TEST_CASE("a replica that falls silent within its answer is late") {
  auto stream = GENERATE(true, false);
  timed w{[&](mock_peer& peer, const mock_request&) {
    peer.send(
      stream ? stream_head() + chunk(content_event("a"))
             : "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
    );
    until_cut(peer);
  }};
  w.ingress.options.limits.gap = 50ms;
  auto answer = w.ask(stream);
  CHECK(status_of(answer) == (stream ? 200 : 504));
  CHECK(answer.find("fell silent within its answer for 0.05 s") != std::string::npos);
}

TEST_CASE("the total limit ends an answer that never ends") {
  timed w{[&](mock_peer& peer, const mock_request&) {
    peer.send(stream_head());
    until_cut(peer, [&] { peer.send(chunk(content_event("a"))); });
  }};
  w.ingress.options.limits.total = 100ms;
  auto body = dechunked(body_of(w.ask()));
  CHECK(body.find("not answered within 0.1 s") != body.npos);
}

TEST_CASE("the smallest body counts among those in memory, until its answer begins") {
  std::promise<void> go;
  auto gone = go.get_future().share();
  timed w{[&](mock_peer& peer, const mock_request&) {
    gone.wait();
    peer.send(json_answer(paris));
  }};
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send(chat_request(chat_body()));
  REQUIRE(w.replica.saw(1));
  CHECK(w.ingress.server->stats().buffered_bytes == chat_body().size());
  go.set_value();
  CHECK(status_of(client.read_answer()) == 200);
  CHECK(w.ingress.server->stats().buffered_bytes == 0);
}

TEST_CASE("without room a body is refused before it is asked for, however small") {
  auto extra = GENERATE(std::size_t{0}, std::size_t{10'000});
  timed w{answers(json_answer(paris))};
  w.ingress.options.limits.bodies_bytes = 20'000;
  w.ingress.start();
  raw_client holds{w.ingress.port()};
  auto large = chat_request(chat_body() + std::string(19'700, ' '));
  holds.send(large.substr(0, 500));
  while (w.ingress.server->stats().buffered_bytes == 0)
    std::this_thread::yield();
  auto request =
    chat_request(chat_body() + std::string(300 + extra, ' '), "Expect: 100-continue\r\n");
  raw_client client{w.ingress.port()};
  client.send(request.substr(0, request.find("\r\n\r\n") + 4));
  auto answer = client.read_answer(); // And no 100 before it.
  CHECK(status_of(answer) == 503);
  CHECK(header_of(answer, "retry-after") == "5");
  CHECK(w.replica.requests().empty());
  holds.send(large.substr(500));
  CHECK(status_of(holds.read_answer()) == 200);
}

TEST_CASE("a body that could never have room, or is too long for every model, is told so unread") {
  timed w{answers(json_answer(paris))};
  auto by_contract = GENERATE(true, false);
  if (by_contract)
    w.ingress.world.promises.limits.body_bytes = 8'000;
  else
    w.ingress.options.limits.bodies_bytes = 8'000;
  w.ingress.start();
  raw_client client{w.ingress.port()};
  auto request = chat_request(chat_body() + std::string(9'000, ' '), "Expect: 100-continue\r\n");
  client.send(request.substr(0, request.find("\r\n\r\n") + 4));
  auto all = client.read_all();
  CHECK(status_of(all) == 413);
  CHECK(body_of(all).find("allowed are 8000") != std::string_view::npos);
}
