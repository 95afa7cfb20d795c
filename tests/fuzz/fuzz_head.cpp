// Any bytes as a request head, an answer's head and a chunked body: read whole and read byte by
// byte must agree, and offsets must lie inside the bytes.

#include "src/base/check.hpp"
#include "src/http/chunked.hpp"
#include "src/http/framing.hpp"

#include <string>

using namespace assay;
using namespace assay::http;

namespace {

template <class Reader>
void check_reader(std::string_view bytes) {
  Reader whole;
  auto expected = whole.read(bytes);
  Reader piecewise;
  auto got = reading::incomplete;
  for (std::size_t size = 1; size <= bytes.size() && got == reading::incomplete; ++size)
    got = piecewise.read(bytes.substr(0, size));
  check(bytes.empty() || got == expected, "a head reads the same in pieces");
  if (expected != reading::complete)
    return;
  check(whole.head().bytes <= bytes.size(), "a head ends inside its bytes");
  check(whole.head().bytes == piecewise.head().bytes, "a head has one end");
  for (const auto& f : whole.head().fields)
    check(f.value.at + f.value.size <= whole.head().bytes, "a field lies inside its head");
}

std::string decode(std::string_view bytes, std::size_t piece, chunked_decoder::status& end) {
  chunked_decoder decoder;
  std::string all;
  end = chunked_decoder::status::more;
  while (!bytes.empty() && end == chunked_decoder::status::more) {
    auto step = decoder.next(bytes.substr(0, piece));
    all += step.payload;
    end = step.now;
    bytes.remove_prefix(step.used);
  }
  return all;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view bytes{reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 4'096)};
  check_reader<request_reader>(bytes);
  check_reader<response_reader>(bytes);
  chunked_decoder::status whole{};
  chunked_decoder::status pieces{};
  auto once = decode(bytes, bytes.size() + 1, whole);
  check(once == decode(bytes, 1, pieces) && whole == pieces, "a chunked body has one reading");
  return 0;
}
