// Any bytes as an event stream, split as the first byte says: nothing is lost, and what is learnt
// does not depend on the splits.

#include "src/base/check.hpp"
#include "src/http/sse.hpp"

#include <algorithm>
#include <string>

using namespace assay;
using namespace assay::http;

namespace {

stream_facts observe(answer_reader& reader, std::string_view bytes, std::size_t piece) {
  sse_observer observer{reader};
  std::string window;
  std::size_t released = 0;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    window += bytes.substr(at, piece);
    auto size = observer.release(window);
    check(size <= window.size(), "no more is released than there is");
    window.erase(0, size);
    released += size;
  }
  check(released + window.size() == bytes.size(), "no byte is lost");
  return observer.facts();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static answer_reader reader;
  if (size == 0)
    return 0;
  std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  auto whole = observe(reader, bytes, std::max<std::size_t>(bytes.size(), 1));
  auto pieces = observe(reader, bytes, std::max<std::size_t>(data[0] % 64, 1));
  check(whole.events == pieces.events, "events do not depend on splits");
  check(whole.done == pieces.done && whole.error == pieces.error, "ends do not depend on splits");
  check(whole.usage == pieces.usage, "usage does not depend on splits");
  return 0;
}
