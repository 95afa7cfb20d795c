#include "src/catalog/profile_parts.hpp"

#include "src/base/limits.hpp"
#include "src/catalog/json_path.hpp"

namespace assay::catalog::parts {

namespace {

bool is_path(std::string_view text) {
  return text.starts_with('/') && text.find_first_of(" \"<>\\^`|") == text.npos;
}

} // namespace

void read_path(mapping_reader& r, std::string_view key, std::string& into) {
  if (r.text(key, into) && !is_path(into))
    r.refuse(key, in_quotes(into) + " is no path of a URL", "begin it with `/`; no spaces");
}

void read_paths(mapping_reader& r, std::string_view key, std::vector<std::string>& into) {
  r.texts(key, into);
  for (const auto& path : into)
    if (!is_path(path))
      r.refuse(key, in_quotes(path) + " is no path of a URL", "begin it with `/`; no spaces");
}

void read_json_path(mapping_reader& r, std::string& into) {
  if (r.text("json", into) && !is_json_path(into))
    r.refuse(
      "json",
      in_quotes(into) + " is no path into JSON",
      "write keys and positions, like `data.0.id`"
    );
}

std::optional<pattern> read_pattern(mapping_reader& r, std::string_view key) {
  std::string text;
  if (!r.text(key, text))
    return {};
  auto compiled = pattern::compile(text);
  if (compiled)
    return std::move(*compiled);
  r.refuse(
    key,
    in_quotes(text) + " is no pattern: " + compiled.error(),
    "write an RE2 pattern of at most " + std::to_string(limits::pattern_bytes) + " bytes"
  );
  return {};
}

void read_optional_text(mapping_reader& r, std::string_view key, std::optional<std::string>& into) {
  std::string text;
  if (r.text(key, text))
    into = std::move(text);
}

std::optional<question> read_question(std::optional<mapping_reader> r) {
  if (!r)
    return {};
  question read;
  if (r->require("get", "write the path to ask"))
    read_path(*r, "get", read.get);
  if (r->require("json", "write the path in the answer"))
    read_json_path(*r, read.json);
  read_optional_text(*r, "equals", read.equals);
  return read;
}

} // namespace assay::catalog::parts
