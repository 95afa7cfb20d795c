#pragma once
// Bytes as text, for golden files.

#include <string>
#include <string_view>

namespace assay::test {

inline std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned char c : bytes) {
    text += digits[c >> 4];
    text += digits[c & 15];
  }
  return text;
}

} // namespace assay::test
