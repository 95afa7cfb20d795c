// Streams: whole events only, byte for byte, and an end that says the truth.

#include "src/base/limits.hpp"
#include "tests/unit/http/ingress_fixture.hpp"

#include <catch2/generators/catch_generators_all.hpp>

using namespace assay;
using namespace assay::tests;

namespace {

const std::string& events() {
  static const std::string all =
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n"
    + content_event("Pa") + ": ping\r\n\r\n" + content_event("\xc3\xa9") + std::string{finish_event}
    + "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n"
    + std::string{done_event};
  return all;
}

struct streaming {
  explicit streaming(mock_upstream::script script)
    : replica{std::move(script)}, ingress{{{replica.port()}}} {}

  mock_upstream replica;
  ingress_fixture ingress;

  std::string ask() {
    raw_client client{ingress.port()};
    client.send(chat_request(chat_body(true), "Connection: close\r\n"));
    return client.read_all();
  }
};

/// Sends `before` and then ends the connection as `how` says.
mock_upstream::script breaks_after(std::string before, int how = 0) {
  return [before = std::move(before), how](mock_peer& peer, const mock_request&) {
    peer.send(before);
    how == 0 ? peer.close() : peer.reset();
  };
}

bool ends_cleanly(std::string_view answer) {
  return answer.ends_with("\r\n0\r\n\r\n");
}

} // namespace

TEST_CASE("a stream arrives byte for byte wherever the replica's writes are split") {
  auto wire = stream_head();
  for (std::size_t at = 0; at < events().size(); at += 61)
    wire += chunk(std::string_view{events()}.substr(at, 61));
  wire += last_chunk;
  std::atomic<std::size_t> split{0};
  streaming w{[&](mock_peer& peer, const mock_request&) {
    peer.send(std::string_view{wire}.substr(0, split));
    peer.send(std::string_view{wire}.substr(split));
  }};
  w.ingress.start();
  raw_client client{w.ingress.port()};
  for (split = 0; split <= wire.size(); split += 7) {
    client.send(chat_request(chat_body(true)));
    auto answer = client.read_answer();
    INFO(split);
    REQUIRE(status_of(answer) == 200);
    REQUIRE(dechunked(body_of(answer)) == events());
    REQUIRE(ends_cleanly(answer));
  }
  CHECK(w.replica.connections() == 1);
}

TEST_CASE("a stream has the headers that keep caches from holding it, and keeps its type") {
  streaming w{answers(stream_head() + chunk(events()) + std::string{last_chunk})};
  w.ingress.start();
  auto answer = w.ask();
  CHECK(header_of(answer, "content-type") == "text/event-stream; charset=utf-8");
  CHECK(header_of(answer, "cache-control") == "no-cache");
  CHECK(header_of(answer, "x-accel-buffering") == "no");
  auto o = w.ingress.outcomes.wait_for(1)[0];
  CHECK(o.how == routing::ending::served);
  CHECK(o.ttft.has_value());
  CHECK(o.usage.output_tokens == 2);
  CHECK(o.bytes_out == events().size());
}

TEST_CASE("events leave as they come, without waiting for the next one") {
  streaming w{[](mock_peer& peer, const mock_request&) {
    peer.send(stream_head() + chunk(content_event("first")));
    // The rest comes only when the client has gone: had the event waited, nobody would move.
    CHECK(peer.closed_within(10s));
    peer.close();
  }};
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send(chat_request(chat_body(true)));
  CHECK(client.read_until(content_event("first")));
}

TEST_CASE("a replica that dies in mid-stream ends in an error event, never in a clean end") {
  auto how = GENERATE(0, 1);
  streaming w{breaks_after(stream_head() + chunk(content_event("Pa")), how)};
  w.ingress.start();
  auto answer = w.ask();
  auto body = dechunked(body_of(answer));
  INFO(answer);
  CHECK(body.find("upstream_disconnected") != body.npos);
  CHECK(body.find("[DONE]") == body.npos);
  CHECK(body.find("finish_reason\":\"stop") == body.npos);
  if (how == 0)
    CHECK(body.starts_with(content_event("Pa") + "data: {\"error\":"));
  auto o = w.ingress.outcomes.wait_for(1)[0];
  CHECK(o.how == routing::ending::failed);
  CHECK(o.status == 502);
  CHECK(w.ingress.server->stats().streams_cut == 1);
  CHECK(w.ingress.all_released());
}

TEST_CASE("half an event before the break is dropped, whole ones are not") {
  auto half = content_event("Paris");
  for (std::size_t size = 1; size < half.size(); size += 5) {
    streaming w{breaks_after(
      stream_head() + chunk(content_event("Pa") + half.substr(0, size)) + "20\r\nhalf a chunk"
    )};
    w.ingress.start();
    auto body = dechunked(body_of(w.ask()));
    INFO(body);
    REQUIRE(body.starts_with(content_event("Pa") + "data: {\"error\":"));
    REQUIRE(body.ends_with("}}\n\n"));
  }
}

TEST_CASE("a break inside an event too long to hold closes the connection without an end") {
  auto started = "data: " + std::string(limits::event_bytes + 10, 'x');
  streaming w{breaks_after(stream_head() + chunk(started))};
  w.ingress.start();
  auto answer = w.ask();
  CHECK(dechunked(body_of(answer)) == started);
  CHECK_FALSE(ends_cleanly(answer));
  CHECK(answer.find("\"error\"") == answer.npos);
}

TEST_CASE("a transfer that is whole but never finished its answer is a cut one") {
  streaming w{answers(stream_head() + chunk(content_event("Pa")) + std::string{last_chunk})};
  w.ingress.start();
  auto body = dechunked(body_of(w.ask()));
  CHECK(body.starts_with(content_event("Pa") + "data: {\"error\":"));
}

TEST_CASE("a finish reason ends an answer too, and so does [DONE] without a blank line") {
  auto tail =
    GENERATE(std::string{finish_event}, std::string{"data: [DONE]"}, std::string{"data: [DONE]\n"});
  streaming w{answers(stream_head() + chunk(content_event("Pa") + tail) + std::string{last_chunk})};
  w.ingress.start();
  auto answer = w.ask();
  CHECK(dechunked(body_of(answer)) == content_event("Pa") + tail);
  CHECK(ends_cleanly(answer));
}

TEST_CASE("the replica's own error event passes and counts as a failure despite the 200") {
  auto all =
    content_event("Pa") + "data: {\"error\":{\"message\":\"x\"}}\n\n" + std::string{done_event};
  streaming w{answers(stream_head() + chunk(all) + std::string{last_chunk})};
  w.ingress.start();
  CHECK(dechunked(body_of(w.ask())) == all);
  CHECK(w.ingress.outcomes.wait_for(1)[0].how == routing::ending::failed);
}

TEST_CASE("a stream that ends with the connection is whole once it has finished") {
  streaming w{
    breaks_after("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + events())};
  w.ingress.start();
  auto answer = w.ask();
  CHECK(dechunked(body_of(answer)) == events());
  CHECK(ends_cleanly(answer));
}

TEST_CASE("after [DONE] the replica has a moment for its terminator, and then is not waited for") {
  streaming w{[](mock_peer& peer, const mock_request&) {
    peer.send(stream_head() + chunk(events()));
    CHECK(peer.closed_within(10s));
    peer.close();
  }};
  w.ingress.start();
  auto answer = w.ask();
  CHECK(dechunked(body_of(answer)) == events());
  CHECK(ends_cleanly(answer));
  CHECK(w.ingress.outcomes.wait_for(1)[0].how == routing::ending::served);
}

TEST_CASE("a client that leaves after [DONE] has been served") {
  streaming w{[](mock_peer& peer, const mock_request&) {
    peer.send(stream_head() + chunk(events()));
    CHECK(peer.closed_within(10s));
    peer.close();
  }};
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send(chat_request(chat_body(true)));
  REQUIRE(client.read_until("[DONE]"));
  client.close();
  CHECK(w.ingress.outcomes.wait_for(1)[0].how == routing::ending::served);
}

TEST_CASE("a replica that falls silent between events is given up with an error event") {
  streaming w{[](mock_peer& peer, const mock_request&) {
    peer.send(stream_head() + chunk(content_event("Pa")));
    CHECK(peer.closed_within(10s));
    peer.close();
  }};
  w.ingress.options.limits.gap = 50ms;
  w.ingress.start();
  auto body = dechunked(body_of(w.ask()));
  CHECK(body.starts_with(content_event("Pa") + "data: {\"error\":"));
  CHECK(body.find("upstream_timeout") != body.npos);
}

TEST_CASE("the total limit ends a stream that never does") {
  streaming w{[](mock_peer& peer, const mock_request&) {
    peer.send(stream_head());
    while (!peer.closed_within(1ms))
      peer.send(chunk(content_event("x")));
    peer.close();
  }};
  w.ingress.options.limits.total = 100ms;
  w.ingress.start();
  auto body = dechunked(body_of(w.ask()));
  CHECK(body.find("upstream_timeout") != body.npos);
}

TEST_CASE("a silent stream gets comments between its events") {
  std::atomic<bool> seen{false};
  streaming w{[&](mock_peer& peer, const mock_request&) {
    peer.send(stream_head() + chunk(content_event("Pa")));
    while (!seen)
      std::this_thread::yield();
    peer.send(chunk(std::string{finish_event} + std::string{done_event}) + std::string{last_chunk});
  }};
  w.ingress.options.limits.keepalive = 20ms;
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send(chat_request(chat_body(true)));
  REQUIRE(client.read_until(": keep-alive\n\n"));
  seen = true;
  auto answer = client.read_answer();
  CHECK(dechunked(body_of(answer)).starts_with(content_event("Pa") + ": keep-alive\n\n"));
  CHECK(ends_cleanly(answer));
}

TEST_CASE("an HTTP/1.0 client gets the events without chunks, and a reset when they are cut") {
  auto request = [](std::string text) {
    return text.replace(text.find("HTTP/1.1"), 8, "HTTP/1.0");
  };
  streaming w{answers(stream_head() + chunk(events()) + std::string{last_chunk})};
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send(request(chat_request(chat_body(true))));
  CHECK(body_of(client.read_all()) == events());
}

TEST_CASE("a reader that does not read holds up the replica, not our memory, and is cut at last") {
  std::atomic<std::size_t> sent{0};
  streaming w{[&](mock_peer& peer, const mock_request&) {
    peer.send(stream_head());
    auto piece = chunk(content_event(std::string(8'000, 'x')));
    while (!peer.closed_within(0ms) && sent < 1'000'000'000) {
      peer.send(piece);
      sent += piece.size();
    }
    peer.close();
  }};
  w.ingress.options.limits.write_stall = 200ms;
  w.ingress.start();
  raw_client client{w.ingress.port(), 4'096};
  client.send(chat_request(chat_body(true)));
  auto o = w.ingress.outcomes.wait_for(1)[0];
  CHECK(o.how == routing::ending::client_gone);
  // What the kernel's buffers take on both sides, and no more.
  CHECK(sent < 64u << 20);
  CHECK(w.ingress.all_released());
}
