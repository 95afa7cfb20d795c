#include "src/http/client.hpp"
#include "src/http/service_listener.hpp"
#include "tests/support/raw_client.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <optional>
#include <stdexcept>
#include <utility>

namespace assay::http {

namespace {

using namespace std::chrono_literals;

std::unique_ptr<service_listener> listen(service_options options, service_handler handler) {
  auto opened = service_listener::open(std::move(options), std::move(handler));
  REQUIRE(opened);
  return std::move(*opened);
}

service_response echo(const service_request& request) {
  auto body = request.method + " " + request.path;
  for (const auto& [key, value] : request.query)
    body += " " + key + "=" + value;
  return {200, "text/plain", body + " " + request.body};
}

client_address at(const service_listener& listener) {
  return {"127.0.0.1", listener.port(), {}};
}

} // namespace

TEST_CASE("a request reaches the handler with its path and query decoded") {
  auto listener = listen({}, echo);
  auto got = exchange(at(*listener), {"POST", "/a%20b?limit=5&name=x%2Fy", {}, "body"});
  REQUIRE(got);
  CHECK(got->status == 200);
  CHECK(got->body == "POST /a b limit=5 name=x/y body");
  CHECK(got->header("content-type") == "text/plain");
}

TEST_CASE("a unix socket is for its owner alone and names the peer") {
  auto path =
    std::filesystem::temp_directory_path() / ("assay-service-" + std::to_string(::getpid()));
  std::optional<std::uint32_t> seen;
  auto listener = listen({.unix_path = path.string()}, [&](const service_request& request) {
    seen = request.peer_uid;
    return service_response{};
  });
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  REQUIRE(exchange({.unix_path = path.string()}, {}));
  CHECK(seen == ::getuid());
  listener.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a body of exactly the limit passes and one byte more is refused") {
  auto listener = listen({.body_bytes = 8}, echo);
  CHECK(exchange(at(*listener), {"POST", "/", {}, "12345678"})->status == 200);
  CHECK(exchange(at(*listener), {"POST", "/", {}, "123456789"})->status == 413);
}

TEST_CASE("nobody listening is told apart from a peer that is silent") {
  std::uint16_t port = 0;
  {
    auto listener = listen({}, echo);
    port = listener->port();
  }
  auto refused = exchange({"127.0.0.1", port, {}}, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == client_failure::refused);

  std::promise<void> release;
  auto released = release.get_future().share();
  auto listener = listen({}, [released](const service_request&) {
    released.wait();
    return service_response{};
  });
  auto late = exchange(at(*listener), {}, {.first_byte = 30ms});
  release.set_value();
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == client_failure::timeout);
}

TEST_CASE("a sink that has had enough ends the exchange") {
  auto listener = listen({}, echo);
  auto got =
    exchange(at(*listener), {"POST", "/", {}, "x"}, {}, [](std::string_view) { return false; });
  REQUIRE_FALSE(got);
  CHECK(got.error().kind == client_failure::cancelled);
}

TEST_CASE("a body that is made piece by piece arrives whole, and the next request is answered") {
  auto listener = listen({}, [](const service_request&) {
    service_response answer{200, "application/octet-stream", {}};
    answer.next_piece = [left = 3]() mutable -> std::optional<std::string> {
      return left-- > 0 ? std::string(100'000, static_cast<char>('a' + left)) : std::string{};
    };
    return answer;
  });
  auto expected = std::string(100'000, 'c') + std::string(100'000, 'b') + std::string(100'000, 'a');
  for (int i = 0; i < 2; ++i) {
    auto got = exchange(at(*listener), {});
    REQUIRE(got);
    CHECK(got->body == expected);
  }
}

TEST_CASE("a body that cannot go on is cut, and nobody takes it for the whole") {
  auto listener = listen({}, [](const service_request&) {
    service_response answer{200, "application/octet-stream", {}};
    answer.next_piece = [first = true]() mutable -> std::optional<std::string> {
      return std::exchange(first, false) ? std::optional<std::string>{"half"} : std::nullopt;
    };
    return answer;
  });
  auto got = exchange(at(*listener), {});
  REQUIRE_FALSE(got);
  CHECK(got.error().kind == client_failure::cut);
}

TEST_CASE("an answer over the limit is cut off") {
  auto listener = listen({}, [](const service_request&) {
    return service_response{200, "text/plain", std::string(100'000, 'x')};
  });
  CHECK(exchange(at(*listener), {}, {.body_bytes = 100'000}));
  auto got = exchange(at(*listener), {}, {.body_bytes = 99'999});
  REQUIRE_FALSE(got);
  CHECK(got.error().kind == client_failure::too_large);
}

TEST_CASE("what is no HTTP is told so, and its connection ends") {
  auto listener = listen({}, echo);
  auto got = exchange(at(*listener), {"GET /one /two", "/three"});
  REQUIRE(got);
  CHECK(got->status == 400);
  CHECK(got->body.find("no HTTP/1.1 request") != std::string::npos);
  CHECK(exchange(at(*listener), {"GET", "/"})->status == 200);
}

TEST_CASE("a handler that throws costs its connection and nothing else") {
  auto listener = listen({}, [](const service_request& request) -> service_response {
    if (request.path == "/throw")
      throw std::runtime_error{"on purpose"};
    return {};
  });
  CHECK_FALSE(exchange(at(*listener), {"GET", "/throw"}));
  CHECK(exchange(at(*listener), {"GET", "/"}));
}

TEST_CASE("whoever has said nothing for longest makes room for the next, and nobody else does") {
  auto listener = listen({.connections = 2}, echo);
  tests::raw_client first{listener->port()}, second{listener->port()};
  auto third = exchange(at(*listener), {"GET", "/third"});
  REQUIRE(third);
  CHECK(third->status == 200);
  CHECK(first.read_all().empty());
  second.send("GET /second HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(tests::status_of(second.read_answer()) == 200);
}

TEST_CASE("a half sent request keeps no place either") {
  auto listener = listen({.connections = 1}, echo);
  tests::raw_client half{listener->port()};
  half.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
  CHECK(exchange(at(*listener), {"GET", "/"}));
  CHECK(half.read_all().empty());
}

namespace {

/// Its requests for `/wait` are answered once `release` is.
struct held_handler {
  std::promise<void> entered, release;
  std::shared_future<void> released = release.get_future().share();

  service_handler handler() {
    return [this](const service_request& request) {
      if (request.path == "/wait") {
        entered.set_value();
        released.wait();
      }
      return service_response{200, "text/plain", std::to_string(request.body.size())};
    };
  }
};

} // namespace

TEST_CASE("whoever is being answered is not closed for the next one") {
  held_handler held;
  auto listener = listen({.connections = 1}, held.handler());
  auto first = std::async(std::launch::async, [&] {
    return exchange(at(*listener), {"GET", "/wait"});
  });
  held.entered.get_future().wait();
  CHECK_FALSE(exchange(at(*listener), {"GET", "/"}));
  held.release.set_value();
  CHECK(first.get());
}

TEST_CASE("large bodies have one budget for all of them, and small ones need none") {
  constexpr auto large = 2 * limits::service_small_bytes;
  held_handler held;
  auto listener = listen({.bodies_bytes = 2 * large - 1}, held.handler());
  auto send = [&](const char* path, std::size_t bytes) {
    auto got = exchange(at(*listener), {"POST", path, {}, std::string(bytes, 'x')});
    return got ? got->status : 0;
  };
  auto first = std::async(std::launch::async, [&] { return send("/wait", large); });
  held.entered.get_future().wait();
  CHECK(send("/", large) == 503);
  CHECK(send("/", limits::service_small_bytes) == 200);
  held.release.set_value();
  CHECK(first.get() == 200);
  CHECK(send("/", large) == 200);
}

TEST_CASE("an answer that is larger than all of the budget is refused and not kept") {
  auto listener = listen({.bodies_bytes = 3 << 20}, [](const service_request& request) {
    return service_response{
      200, "text/plain", std::string(request.path == "/large" ? 4 << 20 : 2 << 20, 'x')};
  });
  CHECK(exchange(at(*listener), {"GET", "/large"})->status == 503);
  CHECK(exchange(at(*listener), {"GET", "/"})->status == 200);
}

TEST_CASE("only IP addresses, localhost and unix sockets are addresses") {
  CHECK(parse_client_address("http://127.0.0.1:7100/v1")->port == 7100);
  CHECK(parse_client_address("http://127.0.0.1")->port == 80);
  CHECK(parse_client_address("localhost:1")->host == "127.0.0.1");
  CHECK(parse_client_address("[::1]:8080")->host == "::1");
  CHECK(parse_client_address("unix:/run/x")->unix_path == "/run/x");
  for (auto text : {"", "127.0.0.1", "example.org:80", "1.2.3.4:x", "1.2.3.4:70000", "1.2.3.4:"})
    CHECK_FALSE(parse_client_address(text));
}

} // namespace assay::http
