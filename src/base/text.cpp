#include "src/base/text.hpp"

#include "src/base/limits.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace assay {

namespace {

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

bool continues(std::string_view bytes, std::size_t at) {
  return (byte_at(bytes, at) & 0xc0) == 0x80;
}

/// Bytes of the character at `at`; 0 when there is none that is well formed.
std::size_t character_bytes(std::string_view bytes, std::size_t at) {
  auto first = byte_at(bytes, at);
  if (first < 0x80)
    return 1;
  std::size_t size = first >= 0xc2 && first < 0xe0   ? 2
                     : (first & 0xf0) == 0xe0        ? 3
                     : first >= 0xf0 && first < 0xf5 ? 4
                                                     : 0;
  if (size == 0 || bytes.size() - at < size)
    return 0;
  for (std::size_t i = 1; i < size; ++i)
    if (!continues(bytes, at + i))
      return 0;
  // Longer than need be, a surrogate, or beyond the last code point.
  auto second = byte_at(bytes, at + 1);
  auto is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0)
                  || (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return is_wrong ? 0 : size;
}

/// How many of the bytes from `at` on are ASCII, counted in eights: most text is nothing else.
std::size_t ascii_run(std::string_view bytes, std::size_t at) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  const auto begin = at;
  for (std::uint64_t eight = 0; bytes.size() - at >= sizeof eight; at += sizeof eight) {
    std::memcpy(&eight, bytes.data() + at, sizeof eight);
    if ((eight & high_bits) != 0)
      break;
  }
  return at - begin;
}

/// `at` or the nearest place before it where a character begins.
std::size_t boundary(std::string_view text, std::size_t at) {
  for (std::size_t back = 0; back < 3 && at > 0 && at < text.size() && continues(text, at); ++back)
    --at;
  return at;
}

void add_line(std::string& to, std::string_view line) {
  constexpr auto most = limits::told_line_bytes;
  if (line.size() <= most) {
    to += line;
    return;
  }
  // What is wrong with a value is said behind it, so the end is told as well.
  auto first = boundary(line, most / 2);
  auto last = boundary(line, line.size() - most / 4);
  to += line.substr(0, first);
  to += " ... (" + std::to_string(last - first) + " bytes left out) ... ";
  to += line.substr(last);
}

} // namespace

bool is_utf8(std::string_view bytes) {
  for (std::size_t at = ascii_run(bytes, 0); at < bytes.size(); at += ascii_run(bytes, at)) {
    auto size = character_bytes(bytes, at);
    if (size == 0)
      return false;
    at += size;
  }
  return true;
}

std::string shortened(std::string_view text) {
  if (text.size() <= limits::told_line_bytes)
    return std::string{text};
  std::string told;
  for (std::size_t at = 0; at < text.size();) {
    auto end = std::min(text.find('\n', at), text.size());
    if (told.size() + std::min(end - at, limits::told_line_bytes) > limits::told_bytes)
      return told + "... (" + std::to_string(text.size() - at) + " more bytes left out)";
    add_line(told, text.substr(at, end - at));
    if (end < text.size())
      told += '\n';
    at = end + 1;
  }
  return told;
}

} // namespace assay
