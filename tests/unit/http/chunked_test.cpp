// The chunked coding is read strictly, and the same however it is split.

#include "src/base/limits.hpp"
#include "src/http/chunked.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include <string>

using namespace assay;
using assay::http::chunked_decoder;
using status = chunked_decoder::status;

namespace {

struct decoded {
  std::string payload;
  std::string rest;
  status now = status::more;
};

decoded decode(std::string_view bytes, std::size_t piece) {
  chunked_decoder decoder;
  decoded all;
  while (!bytes.empty() && all.now == status::more) {
    auto part = bytes.substr(0, piece);
    auto step = decoder.next(part);
    all.payload += step.payload;
    all.now = step.now;
    bytes.remove_prefix(step.used);
  }
  all.rest = bytes;
  return all;
}

} // namespace

TEST_CASE("a chunked body reads the same in pieces of any size") {
  std::string_view bytes = "4\r\nWiki\r\n6;name=\"v\"\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n"
                           "0\r\nTrailer: dropped\r\n\r\nNEXT";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    auto all = decode(bytes, piece);
    REQUIRE(all.now == status::done);
    REQUIRE(all.payload == "Wikipedia in \r\n\r\nchunks.");
    REQUIRE(all.rest == "NEXT");
  }
}

TEST_CASE("a chunked body with two readings is bad") {
  auto bytes = GENERATE(
    "\r\n",
    "g\r\n",
    "-1\r\n",
    "+1\r\n",
    " 1\r\na\r\n",
    "1 \r\na\r\n",
    "0x1\r\na\r\n",
    "1\na\r\n",
    "1\r\nab\r\n",
    "1\r\na\n",
    "1\r\na\rb",
    ";x\r\n",
    "1;a\nb\r\n",
    "0\r\nX: 1\n\r\n",
    "0\r\n\rx",
    "ffffffffffffffff\r\n",
    "0000000000000001\r\n"
  );
  INFO(bytes);
  CHECK(decode(bytes, 100).now == status::bad);
  CHECK(decode(bytes, 1).now == status::bad);
}

TEST_CASE("extensions and trailers are bounded") {
  auto extension = [](std::size_t size) {
    return "1;" + std::string(size, 'x') + "\r\na\r\n0\r\n\r\n";
  };
  CHECK(decode(extension(limits::chunk_line_bytes - 1), 1'000).now == status::done);
  CHECK(decode(extension(limits::chunk_line_bytes + 1), 1'000).now == status::bad);
  auto trailer = [](std::size_t size) { return "0\r\n" + std::string(size, 'x') + "\r\n\r\n"; };
  CHECK(decode(trailer(limits::trailer_bytes), 100'000).now == status::done);
  CHECK(decode(trailer(limits::trailer_bytes + 1), 100'000).now == status::bad);
}
