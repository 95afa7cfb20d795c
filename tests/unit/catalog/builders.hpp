#pragma once
// Short ways to say what a test of declarations is about.

#include "src/catalog/parse.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace assay::catalog::testing {

/// Parses one file that is called `f.yaml`.
inline result<catalog_set, std::vector<problem>> parse_text(std::string text) {
  const std::vector<source_file> files{{"f.yaml", std::move(text)}};
  return parse(files);
}

/// All problems, one a line; empty when there is none.
inline std::string problems_of(std::string text) {
  const auto parsed = parse_text(std::move(text));
  if (parsed)
    return {};
  std::string lines;
  for (const auto& p : parsed.error())
    lines += to_text(p) + "\n";
  return lines;
}

/// The only problem of a text that must have exactly one.
inline problem problem_of(const std::string& text) {
  const auto parsed = parse_text(text);
  INFO(text);
  REQUIRE_FALSE(parsed.has_value());
  INFO(problems_of(text));
  REQUIRE(parsed.error().size() == 1);
  return parsed.error().front();
}

/// The values of a text that must be good.
inline std::vector<declaration> values_of(const std::string& text) {
  const auto parsed = parse_text(text);
  INFO(text << "\n" << problems_of(text));
  REQUIRE(parsed.has_value());
  return declarations_of(*parsed);
}

/// The only declaration of a text, as the type it must be.
template <class T>
T value_of(const std::string& text) {
  const auto values = values_of(text);
  REQUIRE(values.size() == 1);
  REQUIRE(std::holds_alternative<T>(values.front()));
  return std::get<T>(values.front());
}

/// A file of the source tree; fails the test when it cannot be read.
inline std::string source_text(const std::string& path) {
  std::ifstream in{std::string{ASSAY_SOURCE_DIR} + "/" + path};
  INFO(path);
  REQUIRE(in.good());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace assay::catalog::testing
