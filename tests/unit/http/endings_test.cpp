// How requests end, and what is counted as the replica's own time: what the learnt rates rest on.

#include "tests/support/eventually.hpp"
#include "tests/unit/http/ingress_fixture.hpp"

#include <catch2/generators/catch_generators_all.hpp>

#include <optional>
#include <thread>

using namespace assay;
using namespace assay::tests;
using routing::ending;

namespace {

constexpr auto moment = 60ms;

std::string ask(ingress_fixture& ingress, std::string_view body = chat_body()) {
  raw_client client{ingress.port()};
  client.send(chat_request(body));
  return client.read_answer();
}

routing::decision_trace trace_of(ingress_fixture& ingress, const routing::outcome& o) {
  std::promise<routing::decision_trace> told;
  ingress.server->find_decision(o.decision, [&](auto found) {
    told.set_value(found ? found->trace : routing::decision_trace{});
  });
  return told.get_future().get();
}

} // namespace

TEST_CASE("an engine that refuses a request has not failed, and one that is full neither") {
  auto [status, how] = GENERATE(table<std::string, ending>({
    {"400 Bad Request", ending::rejected},
    {"404 Not Found", ending::rejected},
    {"413 Too Large", ending::rejected},
    {"422 Unprocessable", ending::rejected},
    {"429 Too Many", ending::overloaded},
    {"503 Busy", ending::overloaded},
    {"401 Unauthorized", ending::failed}, // The secret is ours.
    {"403 Forbidden", ending::failed},
    {"500 Oops", ending::failed},
    {"502 Bad Gateway", ending::failed},
  }));
  mock_upstream replica{answers(json_answer(R"({"error":"x"})", status))};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  auto answer = ask(ingress);
  auto o = ingress.outcomes.wait_for(1)[0];
  INFO(status);
  CHECK(o.how == how);
  CHECK(o.status == status_of(answer));
  CHECK_FALSE(routing::lesson_of(o));
  auto remembered = trace_of(ingress, o);
  CHECK(remembered.ended == how);
  CHECK(remembered.status == o.status);
}

TEST_CASE("a decision that is remembered says what the replica took") {
  mock_upstream replica{[](mock_peer& peer, const mock_request&) {
    std::this_thread::sleep_for(moment);
    peer.send(stream_head() + chunk(content_event("Paris") + std::string{finish_event}));
    peer.send(chunk(done_event) + std::string{last_chunk});
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  ask(ingress, chat_body(true));
  auto o = ingress.outcomes.wait_for(1)[0];
  auto remembered = trace_of(ingress, o);
  CHECK(remembered.ended == ending::served);
  CHECK(remembered.replica_first_ms >= 60);
  CHECK(remembered.replica_total_ms >= remembered.replica_first_ms);
  CHECK(routing::lesson_of(o)->ttft >= moment);
}

TEST_CASE("a client that sends slowly does not make the replica look slow") {
  mock_upstream replica{answers(json_answer(paris))};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  auto request = chat_request(chat_body());
  raw_client client{ingress.port()};
  client.send(std::string_view{request}.substr(0, request.size() - 1));
  std::this_thread::sleep_for(moment);
  client.send(std::string_view{request}.substr(request.size() - 1));
  CHECK(status_of(client.read_answer()) == 200);
  auto o = ingress.outcomes.wait_for(1)[0];
  CHECK(o.replica.total > 0us);
  CHECK(o.replica.total + moment / 2 <= o.total); // The head came while the client slept already.
  CHECK(routing::lesson_of(o)->total == o.replica.total);
}

TEST_CASE("what a failed attempt took is not charged to the replica that answered") {
  mock_upstream full{[](mock_peer& peer, const mock_request&) {
    std::this_thread::sleep_for(moment);
    peer.send(json_answer(R"({"error":"full"})", "503 Busy"));
  }};
  mock_upstream alive{answers(json_answer(paris))};
  ingress_fixture ingress{{{full.port()}, {alive.port()}}};
  ingress.start();
  for (std::size_t n = 1;; ++n) {
    REQUIRE(status_of(ask(ingress)) == 200);
    auto o = ingress.outcomes.wait_for(n)[n - 1];
    if (o.retries == 0)
      continue;
    CHECK(o.endpoint == ingress.world.counters(1)->key());
    CHECK(o.replica.total + moment <= o.total);
    break;
  }
}

TEST_CASE("what came of the replicas that were asked before is told beside the answer") {
  auto [status, how, wait] = GENERATE(table<std::string, ending, std::chrono::seconds>({
    {"503 Busy\r\nRetry-After: 7", ending::overloaded, 7s},
    {"429 Too Many\r\nRetry-After: Thu, 01 Jan 2026 00:00:00 GMT", ending::overloaded, 0s},
    {"502 Bad Gateway", ending::failed, 0s},
    {"500 Oops", ending::failed, 0s},
  }));
  mock_upstream bad{answers(json_answer(R"({"error":"x"})", status))};
  mock_upstream alive{answers(json_answer(paris))};
  ingress_fixture ingress{{{bad.port()}, {alive.port()}}};
  ingress.start();
  for (std::size_t n = 1;; ++n) {
    REQUIRE(status_of(ask(ingress)) == 200);
    auto o = ingress.outcomes.wait_for(n)[n - 1];
    if (o.retries == 0) {
      CHECK(o.failed_attempts.empty());
      continue;
    }
    REQUIRE(o.failed_attempts.size() == 1);
    CHECK(o.failed_attempts[0].endpoint == ingress.world.counters(0)->key());
    CHECK(o.failed_attempts[0].how == how);
    CHECK(o.failed_attempts[0].retry_after == wait);
    break;
  }
}

TEST_CASE("an engine that is full is asked how long, when nobody else could answer") {
  mock_upstream full{answers(json_answer(R"({"error":"x"})", "429 Too Many\r\nRetry-After: 9"))};
  ingress_fixture ingress{{{full.port()}}};
  ingress.start();
  ask(ingress);
  CHECK(ingress.outcomes.wait_for(1)[0].retry_after == 9s);
}

TEST_CASE("a replica's signs of life follow its answer: it waits, it streams, it is done") {
  std::promise<void> may_begin;
  std::promise<void> may_end;
  auto begin = may_begin.get_future().share();
  auto end = may_end.get_future().share();
  mock_upstream replica{[&](mock_peer& peer, const mock_request&) {
    peer.send(stream_head()); // No sign yet.
    begin.wait();
    peer.send(chunk(content_event("Paris")));
    end.wait();
    peer.send(chunk(std::string{finish_event} + std::string{done_event}) + std::string{last_chunk});
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  const auto& signs = ingress.world.counters(0)->signs();
  CHECK_FALSE(signs.look().is_busy());
  raw_client client{ingress.port()};
  client.send(chat_request(chat_body(true)));
  REQUIRE(client.read_until("HTTP/1.1 200"));
  auto seen = signs.look();
  CHECK(seen.waiting == 1);
  CHECK(seen.streaming == 0);
  CHECK(seen.owed == 120s); // Nothing was learnt of it yet.
  may_begin.set_value();
  REQUIRE(client.read_until("Paris"));
  CHECK(signs.look().waiting == 0);
  CHECK(signs.look().streaming == 1);
  CHECK(signs.look().owed == 0us);
  CHECK(signs.look().moved > seen.moved);
  may_end.set_value();
  REQUIRE(client.read_until(last_chunk));
  CHECK(ingress.outcomes.wait_for(1)[0].replica.contents == 1);
  CHECK_FALSE(signs.look().is_busy());
}

TEST_CASE("a client that leaves takes its request out of the replica's signs") {
  mock_upstream replica{[](mock_peer& peer, const mock_request&) {
    peer.closed_within(10s);
    peer.close();
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  raw_client client{ingress.port()};
  client.send(chat_request(chat_body(true)));
  REQUIRE(replica.saw(1));
  client.close();
  ingress.outcomes.wait_for(1);
  CHECK_FALSE(ingress.world.counters(0)->signs().look().is_busy());
}

TEST_CASE("time in the queue is not the replica's") {
  std::promise<http::ticket_completion> asked;
  mock_upstream replica{answers(json_answer(paris))};
  ingress_fixture ingress{{{replica.port(), 0}}};
  ingress.hooks.ask_ticket = [&](auto, auto done) { asked.set_value(std::move(done)); };
  ingress.start();
  raw_client client{ingress.port()};
  client.send(chat_request(chat_body()));
  auto admit = asked.get_future().get();
  std::this_thread::sleep_for(moment);
  ingress.world.grant(0, 1);
  admit(http::ticket_admitted{ingress.world.counters(0)->key()});
  CHECK(status_of(client.read_answer()) == 200);
  auto o = ingress.outcomes.wait_for(1)[0];
  CHECK(o.queued >= moment);
  CHECK(o.replica.total + o.queued <= o.total);
}

TEST_CASE("a client that reads slowly teaches no pace of decoding") {
  auto large = content_event(std::string(60'000, 'x'));
  mock_upstream replica{[&](mock_peer& peer, const mock_request&) {
    peer.send(stream_head());
    for (int i = 0; i < 200; ++i)
      peer.send(chunk(large));
    peer.send(chunk(std::string{finish_event} + std::string{done_event}) + std::string{last_chunk});
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  raw_client client{ingress.port(), 4'096};
  client.send(chat_request(chat_body(true)));
  REQUIRE(client.read_until("xxx"));
  // Meanwhile everything between here and the replica is full, so that its silence is ours.
  const auto& signs = ingress.world.counters(0)->signs();
  REQUIRE(test::eventually([&] { return !signs.look().is_busy(); }));
  CHECK(status_of(client.read_answer()) == 200);
  auto o = ingress.outcomes.wait_for(1)[0];
  CHECK(o.how == ending::served);
  CHECK(o.replica.held_up);
  CHECK(routing::lesson_of(o)->held_up);
}

TEST_CASE("a client that closes after the last event still leaves a lesson") {
  mock_upstream replica{[](mock_peer& peer, const mock_request&) {
    peer.send(stream_head() + chunk(content_event("Paris") + std::string{finish_event}));
    peer.send(chunk(done_event));
    peer.closed_within(10s);
    peer.close();
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  raw_client client{ingress.port()};
  client.send(chat_request(chat_body(true)));
  REQUIRE(client.read_until(done_event));
  client.close();
  auto o = ingress.outcomes.wait_for(1)[0];
  CHECK(o.how == ending::served);
  CHECK(routing::lesson_of(o)->total > 0us);
}
