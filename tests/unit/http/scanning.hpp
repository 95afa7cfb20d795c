#pragma once
// One scan of a body, with the room behind it that the scanner reads.

#include "src/http/scan.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

namespace assay::http::test {

inline result<scanned_body, scan_refusal> scan(contract::operation asked, std::string text) {
  auto size = text.size();
  text += std::string(body_scanner::padding, '"');
  body_scanner scanner;
  return scanner.scan(asked, std::string_view{text}.substr(0, size), text.size());
}

inline scanned_body scanned(contract::operation asked, const std::string& text) {
  auto found = scan(asked, text);
  INFO(text);
  if (!found)
    INFO(found.error().message);
  REQUIRE(found.has_value());
  return *std::move(found);
}

} // namespace assay::http::test
