// What coordinators say to each other about blobs, on the wire.

#include "tests/unit/wire/peer_samples.hpp"

namespace assay::wire {

using namespace test;

namespace {

constexpr std::uint64_t page_bytes = limits::blob_page_bytes;

template <class Damage>
std::string page_fault(Damage damage) {
  auto page = a_blob_page();
  damage(page);
  return fault_of(page);
}

} // namespace

TEST_CASE("a word about a blob is understood as it was meant, and goes on the bulk lane") {
  auto back = [](const message& what) { return *decode_peer_message(bytes_of(encoded(what))); };
  CHECK(std::get<blob_offer>(back(blob_offer{filled(7), 9})) == blob_offer{filled(7), 9});
  CHECK(std::get<blob_want>(back(blob_want{filled(7), page_bytes})).offset == page_bytes);
  CHECK(std::get<blob_page>(back(a_blob_page())) == a_blob_page());
  CHECK(std::get<blob_kept>(back(blob_kept{filled(7)})) == blob_kept{filled(7)});
  for (const message& what :
       {message{blob_offer{}}, message{blob_want{}}, message{blob_page{}}, message{blob_kept{}}})
    CHECK(lane_of(what) == lane::bulk);
}

TEST_CASE("a blob has a size that may be kept") {
  CHECK(fault_of(blob_offer{filled(7), 0}).empty());
  CHECK(fault_of(blob_offer{filled(7), limits::blob_bytes}).empty());
  CHECK(fault_of(blob_offer{filled(7), limits::blob_bytes + 1}) == "blob_offer.size");
  CHECK(page_fault([](auto& p) { p.size = limits::blob_bytes + 1; }) == "blob_page.size");
}

TEST_CASE("pages begin at multiples of a page, within the blob") {
  CHECK(fault_of(blob_want{filled(7), limits::blob_bytes}).empty());
  CHECK(fault_of(blob_want{filled(7), 1}) == "blob_want.offset");
  CHECK(fault_of(blob_want{filled(7), limits::blob_bytes + page_bytes}) == "blob_want.offset");
  CHECK(page_fault([](auto& p) { p.offset += 1; }) == "blob_page.offset");
  CHECK(page_fault([](auto& p) { p.offset = 2 * page_bytes; }) == "blob_page.offset");
}

TEST_CASE("a page is full, or it is the last one with what is left") {
  CHECK(page_fault([](auto&) {}).empty());
  CHECK(page_fault([](auto& p) { p.bytes += 'x'; }) == "blob_page.bytes");
  CHECK(page_fault([](auto& p) { p.bytes.pop_back(); }) == "blob_page.bytes");
  auto full = [](std::uint64_t size, std::size_t bytes) {
    return page_fault([&](auto& p) {
      p.offset = 0;
      p.size = size;
      p.bytes.assign(bytes, 'x');
    });
  };
  CHECK(full(page_bytes, page_bytes).empty());
  CHECK(full(page_bytes + 1, page_bytes).empty());
  CHECK(full(page_bytes + 1, page_bytes + 1) == "blob_page.bytes");
  CHECK(full(0, 0).empty());
  CHECK(full(1, 0) == "blob_page.bytes");
  // Behind the last byte nothing is left to ask for.
  CHECK(
    page_fault([](auto& p) {
      p.size = p.offset;
      p.bytes.clear();
    })
    == "blob_page.bytes"
  );
}

TEST_CASE("a blob that is missing has no content") {
  CHECK(page_fault([](auto& p) { p = {.blob = filled(7), .is_missing = true}; }).empty());
  CHECK(page_fault([](auto& p) { p.is_missing = true; }) == "blob_page");
}

} // namespace assay::wire
