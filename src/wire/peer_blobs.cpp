// What coordinators say about blobs: read, written, and checked for what a message alone shows.
// That its bytes are the blob's, only the whole blob shows.

#include "src/base/peer_limits.hpp"
#include "src/wire/peer_check_words.hpp"
#include "src/wire/peer_reader.hpp"
#include "src/wire/peer_writer.hpp"

#include <algorithm>

namespace assay::wire {

namespace {

namespace s = schema::peers;

peers::blob_page read(reader& in, s::BlobPage::Reader m) {
  peers::blob_page out{
    .offset = m.getOffset(),
    .size = m.getSize(),
    .is_missing = m.getIsMissing(),
    .bytes = in.bytes(m.getBytes()),
  };
  in.copy("blob_page.blob", m.getBlob(), out.blob.bytes);
  return out;
}

capnp::Data::Reader as_data(const digest& of) {
  return {of.bytes.data(), of.bytes.size()};
}

} // namespace

std::optional<peers::message> read_blobs(reader& in, s::PeerMessage::Reader m) {
  switch (m.which()) {
  case s::PeerMessage::BLOB_OFFER: {
    peers::blob_offer out{.size = m.getBlobOffer().getSize()};
    in.copy("blob_offer.blob", m.getBlobOffer().getBlob(), out.blob.bytes);
    return out;
  }
  case s::PeerMessage::BLOB_WANT: {
    peers::blob_want out{.offset = m.getBlobWant().getOffset()};
    in.copy("blob_want.blob", m.getBlobWant().getBlob(), out.blob.bytes);
    return out;
  }
  case s::PeerMessage::BLOB_PAGE:
    return read(in, m.getBlobPage());
  case s::PeerMessage::BLOB_KEPT: {
    peers::blob_kept out;
    in.copy("blob_kept.blob", m.getBlobKept().getBlob(), out.blob.bytes);
    return out;
  }
  default:
    return std::nullopt;
  }
}

void put(message_builder to, const peers::blob_offer& m) {
  auto b = to.initBlobOffer();
  b.setBlob(as_data(m.blob));
  b.setSize(m.size);
}

void put(message_builder to, const peers::blob_want& m) {
  auto b = to.initBlobWant();
  b.setBlob(as_data(m.blob));
  b.setOffset(m.offset);
}

void put(message_builder to, const peers::blob_page& m) {
  auto b = to.initBlobPage();
  b.setBlob(as_data(m.blob));
  b.setOffset(m.offset);
  b.setSize(m.size);
  b.setIsMissing(m.is_missing);
  b.setBytes(as_data(std::string_view{m.bytes}));
}

void put(message_builder to, const peers::blob_kept& m) {
  to.initBlobKept().setBlob(as_data(m.blob));
}

} // namespace assay::wire

namespace assay::peers {

namespace {

verdict refuse_offset(std::string where, std::uint64_t offset) {
  if (auto bad = refuse_more(where, offset, limits::blob_bytes))
    return bad;
  if (offset % limits::blob_page_bytes == 0)
    return {};
  return wrong(
    std::move(where),
    "is " + text(offset),
    "allowed are multiples of " + text(limits::blob_page_bytes)
  );
}

} // namespace

verdict refuse_one(const blob_offer& m) {
  return refuse_more("blob_offer.size", m.size, limits::blob_bytes);
}

verdict refuse_one(const blob_want& m) {
  return refuse_offset("blob_want.offset", m.offset);
}

verdict refuse_one(const blob_page& m) {
  if (auto bad = refuse_offset("blob_page.offset", m.offset))
    return bad;
  if (auto bad = refuse_more("blob_page.size", m.size, limits::blob_bytes))
    return bad;
  if (m.is_missing && (m.size != 0 || !m.bytes.empty()))
    return wrong("blob_page", "of a blob that is missing has content", "it has none");
  if (m.is_missing)
    return {};
  if (auto bad = refuse_more("blob_page.offset", m.offset, m.size))
    return bad;
  auto whole = std::min<std::uint64_t>(limits::blob_page_bytes, m.size - m.offset);
  if (m.bytes.size() == whole && (whole > 0 || m.size == 0))
    return {};
  return wrong(
    "blob_page.bytes",
    "has " + text(m.bytes.size()) + " bytes at " + text(m.offset) + " of " + text(m.size),
    "allowed are " + text(std::max<std::uint64_t>(whole, 1))
  );
}

verdict refuse_one(const blob_kept&) {
  return {};
}

} // namespace assay::peers
