#include "src/base/uuid.hpp"

#include "src/base/check.hpp"

#include <openssl/rand.h>

#include <chrono>

namespace assay {

uuid make_uuid7(std::uint64_t unix_ms, const std::array<std::uint8_t, 10>& chance) {
  uuid id;
  for (std::size_t i = 0; i < 6; ++i)
    id.bytes[i] = static_cast<std::uint8_t>(unix_ms >> (40 - 8 * i));
  for (std::size_t i = 0; i < chance.size(); ++i)
    id.bytes[6 + i] = chance[i];
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0f) | 0x70);
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

uuid new_uuid7() {
  std::array<std::uint8_t, 10> chance{};
  check(RAND_bytes(chance.data(), static_cast<int>(chance.size())) == 1, "RAND_bytes");
  auto now = std::chrono::system_clock::now().time_since_epoch();
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return make_uuid7(static_cast<std::uint64_t>(ms), chance);
}

std::string to_text(const uuid& id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      text += '-';
    text += digits[id.bytes[i] >> 4];
    text += digits[id.bytes[i] & 15];
  }
  return text;
}

std::string short_name(const uuid& id) {
  return to_text(id).substr(24);
}

std::optional<uuid> parse_uuid(std::string_view text) {
  if (text.size() != 36)
    return {};
  uuid id;
  std::size_t filled = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-')
        return {};
      continue;
    }
    auto c = text[i];
    int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (c >= 'A' && c <= 'F')
      value = c - 'A' + 10;
    if (value < 0)
      return {};
    auto& byte = id.bytes[filled / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | value);
    ++filled;
  }
  return id;
}

} // namespace assay
