// Lists and nested mappings of a mapping_reader.

#include "src/base/limits.hpp"
#include "src/catalog/reader.hpp"

#include <algorithm>

namespace assay::catalog {

bool mapping_reader::texts(std::string_view key, std::vector<std::string>& into) {
  const auto* n = find(key);
  if (n == nullptr)
    return false;
  if (n->kind != node_kind::sequence) {
    refuse(
      key,
      std::string{kind_word(*n)} + " stands where a list belongs",
      "write a list, like `[first, second]`"
    );
    return false;
  }
  if (n->items.size() > limits::list_items) {
    refuse(
      key,
      "the list has " + std::to_string(n->items.size()) + " entries",
      "at most " + std::to_string(limits::list_items) + " are allowed"
    );
    return false;
  }
  std::vector<std::string> read;
  for (std::size_t i = 0; i < n->items.size(); ++i) {
    auto item = scalar(n->items[i], path_of(key) + "[" + std::to_string(i) + "]");
    if (!item)
      return false;
    read.push_back(std::move(*item));
  }
  into = std::move(read);
  return true;
}

bool mapping_reader::names(std::string_view key, std::vector<std::string>& into) {
  std::vector<std::string> read;
  if (!texts(key, read))
    return false;
  bool good = true;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const auto path = path_of(key) + "[" + std::to_string(i) + "]";
    const auto& item = find(key)->items[i];
    if (!is_name(read[i])) {
      refuse_at(item, path, in_quotes(read[i]) + " is no name", std::string{name_rule});
      good = false;
    } else if (std::find(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(i), read[i]) != read.begin() + static_cast<std::ptrdiff_t>(i)) {
      refuse_at(item, path, in_quotes(read[i]) + " stands in the list twice", "keep one of both");
      good = false;
    }
  }
  if (good)
    into = std::move(read);
  return good;
}

bool mapping_reader::table(std::string_view key, std::map<std::string, std::string>& into) {
  const auto* n = find(key);
  if (n == nullptr)
    return false;
  if (n->kind != node_kind::mapping) {
    refuse(
      key,
      std::string{kind_word(*n)} + " stands where a mapping belongs",
      "write a mapping, like `{name: value}`"
    );
    return false;
  }
  std::map<std::string, std::string> read;
  bool good = n->entries.size() <= limits::list_items;
  if (!good)
    refuse(
      key,
      "the mapping has " + std::to_string(n->entries.size()) + " entries",
      "at most " + std::to_string(limits::list_items) + " are allowed"
    );
  for (const auto& entry : n->entries) {
    const auto path = path_of(key) + "." + entry.key.substr(0, limits::name_bytes);
    auto value = scalar(entry.value, path);
    good = good && value;
    if (value && !read.emplace(entry.key, std::move(*value)).second) {
      refuse_at(entry.value, path, "the key is given twice", "keep one of both");
      good = false;
    }
  }
  if (good)
    into = std::move(read);
  return good;
}

std::optional<mapping_reader>
mapping_reader::mapping_of(const node& n, const std::string& path, const key_table& keys) {
  if (n.kind == node_kind::mapping)
    return mapping_reader{n, keys, file_, path, out_};
  refuse_at(
    n,
    path,
    std::string{kind_word(n)} + " stands where a mapping belongs",
    "write `key: value` lines; allowed: " + listed(words_of(keys))
  );
  return {};
}

std::optional<mapping_reader> mapping_reader::mapping(std::string_view key, const key_table& keys) {
  const auto* n = find(key);
  if (n == nullptr)
    return {};
  return mapping_of(*n, path_of(key), keys);
}

std::vector<mapping_reader> mapping_reader::mappings(std::string_view key, const key_table& keys) {
  const auto* n = find(key);
  if (n == nullptr)
    return {};
  if (n->kind != node_kind::sequence) {
    refuse(
      key,
      std::string{kind_word(*n)} + " stands where a list belongs",
      "begin each entry with `- ` and one of: " + listed(words_of(keys))
    );
    return {};
  }
  if (n->items.size() > limits::list_items) {
    refuse(
      key,
      "the list has " + std::to_string(n->items.size()) + " entries",
      "at most " + std::to_string(limits::list_items) + " are allowed"
    );
    return {};
  }
  std::vector<mapping_reader> readers;
  for (std::size_t i = 0; i < n->items.size(); ++i) {
    const auto path = path_of(key) + "[" + std::to_string(i) + "]";
    if (auto reader = mapping_of(n->items[i], path, keys))
      readers.push_back(std::move(*reader));
  }
  return readers;
}

} // namespace assay::catalog
