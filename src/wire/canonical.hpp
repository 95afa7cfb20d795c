#pragma once
// Canonical bytes of one schema struct, both ways, for any value with a field list. Only the codecs
// of this folder include it.
//
// Decoding reads within limits, and encodes again. What differs then was not canonical, or holds
// fields that this version does not know: those are left out of the value, so whoever passes a
// record on passes its bytes on.

#include "src/base/result.hpp"
#include "src/wire/canonical_read.hpp"
#include "src/wire/canonical_write.hpp"
#include "src/wire/field_fit.hpp"
#include "src/wire/record_codec.hpp"

#include <capnp/serialize.h>

#include <cstring>

namespace assay::wire::walk {

inline constexpr int nesting_limit = 32;

inline std::string to_bytes(kj::ArrayPtr<const capnp::word> words) {
  auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

/// Canonical bytes of a finished builder of any schema struct.
template <class Root>
std::string canonical_bytes(typename Root::Builder root) {
  return to_bytes(capnp::canonicalize(root.asReader()));
}

/// The library reads whole words where the machine wants them: bytes that lie elsewhere, as in
/// LMDB, are copied.
class aligned_words {
public:
  explicit aligned_words(std::string_view bytes) {
    const auto count = bytes.size() / sizeof(capnp::word);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(capnp::word) == 0) {
      all_ = {reinterpret_cast<const capnp::word*>(bytes.data()), count};
      return;
    }
    copy_ = kj::heapArray<capnp::word>(count);
    std::memcpy(copy_.begin(), bytes.data(), bytes.size());
    all_ = copy_;
  }
  kj::ArrayPtr<const capnp::word> all() const { return all_; }

private:
  kj::Array<capnp::word> copy_;
  kj::ArrayPtr<const capnp::word> all_;
};

template <class Root, class T>
std::string encode_as(const T& value) {
  return canonical_writer{}.write(value, layout_of_root<Root, T>());
}

/// Calls `read(root)` on the message in `bytes`; what it throws becomes `malformed`.
template <class Root, class Read>
auto read_message(std::string_view bytes, std::size_t limit, Read read)
  -> decltype(read(std::declval<typename Root::Reader>())) {
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0)
    return unexpected{
      malformed{std::to_string(bytes.size()) + " bytes are not a whole number of 8-byte words"}};
  if (bytes.size() > limit)
    return unexpected{malformed{
      std::to_string(bytes.size()) + " bytes are more than the " + std::to_string(limit)
      + " allowed"}};
  try {
    const aligned_words words{bytes};
    const auto segment = words.all();
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 4 * segment.size() + 64;
    options.nestingLimit = nesting_limit;
    capnp::SegmentArrayMessageReader message{kj::arrayPtr(&segment, 1), options};
    return read(message.getRoot<Root>());
  } catch (const kj::Exception& e) {
    return unexpected{malformed{std::string{"not a message: "} + e.getDescription().cStr()}};
  }
}

/// The bytes are what a newer version, which knows more fields, makes of this value.
template <class Root, class T>
bool is_of_newer(typename Root::Reader root, const T& value, std::string_view bytes) {
  return fits(struct_reader{root}, value, layout_of_root<Root, T>())
         && to_bytes(capnp::canonicalize(root)) == bytes;
}

template <class Root, class T>
result<T, malformed> decode_as(std::string_view bytes, std::size_t limit) {
  auto read = [&](typename Root::Reader root) -> result<T, malformed> {
    T value{};
    complaint wrong;
    get(struct_reader{root}, value, layout_of_root<Root, T>(), wrong);
    if (!wrong.text.empty())
      return unexpected{malformed{std::move(wrong.text)}};
    if (encode_as<Root>(value) != bytes && !is_of_newer<Root>(root, value, bytes))
      return unexpected{malformed{"the bytes are not canonical"}};
    return value;
  };
  return read_message<Root>(bytes, limit, read);
}

} // namespace assay::wire::walk
