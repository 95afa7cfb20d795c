// Every way to say two things with one head is refused, and what real clients send is taken.

#include "src/base/limits.hpp"
#include "src/http/framing.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include <string>

using namespace assay;
using namespace assay::http;

namespace {

std::string
head(std::string_view fields, std::string_view start = "POST /v1/chat/completions HTTP/1.1") {
  return std::string{start} + "\r\n" + std::string{fields} + "\r\n";
}

contract::failure failure_of(std::string_view bytes) {
  request_reader reader;
  REQUIRE(reader.read(bytes) == reading::failed);
  CHECK_FALSE(reader.why().empty());
  return reader.failure();
}

} // namespace

TEST_CASE("a head with two readings is refused") {
  auto fields = GENERATE(
    "Host: a\r\nTransfer-Encoding: xchunked\r\n",
    "Host: a\r\nTransfer-Encoding: chunked, identity\r\n",
    "Host: a\r\nTransfer-Encoding: identity\r\n",
    "Host: a\r\nTransfer-Encoding: identity\r\nContent-Length: 3\r\n",
    "Host: a\r\nTransfer-Encoding: Chunked\r\n",
    "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "Host: a\r\nTransfer-Encoding:\r\n",
    "Host: a\r\nTransfer-Encoding: \vchunked\r\n",
    "Host: a\r\nTransfer-Encoding : chunked\r\n",
    "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n",
    "Host: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n",
    "Host: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n",
    "Host: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n",
    "Host: a\r\nContent-Length: 3, 3\r\n",
    "Host: a\r\nContent-Length: +3\r\n",
    "Host: a\r\nContent-Length: -3\r\n",
    "Host: a\r\nContent-Length: 0x3\r\n",
    "Host: a\r\nContent-Length: 3 3\r\n",
    "Host: a\r\nContent-Length:\r\n",
    "Host: a\r\nContent-Length: 9999999999999999999\r\n",
    "Host: a\r\nContent-Length : 3\r\n",
    "Host: a\r\n Content-Length: 3\r\n",
    "Host: a\r\nX: 1\r\n\tfolded\r\n",
    "Host: a\r\nX: 1\r\n folded\r\n",
    "Host: a\r\nHost: a\r\n",
    "Host: a\r\nHost: b\r\n",
    "Host: a, b\r\n",
    "Host: a/b\r\n",
    "Host:\r\n",
    "X: 1\r\n",
    "",
    "Host: a\r\nX: a\rb\r\n",
    "Host: a\r\nX: a\nY: b\r\n",
    "Host: a\nContent-Length: 3\r\n",
    "Host: a\r\nX\r\n",
    "Host: a\r\n: empty name\r\n",
    "Host: a\r\nX y: 1\r\n",
    "Host: a\r\nX\x80: 1\r\n"
  );
  INFO(fields);
  CHECK(failure_of(head(fields)) == contract::failure::bad_framing);
}

TEST_CASE("a NUL byte is refused wherever it stands in a head") {
  using namespace std::string_literals;
  CHECK(failure_of("POST /\0 HTTP/1.1\r\nHost: a\r\n\r\n"s) == contract::failure::bad_framing);
  CHECK(
    failure_of("POST / HTTP/1.1\r\nHost: a\r\nX\0: 1\r\n\r\n"s) == contract::failure::bad_framing
  );
  CHECK(
    failure_of("POST / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n"s) == contract::failure::bad_framing
  );
}

TEST_CASE("a transfer coding on HTTP/1.0 is refused") {
  auto bytes = head("Host: a\r\nTransfer-Encoding: chunked\r\n", "POST / HTTP/1.0");
  CHECK(failure_of(bytes) == contract::failure::bad_framing);
}

TEST_CASE("a request line that is not one is refused") {
  auto start = GENERATE(
    "POST /",
    "POST  / HTTP/1.1",
    "POST / x HTTP/1.1",
    "POST /a#b HTTP/1.1",
    "POST http://other/ HTTP/1.1",
    "POST / HTTP/2.0",
    "POST / HTTP/1.2",
    "POST / http/1.1",
    "PO(ST / HTTP/1.1",
    "PRI * HTTP/2.0",
    "POST / HTTP/1.1 "
  );
  INFO(start);
  CHECK(failure_of(head("Host: a\r\n", start)) == contract::failure::bad_framing);
}

TEST_CASE("noise is refused at its first byte") {
  CHECK(failure_of("\x16\x03\x01") == contract::failure::bad_framing);
  CHECK(failure_of("\r\n") == contract::failure::bad_framing);
}

TEST_CASE("the longest head passes and a byte more is 431") {
  auto with_size = [](std::size_t size) {
    auto bytes = head("Host: a\r\nX: \r\n");
    bytes.insert(bytes.find("X: ") + 3, std::string(size - bytes.size(), 'x'));
    return bytes;
  };
  request_reader reader;
  CHECK(reader.read(with_size(limits::head_bytes)) == reading::complete);
  CHECK(failure_of(with_size(limits::head_bytes + 1)) == contract::failure::head_too_large);
  CHECK(
    failure_of("GET / HTTP/1.1\r\nX: " + std::string(limits::head_bytes, 'x'))
    == contract::failure::head_too_large
  );
}

TEST_CASE("the last allowed header field passes and one more is 431") {
  std::string fields = "Host: a\r\n";
  for (std::size_t i = 1; i < limits::headers; ++i)
    fields += "X: 1\r\n";
  request_reader reader;
  CHECK(reader.read(head(fields)) == reading::complete);
  CHECK(failure_of(head(fields + "X: 1\r\n")) == contract::failure::head_too_large);
}

TEST_CASE("the longest target passes and a byte more is 414") {
  auto target = "/" + std::string(limits::uri_bytes - 1, 'a');
  request_reader reader;
  CHECK(reader.read(head("Host: a\r\n", "GET " + target + " HTTP/1.1")) == reading::complete);
  CHECK(
    failure_of(head("Host: a\r\n", "GET " + target + "a HTTP/1.1"))
    == contract::failure::uri_too_long
  );
  CHECK(
    failure_of("GET /" + std::string(limits::uri_bytes + 100, 'a'))
    == contract::failure::uri_too_long
  );
}

TEST_CASE("a head that arrives byte by byte reads the same") {
  auto bytes = head(
    "Host: a:7100\r\nAuthorization: Bearer k\r\nExpect: 100-Continue\r\ncontent-length: 12\r\n"
    "Connection: close, X-Mine\r\nx-assay-pin: m/p/a\r\nempty:\r\n",
    "POST /v1/chat/completions?beta=true HTTP/1.1"
  );
  request_reader reader;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    REQUIRE(reader.read(std::string_view{bytes}.substr(0, size)) == reading::incomplete);
  bytes += "the next one";
  REQUIRE(reader.read(bytes) == reading::complete);
  const auto& got = reader.head();
  CHECK(got.method.of(bytes) == "POST");
  CHECK(got.path.of(bytes) == "/v1/chat/completions");
  CHECK(got.target.of(bytes) == "/v1/chat/completions?beta=true");
  CHECK(got.framing == body_framing::sized);
  CHECK(got.content_length == 12);
  CHECK(got.expects_continue);
  CHECK_FALSE(got.keep_alive);
  CHECK(bytes.substr(got.bytes) == "the next one");
  REQUIRE(got.fields.size() == 7);
  CHECK(got.fields[1].kind == field_kind::credential);
  CHECK(got.fields[5].kind == field_kind::assay);
  CHECK(got.fields[6].value.of(bytes).empty());
}

TEST_CASE("HTTP/1.0 stays open only when asked to") {
  request_reader reader;
  REQUIRE(reader.read(head("Host: a\r\n", "GET / HTTP/1.0")) == reading::complete);
  CHECK_FALSE(reader.head().keep_alive);
  reader.reset();
  REQUIRE(
    reader.read(head("Host: a\r\nConnection: Keep-Alive\r\n", "GET / HTTP/1.0"))
    == reading::complete
  );
  CHECK(reader.head().keep_alive);
}

TEST_CASE("an unknown expectation is told from 100-continue") {
  request_reader reader;
  REQUIRE(reader.read(head("Host: a\r\nExpect: tea\r\n")) == reading::complete);
  CHECK(reader.head().expects_other);
  CHECK_FALSE(reader.head().expects_continue);
}

TEST_CASE("an answer's body ends where its head says") {
  struct row {
    std::string bytes;
    body_framing framing;
    bool keep_alive;
  };
  auto [bytes, framing, keep_alive] = GENERATE(
    row{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", body_framing::sized, true},
    row{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", body_framing::chunked, true},
    row{"HTTP/1.1 200 OK\r\n\r\n", body_framing::until_close, false},
    row{"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n", body_framing::sized, false},
    row{"HTTP/1.1 204 No Content\r\n\r\n", body_framing::none, true},
    row{"HTTP/1.1 304\r\nContent-Length: 5\r\n\r\n", body_framing::none, true},
    row{
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n",
      body_framing::sized,
      false}
  );
  INFO(bytes);
  response_reader reader;
  REQUIRE(reader.read(bytes) == reading::complete);
  CHECK(reader.head().framing == framing);
  CHECK(reader.head().keep_alive == keep_alive);
}

TEST_CASE("an answer with two readings is the replica's failure") {
  auto bytes = GENERATE(
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/2 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\n\r\n",
    "garbage\r\n"
  );
  INFO(bytes);
  response_reader reader;
  CHECK(reader.read(bytes) == reading::failed);
}
