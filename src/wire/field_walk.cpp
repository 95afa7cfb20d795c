#include "src/wire/field_walk.hpp"

#include <kj/encoding.h>

#include <algorithm>

namespace assay::wire::walk {

std::string schema_name(std::string_view member, std::string_view unit) {
  std::string name;
  bool capital = false;
  for (auto part : {member, unit})
    for (auto c : part) {
      if (c == '_' || c == '-') {
        capital = true;
        continue;
      }
      name += capital && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      capital = false;
    }
  return name;
}

bool is_utf8(std::string_view text) {
  auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii))
    return true;
  return !kj::encodeUtf32(kj::ArrayPtr<const char>{text.data(), text.size()}).hadErrors;
}

} // namespace assay::wire::walk
