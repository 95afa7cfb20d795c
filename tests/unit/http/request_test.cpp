// What the ingress does with a request before any replica sees it, and what the replica then sees.

#include "src/base/limits.hpp"
#include "tests/unit/http/ingress_fixture.hpp"

#include <catch2/generators/catch_generators_all.hpp>

using namespace assay;
using namespace assay::tests;

namespace {

struct one_replica {
  explicit one_replica(mock_upstream::script script = answers(json_answer(paris)))
    : replica{std::move(script)}, ingress{{{replica.port()}}} {}

  mock_upstream replica;
  ingress_fixture ingress;

  std::string ask(std::string_view request) {
    raw_client client{ingress.port()};
    client.send(request);
    return client.read_answer();
  }
};

} // namespace

TEST_CASE("the replica's answer and the caller's body pass byte for byte") {
  one_replica w;
  w.ingress.start();
  auto body =
    "{ \"model\" : \"small\",\t\"messages\":[{\"content\":\"\\u00e9\xc3\xa9\"}], \"top_k\":5 }\n";
  auto answer = w.ask(chat_request(body));
  CHECK(status_of(answer) == 200);
  CHECK(body_of(answer) == paris);
  REQUIRE(w.replica.saw(1));
  CHECK(w.replica.requests()[0].body == body);
}

TEST_CASE("the head is rebuilt: no key, cookie or hop-by-hop field of the caller gets through") {
  one_replica w;
  w.ingress.start();
  auto answer = w.ask(chat_request(
    chat_body(),
    "Cookie: session=1\r\nX-Api-Key: sk-test-interactive\r\nConnection: keep-alive, X-Private\r\n"
    "X-Private: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nAccept-Encoding: gzip\r\nX-Assay-Decision: "
    "9\r\n"
    "traceparent: 00-1\r\nX-Request-Id: mine-1\r\nX-Forwarded-For: "
    "10.0.0.9\r\nProxy-Authorization: b\r\n"
  ));
  REQUIRE(w.replica.saw(1));
  auto head = w.replica.requests()[0].head;
  INFO(head);
  CHECK(head.find("sk-test") == head.npos);
  CHECK(header_of(head, "authorization") == "Bearer replica-secret");
  CHECK(header_of(head, "host") == w.replica.address());
  CHECK(header_of(head, "accept-encoding") == "identity");
  CHECK(header_of(head, "traceparent") == "00-1");
  CHECK(header_of(head, "x-request-id") == "mine-1");
  CHECK(header_of(head, "x-forwarded-for") == "10.0.0.9, 127.0.0.1");
  for (auto gone :
       {"cookie",
        "x-api-key",
        "connection",
        "x-private",
        "keep-alive",
        "te",
        "x-assay-decision",
        "proxy-authorization",
        "transfer-encoding"}) {
    INFO(gone);
    CHECK(header_of(head, gone).empty());
  }
  CHECK(header_of(answer, "x-request-id") == "mine-1");
  CHECK(header_of(answer, "x-assay-implementation") == "small/pool-0/weights");
  CHECK(header_of(answer, "x-assay-pool") == "pool-0");
  CHECK(header_of(answer, "x-assay-route-generation") == "7");
  CHECK(header_of(answer, "x-assay-decision").starts_with("ingress-0-"));
}

TEST_CASE("a contract that hides its metadata shows no x-assay headers") {
  one_replica w;
  w.ingress.world.promises.expose_metadata = false;
  w.ingress.start();
  auto answer = w.ask(chat_request(chat_body()));
  CHECK(status_of(answer) == 200);
  CHECK(answer.find("x-assay") == answer.npos);
}

TEST_CASE("only the model's name is replaced when the replica calls it otherwise") {
  mock_upstream replica{answers(json_answer(paris))};
  ingress_fixture ingress{{{replica.port(), 10, "s", "inner/name"}}};
  ingress.start();
  raw_client client{ingress.port()};
  client.send(chat_request("{ \"model\" : \"small@1\" , \"messages\": [ ] }"));
  CHECK(status_of(client.read_answer()) == 200);
  REQUIRE(replica.saw(1));
  CHECK(replica.requests()[0].body == "{ \"model\" : \"inner/name\" , \"messages\": [ ] }");
}

TEST_CASE("a request that trickles in byte by byte is served like any other") {
  one_replica w;
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send_slowly(chat_request(chat_body()));
  CHECK(body_of(client.read_answer()) == paris);
  CHECK(w.replica.requests()[0].body == chat_body());
}

TEST_CASE("pipelined requests are answered in order, each whole") {
  one_replica w{[](mock_peer& peer, const mock_request& r) { peer.send(json_answer(r.body)); }};
  w.ingress.start();
  raw_client client{w.ingress.port()};
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += chat_request(R"({"model":"small","i":)" + std::to_string(i) + "}");
  client.send(all);
  for (int i = 0; i < 50; ++i)
    REQUIRE(body_of(client.read_answer()) == R"({"model":"small","i":)" + std::to_string(i) + "}");
}

TEST_CASE("a large body arrives whole, and the next request behind it too") {
  one_replica w{[](mock_peer& peer, const mock_request& r) {
    peer.send(json_answer(std::to_string(r.body.size())));
  }};
  w.ingress.start();
  auto body = [](std::size_t size) {
    std::string text = R"({"model":"small","x":")";
    return text + std::string(size - text.size() - 2, 'y') + "\"}";
  };
  raw_client client{w.ingress.port()};
  auto size = GENERATE(16'000u, 16'384u, 32'700u, 32'768u, 33'000u, 70'000u, 3'000'000u);
  client.send(chat_request(body(size)) + chat_request(chat_body()));
  CHECK(body_of(client.read_answer()) == std::to_string(size));
  CHECK(body_of(client.read_answer()) == std::to_string(chat_body().size()));
  CHECK(w.replica.requests()[0].body == body(size));
  CHECK(w.ingress.server->stats().buffered_bytes == 0);
}

TEST_CASE("a chunked body is forwarded with its length, and the next request is not eaten") {
  one_replica w;
  w.ingress.start();
  std::string request =
    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: sk-test-interactive\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";
  auto body = chat_body();
  for (auto c : body)
    request += "1;e=1\r\n" + std::string{c} + "\r\n";
  request += "0\r\nX-Trailer: 1\r\n\r\n";
  raw_client client{w.ingress.port()};
  client.send(request + request);
  CHECK(body_of(client.read_answer()) == paris);
  CHECK(body_of(client.read_answer()) == paris);
  auto seen = w.replica.requests();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].body == body);
  CHECK(header_of(seen[0].head, "content-length") == std::to_string(body.size()));
}

TEST_CASE("a request that cannot be trusted is refused, the connection ends, no replica sees it") {
  struct row {
    std::string bytes;
    int status;
  };
  auto [bytes, status] = GENERATE(
    row{
      "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n",
      400},
    row{
      "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
      "sk-test-interactive\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      400},
    row{"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(70'000, 'x'), 431},
    row{"GET /" + std::string(9'000, 'x') + " HTTP/1.1\r\n", 414},
    row{"GET /healthz HTTP/1.1\r\n\r\n", 400},
    row{"\x16\x03\x01", 400}
  );
  one_replica w;
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send(bytes);
  auto all = client.read_all();
  INFO(all);
  CHECK(status_of(all) == status);
  CHECK(header_of(all, "connection") == "close");
  CHECK(body_of(all).find("\"error\"") != all.npos);
  CHECK(client.is_closed());
  CHECK(w.replica.requests().empty());
}

TEST_CASE("a head of a gigabyte is cut at the limit") {
  one_replica w;
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send("GET / HTTP/1.1\r\nX: ");
  for (int i = 0; i < 1'024; ++i)
    client.send(std::string(1'024, 'x'));
  auto all = client.read_all();
  // A sender that goes on far past the limit may lose the answer to its own reset.
  auto answered = all.empty() || status_of(all) == 431;
  CHECK(answered);
  CHECK(client.is_closed());
}

TEST_CASE("a body that routing cannot read is answered 400, and the connection stays") {
  one_replica w;
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send(chat_request("[]") + chat_request("{}") + chat_request(chat_body()));
  auto first = client.read_answer();
  CHECK(status_of(first) == 400);
  CHECK(header_of(first, "x-should-retry") == "false");
  auto second = client.read_answer();
  CHECK(status_of(second) == 400);
  CHECK(body_of(second).find(R"("param":"model")") != std::string_view::npos);
  CHECK(status_of(client.read_answer()) == 200);
}

TEST_CASE("no key, an unknown one, or two that differ is 401") {
  one_replica w;
  w.ingress.start();
  auto fields = GENERATE(
    "",
    "Authorization: Bearer nobody\r\n",
    "Authorization: Basic sk-test-interactive\r\n",
    "x-api-key: other\r\nAuthorization: Bearer sk-test-interactive\r\n"
  );
  auto answer = w.ask(
    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n" + std::string{fields}
    + "Content-Length: 2\r\n\r\n{}"
  );
  CHECK(status_of(answer) == 401);
  CHECK(header_of(answer, "www-authenticate") == "Bearer");
  CHECK(answer.find("sk-test") == answer.npos);
}

TEST_CASE("a HEAD is answered by a head alone, and the next answer follows it at once") {
  one_replica w;
  w.ingress.start();
  raw_client client{w.ingress.port()};
  client.send(
    "HEAD /v1/models HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n"
  );
  REQUIRE(client.read_until("HTTP/1.1 404"));
  CHECK(client.held().starts_with("HTTP/1.1 405"));
  CHECK(client.held().find("\r\n\r\nHTTP/1.1 404") != std::string::npos);
}

TEST_CASE("other paths, methods and upgrades are told what there is") {
  one_replica w;
  w.ingress.start();
  auto ask = [&](std::string_view line, std::string_view fields = "") {
    return w.ask(std::string{line} + " HTTP/1.1\r\nHost: a\r\n" + std::string{fields} + "\r\n");
  };
  CHECK(status_of(ask("GET /v1/nothing")) == 404);
  auto method = ask("GET /v1/chat/completions");
  CHECK(status_of(method) == 405);
  CHECK(header_of(method, "allow") == "POST");
  CHECK(header_of(ask("DELETE /v1/models"), "allow") == "GET");
  auto upgrade = ask("GET /v1/responses", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
  CHECK(status_of(upgrade) == 426);
  CHECK(header_of(upgrade, "connection") == "close");
}

TEST_CASE("the models of a key are listed, and one is shown with its contract") {
  one_replica w;
  w.ingress.start();
  auto ask = [&](std::string_view path) {
    return w.ask(
      "GET " + std::string{path} + " HTTP/1.1\r\nHost: a\r\nx-api-key: sk-test-interactive\r\n\r\n"
    );
  };
  CHECK(
    body_of(ask("/v1/models"))
    == R"({"object":"list","data":[{"id":"small","object":"model","created":0,"owned_by":"assay"}]})"
  );
  CHECK(body_of(ask("/v1/models/small")).find("\"contract\"") != std::string_view::npos);
  CHECK(body_of(ask("/v1/models/sm%61ll%401")).find("\"contract\"") != std::string_view::npos);
  CHECK(status_of(ask("/v1/models/none")) == 404);
  CHECK(status_of(w.ask("GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n")) == 401);
}

TEST_CASE("an unknown model is 404 and says so") {
  one_replica w;
  w.ingress.start();
  auto answer = w.ask(chat_request(chat_body(false, "none")));
  CHECK(status_of(answer) == 404);
  CHECK(body_of(answer).find("model_not_found") != std::string_view::npos);
}

TEST_CASE("the longest body passes; one byte more is 413, told before it is read") {
  one_replica w;
  w.ingress.options.limits.body_bytes = 1'000;
  w.ingress.start();
  auto body = chat_body();
  auto padded = [&](std::size_t size) { return body + std::string(size - body.size(), ' '); };
  CHECK(status_of(w.ask(chat_request(padded(1'000)))) == 200);
  raw_client client{w.ingress.port()};
  client.send(chat_request(padded(1'001)));
  auto all = client.read_all();
  CHECK(status_of(all) == 413);
  CHECK(header_of(all, "connection") == "close");
  CHECK(body_of(all).find("1001 bytes, allowed are 1000") != std::string_view::npos);
  raw_client chunks{w.ingress.port()};
  chunks.send(
    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: sk-test-interactive\r\n"
    "Transfer-Encoding: chunked\r\n\r\n3e9\r\n"
    + padded(1'001) + "\r\n0\r\n\r\n"
  );
  CHECK(status_of(chunks.read_all()) == 413);
}

TEST_CASE("bodies together stay inside their memory") {
  one_replica w;
  w.ingress.options.limits.bodies_bytes = 100'000;
  w.ingress.start();
  raw_client holds{w.ingress.port()};
  auto large = chat_request(chat_body() + std::string(80'000, ' '));
  holds.send(large.substr(0, 1'000)); // Announced, and most of it not sent.
  while (w.ingress.server->stats().buffered_bytes == 0)
    std::this_thread::yield();
  auto refused = w.ask(large);
  CHECK(status_of(refused) == 503);
  CHECK_FALSE(header_of(refused, "retry-after").empty());
  holds.send(large.substr(1'000));
  CHECK(status_of(holds.read_answer()) == 200);
  CHECK(w.ingress.server->stats().buffered_bytes == 0);
}

TEST_CASE("a client that has closed its side is told what is wrong, and is gone for anything else"
) {
  one_replica w{[](mock_peer& peer, const mock_request&) {
    peer.closed_within(10s);
    peer.close();
  }};
  w.ingress.start();
  for (bool good : {false, true}) {
    raw_client client{w.ingress.port()};
    client.send(chat_request(good ? chat_body() : "["));
    client.finish_sending();
    auto answer = client.read_all();
    CHECK((good ? answer.empty() : status_of(answer) == 400));
  }
  CHECK(w.ingress.outcomes.wait_for(2)[1].how == routing::ending::client_gone);
}

TEST_CASE("Expect: 100-continue is answered once the head is found good, and not before") {
  one_replica w;
  w.ingress.start();
  auto request = chat_request(chat_body(), "Expect: 100-continue\r\n");
  auto head = request.substr(0, request.find("\r\n\r\n") + 4);
  raw_client client{w.ingress.port()};
  client.send(head);
  REQUIRE(client.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  client.send(chat_body());
  REQUIRE(client.read_until(paris));
  CHECK(header_of(w.replica.requests()[0].head, "expect").empty());
  raw_client stranger{w.ingress.port()};
  auto bad = chat_request(chat_body(), "Expect: 100-continue\r\n", "nobody");
  stranger.send(bad.substr(0, bad.find("\r\n\r\n") + 4));
  CHECK(status_of(stranger.read_all()) == 401);
  CHECK(status_of(w.ask(chat_request(chat_body(), "Expect: tea\r\n"))) == 417);
}

TEST_CASE("a compressed body is 415") {
  one_replica w;
  w.ingress.start();
  CHECK(status_of(w.ask(chat_request(chat_body(), "Content-Encoding: gzip\r\n"))) == 415);
}

TEST_CASE("a pin is for evaluation keys only") {
  one_replica w;
  w.ingress.start();
  auto pin = "X-Assay-Pin: small/pool-0/weights\r\n";
  CHECK(status_of(w.ask(chat_request(chat_body(), pin))) == 403);
  CHECK(status_of(w.ask(chat_request(chat_body(), pin, evaluation_key))) == 200);
  auto bad = std::string{pin} + "X-Assay-Pin-Fingerprint: x\r\n";
  CHECK(status_of(w.ask(chat_request(chat_body(), bad, evaluation_key))) == 400);
}

TEST_CASE("a client too slow with its head or body gets 408, an idle one is closed silently") {
  one_replica w;
  w.ingress.options.limits.head = 50ms;
  w.ingress.options.limits.idle = 50ms;
  w.ingress.options.limits.write_stall = 50ms;
  w.ingress.start();
  raw_client idle{w.ingress.port()};
  CHECK(idle.read_all().empty());
  raw_client head{w.ingress.port()};
  head.send("POST /v1");
  CHECK(status_of(head.read_all()) == 408);
  auto size = GENERATE(100u, 100'000u);
  raw_client body{w.ingress.port()};
  auto request = chat_request(chat_body() + std::string(size, ' '));
  body.send(request.substr(0, request.size() - 1));
  CHECK(status_of(body.read_all()) == 408);
}
