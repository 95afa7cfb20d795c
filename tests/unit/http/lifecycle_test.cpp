// Clients that leave, queues, draining, and what remains after all of it: nothing.

#include "tests/unit/http/ingress_fixture.hpp"

#include <arpa/inet.h>
#include <catch2/generators/catch_generators_all.hpp>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>

using namespace assay;
using namespace assay::tests;

namespace {

/// A replica that takes the request and waits for its cancellation.
mock_upstream::script waits_for_cancel(std::atomic<int>& cancelled, std::string first = {}) {
  return [&cancelled, first = std::move(first)](mock_peer& peer, const mock_request&) {
    peer.send(first);
    if (peer.closed_within(10s))
      ++cancelled;
    peer.close();
  };
}

/// A listener whose backlog is full: it answers no SYN.
class full_listener {
public:
  full_listener() : socket_{::socket(AF_INET, SOCK_STREAM, 0)} {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(socket_, 0) == 0);
    socklen_t size = sizeof at;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    fills_.emplace(port_);
  }
  ~full_listener() { ::close(socket_); }
  full_listener(const full_listener&) = delete;
  full_listener& operator=(const full_listener&) = delete;

  std::uint16_t port() const { return port_; }

private:
  int socket_;
  std::uint16_t port_ = 0;
  std::optional<raw_client> fills_;
};

void wait_until(auto condition) {
  for (int i = 0; i < 10'000 && !condition(); ++i)
    ::usleep(1'000);
  REQUIRE(condition());
}

} // namespace

TEST_CASE("a client that leaves in prefill cancels the replica, which has said nothing yet") {
  auto resets = GENERATE(false, true);
  std::atomic<int> cancelled{0};
  mock_upstream replica{waits_for_cancel(cancelled)};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  for (int i = 0; i < 20; ++i) {
    raw_client client{ingress.port()};
    client.send(chat_request(chat_body(true)));
    REQUIRE(replica.saw(static_cast<std::size_t>(i + 1)));
    resets ? client.reset() : client.close();
    wait_until([&] { return cancelled == i + 1; });
  }
  CHECK(ingress.outcomes.wait_for(20)[0].how == routing::ending::client_gone);
  CHECK(ingress.all_released());
}

TEST_CASE("a client that leaves in mid-stream cancels the replica") {
  std::atomic<int> cancelled{0};
  mock_upstream replica{waits_for_cancel(cancelled, stream_head() + chunk(content_event("Pa")))};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  raw_client client{ingress.port()};
  client.send(chat_request(chat_body(true)));
  REQUIRE(client.read_until("Pa"));
  client.close();
  wait_until([&] { return cancelled == 1; });
  CHECK(ingress.outcomes.wait_for(1)[0].how == routing::ending::client_gone);
  CHECK(ingress.all_released());
}

TEST_CASE("a client that has sent more is not taken for gone, and one that then leaves is") {
  std::atomic<int> cancelled{0};
  mock_upstream replica{waits_for_cancel(cancelled)};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  raw_client client{ingress.port()};
  client.send(chat_request(chat_body()) + chat_request(chat_body()));
  REQUIRE(replica.saw(1));
  CHECK(cancelled == 0);
  client.close();
  wait_until([&] { return cancelled == 1; });
  CHECK(replica.requests().size() == 1);
}

TEST_CASE("a client that leaves while the connection to the replica is being made is let go") {
  full_listener listener;
  ingress_fixture ingress{{{listener.port()}}};
  ingress.start();
  raw_client client{ingress.port()};
  client.send(chat_request(chat_body()));
  wait_until([&] { return ingress.server->stats().upstream_connects == 1; });
  client.close();
  CHECK(ingress.outcomes.wait_for(1)[0].how == routing::ending::client_gone);
  CHECK(ingress.all_released());
}

TEST_CASE("a connection that is not made in time is tried elsewhere or is 502") {
  full_listener listener;
  ingress_fixture ingress{{{listener.port()}}};
  ingress.options.limits.connect = 50ms;
  ingress.start();
  raw_client client{ingress.port()};
  client.send(chat_request(chat_body()));
  CHECK(status_of(client.read_answer()) == 502);
}

namespace {

/// Keeps what was asked of the queue.
struct ticket_desk {
  void attach(http::ingress_hooks& hooks) {
    hooks.ask_ticket = [this](http::ticket_request r, http::ticket_completion done) {
      std::lock_guard hold{mutex};
      asked.push_back({std::move(r), std::move(done)});
    };
    hooks.withdraw_ticket = [this](std::uint64_t number) {
      std::lock_guard hold{mutex};
      withdrawn.push_back(number);
    };
    hooks.settle_ticket = [this](std::uint64_t number) {
      std::lock_guard hold{mutex};
      settled.push_back(number);
    };
  }
  std::size_t size(auto ticket_desk::*list) {
    std::lock_guard hold{mutex};
    return (this->*list).size();
  }
  std::pair<http::ticket_request, http::ticket_completion> at(std::size_t i) {
    std::lock_guard hold{mutex};
    return asked[i];
  }

  std::mutex mutex;
  std::vector<std::pair<http::ticket_request, http::ticket_completion>> asked;
  std::vector<std::uint64_t> withdrawn;
  std::vector<std::uint64_t> settled;
};

struct queueing {
  queueing() : replica{answers(json_answer(paris))}, ingress{{{replica.port(), 0}}} {
    desk.attach(ingress.hooks);
  }
  void start() {
    ingress.start();
    client.emplace(ingress.port());
    client->send(chat_request(chat_body()));
    wait_until([&] { return desk.size(&ticket_desk::asked) == 1; });
  }
  ticket_desk desk;
  mock_upstream replica;
  ingress_fixture ingress;
  std::optional<raw_client> client;

  pool::endpoint_key where() { return ingress.world.counters(0)->key(); }
};

} // namespace

TEST_CASE("a request without a free credit waits for its turn and is then served") {
  queueing q;
  q.start();
  CHECK(q.replica.requests().empty());
  CHECK(q.desk.at(0).first.acceptable[0].value == "small/pool-0/weights");
  q.ingress.world.grant(0, 1);
  q.desk.at(0).second(http::ticket_admitted{q.where()});
  CHECK(status_of(q.client->read_answer()) == 200);
  CHECK(q.desk.size(&ticket_desk::settled) == 1);
  CHECK(q.desk.size(&ticket_desk::withdrawn) == 0);
  CHECK(q.ingress.outcomes.wait_for(1)[0].queued > 0us);
  CHECK(q.ingress.all_released());
}

TEST_CASE("an admission that comes to nothing is asked for again under the same number") {
  queueing q;
  q.start();
  q.desk.at(0).second(http::ticket_admitted{q.where()}); // And no credit.
  wait_until([&] { return q.desk.size(&ticket_desk::asked) == 2; });
  CHECK(q.desk.at(0).first.number == q.desk.at(1).first.number);
  q.ingress.world.grant(0, 1);
  q.desk.at(0).second(http::ticket_admitted{q.where()}); // A late repeat does nothing twice.
  CHECK(status_of(q.client->read_answer()) == 200);
}

TEST_CASE("a client that leaves the queue withdraws its ticket") {
  queueing q;
  q.start();
  q.client->close();
  wait_until([&] { return q.desk.size(&ticket_desk::withdrawn) == 1; });
  CHECK(q.ingress.outcomes.wait_for(1)[0].how == routing::ending::client_gone);
  q.desk.at(0).second(http::ticket_admitted{q.where()}); // Late, and harmless.
  CHECK(q.replica.requests().empty());
}

TEST_CASE("a queue that refuses, or takes too long, is 503 with Retry-After") {
  queueing q;
  q.ingress.options.limits.queue_wait = 100ms;
  auto refuses = GENERATE(true, false);
  q.start();
  if (refuses)
    q.desk.at(0).second(http::ticket_refused{pool::ticket_refusal::queue_full, 7s});
  auto answer = q.client->read_answer();
  CHECK(status_of(answer) == 503);
  CHECK(header_of(answer, "retry-after") == (refuses ? "7" : "1"));
  CHECK(header_of(answer, "x-assay-decision").starts_with("ingress-0-"));
  CHECK(q.desk.size(&ticket_desk::withdrawn) == (refuses ? 0 : 1));
}

TEST_CASE("a ticket answered after the server has ended does nothing") {
  queueing q;
  q.start();
  auto late = q.desk.at(0).second;
  q.ingress.server->stop(0ms);
  q.ingress.server.reset();
  late(http::ticket_admitted{q.where()});
  CHECK(q.desk.size(&ticket_desk::withdrawn) == 1);
}

TEST_CASE("stopping lets requests finish, and takes no new ones") {
  std::atomic<bool> may_finish{false};
  mock_upstream replica{[&](mock_peer& peer, const mock_request&) {
    while (!may_finish)
      std::this_thread::yield();
    peer.send(json_answer(paris));
  }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  raw_client idle{ingress.port()};
  raw_client busy{ingress.port()};
  busy.send(chat_request(chat_body()));
  REQUIRE(replica.saw(1));
  std::thread stopping{[&] { ingress.server->stop(10s); }};
  CHECK(idle.read_all().empty());
  may_finish = true;
  auto answer = busy.read_answer();
  CHECK(status_of(answer) == 200);
  CHECK(header_of(answer, "connection") == "close");
  busy.close();
  stopping.join();
  CHECK(ingress.server->stats().open == 0);
}

TEST_CASE("stopping cuts what does not finish in time") {
  std::atomic<int> cancelled{0};
  mock_upstream replica{waits_for_cancel(cancelled)};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.start();
  raw_client client{ingress.port()};
  client.send(chat_request(chat_body()));
  REQUIRE(replica.saw(1));
  ingress.server->stop(20ms);
  CHECK(client.read_all().empty());
  wait_until([&] { return cancelled == 1; });
  CHECK(ingress.world.counters(0)->in_flight() == 0);
}

TEST_CASE("an address that others can reach is refused unless clear text is accepted") {
  http::ingress_options options;
  options.address = "0.0.0.0";
  http::ingress_server refused{options, {}};
  auto started = refused.start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().kind == problem_kind::refused);
  options.plaintext_accepted = true;
  http::ingress_server accepted{options, {}};
  CHECK(accepted.start().has_value());
}

TEST_CASE("a port that is taken is named") {
  http::ingress_server first{{}, {}};
  REQUIRE(first.start().has_value());
  http::ingress_options options;
  options.port = first.port();
  http::ingress_server second{options, {}};
  auto started = second.start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().where == "127.0.0.1:" + std::to_string(first.port()));
}

TEST_CASE("without a snapshot everything is 503, and a posted one is used at once") {
  mock_upstream replica{answers(json_answer(paris))};
  ingress_fixture ingress{{{replica.port()}}};
  http::ingress_server server{ingress.options, ingress.hooks};
  REQUIRE(server.start().has_value());
  raw_client client{server.port()};
  client.send(chat_request(chat_body()));
  CHECK(status_of(client.read_answer()) == 503);
  server.post_snapshot(ingress.world.snapshot());
  client.send(chat_request(chat_body()));
  CHECK(status_of(client.read_answer()) == 200);
  server.stop(0ms);
}

TEST_CASE("a decision is found under the id that the answer carried, by its own thread") {
  mock_upstream replica{answers(json_answer(paris))};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.options.threads = 2;
  ingress.options.boot = 42;
  ingress.start();
  for (int i = 0; i < 8; ++i) {
    raw_client client{ingress.port()};
    client.send(chat_request(chat_body()));
    decision_id id{header_of(client.read_answer(), "x-assay-decision")};
    std::promise<bool> found;
    ingress.server->find_decision(id, [&](auto got) {
      found.set_value(got.has_value() && got->trace.implementation == 0);
    });
    CHECK(found.get_future().get());
  }
  std::promise<bool> missing;
  ingress.server->find_decision({"ingress-41-2"}, [&](auto got) {
    missing.set_value(got.error() == http::ingress_server::decision_miss::not_ours);
  });
  CHECK(missing.get_future().get());
}

TEST_CASE("many clients on two threads are each answered with their own answer") {
  mock_upstream replica{
    [](mock_peer& peer, const mock_request& r) { peer.send(json_answer(r.body)); }};
  ingress_fixture ingress{{{replica.port()}}};
  ingress.options.threads = 2;
  ingress.start();
  auto snapshot = ingress.world.snapshot();
  std::atomic<int> wrong{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c)
    clients.emplace_back([&, c] {
      raw_client client{ingress.port()};
      for (int i = 0; i < 50; ++i) {
        auto body = R"({"model":"small","who":")" + std::to_string(c * 1'000 + i) + "\"}";
        client.send(chat_request(body));
        wrong += body_of(client.read_answer()) != body;
        if (i % 10 == 0)
          ingress.server->post_snapshot(snapshot);
      }
    });
  for (auto& t : clients)
    t.join();
  CHECK(wrong == 0);
  CHECK(ingress.all_released());
}
