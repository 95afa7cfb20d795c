#include "src/catalog/reader.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace assay::catalog {

std::vector<std::string_view> words_of(const key_table& keys) {
  std::vector<std::string_view> words;
  for (const auto& row : keys.rows)
    words.push_back(row.key);
  return words;
}

std::string canonical_key(std::string_view key) {
  std::string text{key};
  for (auto& c : text)
    if (c == ' ' || c == '_')
      c = '-';
  return text;
}

std::string_view kind_word(const node& n) {
  switch (n.kind) {
  case node_kind::null:
    return "nothing";
  case node_kind::scalar:
    return "text";
  case node_kind::sequence:
    return "a list";
  case node_kind::mapping:
    return "a mapping";
  }
  return "nothing";
}

mapping_reader::mapping_reader(
  const node& n, const key_table& keys, std::string file, std::string path, complaints& out
)
  : node_{n}, keys_{&keys}, file_{std::move(file)}, path_{std::move(path)}, out_{out} {
  check(n.kind == node_kind::mapping, "a mapping_reader reads mappings");
  check_keys();
}

const key_row* mapping_reader::row_of(std::string_view canonical) const {
  for (const auto& row : keys_->rows)
    if (row.key == canonical || (!row.alias.empty() && row.alias == canonical))
      return &row;
  return nullptr;
}

void mapping_reader::check_keys() {
  if (node_.entries.size() > limits::list_items)
    return refuse_at(
      node_,
      path_,
      "the mapping has " + std::to_string(node_.entries.size()) + " keys",
      "allowed here: " + listed(words_of(*keys_))
    );
  std::map<std::string_view, const node_entry*> seen;
  for (const auto& entry : node_.entries) {
    const auto canonical = canonical_key(entry.key);
    const auto* row = row_of(canonical);
    if (row == nullptr) {
      tell_unknown(entry, canonical);
      continue;
    }
    const auto [first, fresh] = seen.emplace(row->key, &entry);
    if (!fresh)
      out_.add(
        {file_, entry.line, entry.column},
        path_of(row->key),
        "the key is given twice, first on line " + std::to_string(first->second->line),
        "keep one of both"
      );
  }
}

void mapping_reader::tell_unknown(const node_entry& entry, const std::string& canonical) {
  const auto words = words_of(*keys_);
  auto what = "the key " + in_quotes(entry.key) + " is not known here";
  if (const auto near = nearest(canonical, words); !near.empty())
    what += "; did you mean `" + near + "`?";
  const auto path = path_.empty() ? canonical : path_ + "." + canonical;
  out_.add(
    {file_, entry.line, entry.column},
    path.size() > limits::key_bytes ? path_ : path,
    std::move(what),
    "allowed here: " + listed(words)
  );
}

const node* mapping_reader::find(std::string_view key) const {
  const auto* row = row_of(key);
  check(row != nullptr && row->key == key, "a key that its table does not have");
  for (const auto& entry : node_.entries) {
    const auto canonical = canonical_key(entry.key);
    if (canonical == row->key || (!row->alias.empty() && canonical == row->alias))
      return &entry.value;
  }
  return nullptr;
}

source_place mapping_reader::place_of(std::string_view key) const {
  const auto* n = find(key);
  return n == nullptr ? place() : source_place{file_, n->line, n->column};
}

std::string mapping_reader::path_of(std::string_view key) const {
  return path_.empty() ? std::string{key} : path_ + "." + std::string{key};
}

void mapping_reader::refuse(std::string_view key, std::string what, std::string next) {
  out_.add(place_of(key), path_of(key), std::move(what), std::move(next));
}

void mapping_reader::refuse_at(
  const node& n, const std::string& path, std::string what, std::string next
) {
  out_.add({file_, n.line, n.column}, path, std::move(what), std::move(next));
}

void mapping_reader::refuse_word(
  const source_place& at,
  const std::string& path,
  std::string_view word,
  const std::vector<std::string_view>& allowed
) {
  auto what = in_quotes(word) + " is not one of the allowed words";
  if (const auto near = nearest(word, allowed); !near.empty())
    what += "; did you mean `" + near + "`?";
  out_.add(at, path, std::move(what), "allowed: " + listed(allowed));
}

void mapping_reader::refuse_value(std::string_view key, const value_error& why) {
  refuse(key, why.what, why.next);
}

bool mapping_reader::require(std::string_view key, std::string_view next) {
  if (has(key))
    return true;
  refuse(key, "the key is missing", std::string{next});
  return false;
}

std::optional<std::string> mapping_reader::scalar(const node& n, const std::string& path) {
  if (n.kind != node_kind::scalar) {
    const bool nothing = n.kind == node_kind::null;
    refuse_at(
      n,
      path,
      nothing ? "the value is missing"
              : std::string{kind_word(n)} + " stands where one value belongs",
      nothing ? "write a value after the colon, or leave the key out" : "write a single value"
    );
    return {};
  }
  if (n.text.size() > limits::text_bytes) {
    refuse_at(
      n,
      path,
      "the value has " + std::to_string(n.text.size()) + " bytes",
      "at most " + std::to_string(limits::text_bytes) + " are allowed"
    );
    return {};
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(n.text, is_control)) {
    refuse_at(n, path, "the value has a line break or control character in it", "remove it");
    return {};
  }
  return n.text;
}

std::optional<std::string> mapping_reader::value_text(std::string_view key) {
  const auto* n = find(key);
  if (n == nullptr)
    return {};
  return scalar(*n, path_of(key));
}

bool mapping_reader::text(std::string_view key, std::string& into) {
  auto read = value_text(key);
  if (read)
    into = std::move(*read);
  return read.has_value();
}

bool mapping_reader::name(std::string_view key, std::string& into) {
  const auto read = value_text(key);
  if (!read)
    return false;
  if (!is_name(*read)) {
    refuse(key, in_quotes(*read) + " is no name", std::string{name_rule});
    return false;
  }
  into = *read;
  return true;
}

bool mapping_reader::flag(std::string_view key, bool& into) {
  const auto read = value_text(key);
  if (!read)
    return false;
  const auto value = parse_flag(*read);
  if (value)
    into = *value;
  else
    refuse_value(key, value.error());
  return value.has_value();
}

bool mapping_reader::bytes(std::string_view key, std::uint64_t& into, std::uint64_t most) {
  const auto read = value_text(key);
  if (!read)
    return false;
  const auto value = parse_bytes(*read);
  if (!value) {
    refuse_value(key, value.error());
    return false;
  }
  if (*value > most) {
    refuse(key, in_quotes(*read) + " is too large", "at most " + bytes_text(most) + " is allowed");
    return false;
  }
  into = *value;
  return true;
}

bool mapping_reader::duration(
  std::string_view key,
  std::chrono::milliseconds& into,
  std::chrono::milliseconds least,
  std::chrono::milliseconds most
) {
  const auto read = value_text(key);
  if (!read)
    return false;
  const auto value = parse_duration(*read);
  if (!value) {
    refuse_value(key, value.error());
    return false;
  }
  if (*value < least || *value > most) {
    const auto range = duration_text(least) + " to " + duration_text(most);
    refuse(key, in_quotes(*read) + " is out of range", "allowed: " + range);
    return false;
  }
  into = *value;
  return true;
}

bool mapping_reader::share(
  std::string_view key, std::uint32_t& into, std::uint32_t least, std::uint32_t most
) {
  const auto read = value_text(key);
  if (!read)
    return false;
  const auto value = parse_share(*read);
  if (!value) {
    refuse_value(key, value.error());
    return false;
  }
  if (*value < least || *value > most) {
    const auto range = share_text(least) + " to " + share_text(most);
    refuse(key, in_quotes(*read) + " is out of range", "allowed: " + range);
    return false;
  }
  into = *value;
  return true;
}

bool mapping_reader::price(std::string_view key, money& into) {
  const auto read = value_text(key);
  if (!read)
    return false;
  const auto value = parse_money(*read);
  if (value)
    into = *value;
  else
    refuse_value(key, value.error());
  return value.has_value();
}

bool mapping_reader::number(std::string_view key, double& into) {
  const auto read = value_text(key);
  if (!read)
    return false;
  double value = 0;
  const auto [end, error] = std::from_chars(read->data(), read->data() + read->size(), value);
  if (error != std::errc{} || end != read->data() + read->size() || !std::isfinite(value)) {
    refuse(key, in_quotes(*read) + " is no number", "write a decimal number, like `0.01`");
    return false;
  }
  into = value;
  return true;
}

bool mapping_reader::hash(std::string_view key, digest& into) {
  const auto read = value_text(key);
  if (!read)
    return false;
  const auto value = parse_digest(*read);
  if (!value) {
    refuse(
      key,
      in_quotes(*read) + " is no SHA-256 digest",
      "write `sha256:` and 64 hexadecimal digits, as `sha256sum FILE` prints them"
    );
    return false;
  }
  into = *value;
  return true;
}

std::optional<std::uint64_t>
mapping_reader::bounded_count(std::string_view key, std::uint64_t least, std::uint64_t most) {
  const auto read = value_text(key);
  if (!read)
    return {};
  const auto value = parse_count(*read);
  if (!value) {
    refuse_value(key, value.error());
    return {};
  }
  if (*value < least || *value > most) {
    const auto range = std::to_string(least) + " to " + std::to_string(most);
    refuse(key, in_quotes(*read) + " is out of range", "allowed: " + range);
    return {};
  }
  return *value;
}

} // namespace assay::catalog
