#pragma once
// Reads one mapping of a document by a table of its keys. The table is the whole truth about which
// keys there are: asking for another one is our bug, writing another one is the operator's.
//
// Every reading leaves its target alone when the key is absent or wrong; what is wrong is told, and
// reading goes on, so that all problems of a document come out at once.

#include "src/catalog/complaints.hpp"
#include "src/catalog/units.hpp"
#include "src/catalog/yaml_tree.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::catalog {

/// One key, as docs/declarations.md shows it (a test compares them).
struct key_row {
  std::string_view key;        ///< With hyphens.
  std::string_view takes;      ///< What its value is.
  std::string_view fallback;   ///< The default; `required` when there is none.
  std::string_view alias = {}; ///< Another spelling that is accepted.
};

struct key_table {
  std::string_view name; ///< `model`, `model.contract`, ...
  std::span<const key_row> rows;
};

/// The keys of a table, for `listed` and `nearest`.
std::vector<std::string_view> words_of(const key_table& keys);

/// What a refused name is told.
inline constexpr std::string_view name_rule =
  "a name has 1 to 64 of the letters A-Z a-z, the digits and `.`, `_`, `-`";

/// Spaces and underscores become hyphens.
std::string canonical_key(std::string_view key);

class mapping_reader {
public:
  /// Tells unknown and repeated keys at once. `n` must be a mapping and outlive the reader.
  mapping_reader(
    const node& n, const key_table& keys, std::string file, std::string path, complaints& out
  );

  // -- the mapping itself
  source_place place() const { return {file_, node_.line, node_.column}; }
  source_place place_of(std::string_view key) const; ///< Of the key's value, else of the mapping.
  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const;
  const std::string& file() const { return file_; }
  complaints& out() { return out_; }
  void refuse(std::string_view key, std::string what, std::string next);

  /// Null when the key is absent.
  const node* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  bool require(std::string_view key, std::string_view next);

  // -- scalars
  bool text(std::string_view key, std::string& into);
  bool name(std::string_view key, std::string& into);
  template <class Tag>
  bool name(std::string_view key, id<Tag>& into) {
    return name(key, into.value);
  }
  template <class Tag>
  bool name(std::string_view key, std::optional<id<Tag>>& into) {
    id<Tag> read;
    if (!name(key, read.value))
      return false;
    into = std::move(read);
    return true;
  }
  bool flag(std::string_view key, bool& into);
  bool bytes(std::string_view key, std::uint64_t& into, std::uint64_t most);
  bool duration(
    std::string_view key,
    std::chrono::milliseconds& into,
    std::chrono::milliseconds least,
    std::chrono::milliseconds most
  );
  bool share(std::string_view key, std::uint32_t& into, std::uint32_t least, std::uint32_t most);
  bool price(std::string_view key, money& into);
  bool number(std::string_view key, double& into);
  bool hash(std::string_view key, digest& into);

  template <class Number>
  bool count(std::string_view key, Number& into, std::uint64_t least, std::uint64_t most) {
    const auto read = bounded_count(key, least, most);
    if (read)
      into = static_cast<Number>(*read);
    return read.has_value();
  }

  /// One word of a closed list.
  template <class Enum, class Parse>
  bool choice(
    std::string_view key, Enum& into, Parse parse, const std::vector<std::string_view>& allowed
  ) {
    std::string word;
    if (!text(key, word))
      return false;
    if (const auto chosen = parse(word)) {
      into = *chosen;
      return true;
    }
    refuse_word(place_of(key), path_of(key), word, allowed);
    return false;
  }
  template <class Enum>
  bool choice(
    std::string_view key,
    Enum& into,
    std::type_identity_t<std::span<const std::pair<std::string_view, Enum>>> table
  ) {
    std::vector<std::string_view> allowed;
    for (const auto& [word, value] : table)
      allowed.push_back(word);
    return choice(
      key,
      into,
      [&](std::string_view word) -> std::optional<Enum> {
        for (const auto& [spelled, value] : table)
          if (spelled == word)
            return value;
        return {};
      },
      allowed
    );
  }

  // -- lists and mappings
  /// A list of texts; the first that is none leaves `into` as it was.
  bool texts(std::string_view key, std::vector<std::string>& into);
  bool names(std::string_view key, std::vector<std::string>& into);
  /// A mapping of texts. Keys stay as written.
  bool table(std::string_view key, std::map<std::string, std::string>& into);
  std::optional<mapping_reader> mapping(std::string_view key, const key_table& keys);
  std::vector<mapping_reader> mappings(std::string_view key, const key_table& keys);

  /// The scalar's text if `n` is one and fit to be kept; else the reason is told.
  std::optional<std::string> scalar(const node& n, const std::string& path);
  std::optional<mapping_reader>
  mapping_of(const node& n, const std::string& path, const key_table& keys);
  void refuse_at(const node& n, const std::string& path, std::string what, std::string next);
  void refuse_word(
    const source_place& at,
    const std::string& path,
    std::string_view word,
    const std::vector<std::string_view>& allowed
  );

private:
  const key_row* row_of(std::string_view canonical) const;
  void check_keys();
  void tell_unknown(const node_entry& entry, const std::string& canonical);
  std::optional<std::string> value_text(std::string_view key);
  std::optional<std::uint64_t>
  bounded_count(std::string_view key, std::uint64_t least, std::uint64_t most);
  void refuse_value(std::string_view key, const value_error& why);

  const node& node_;
  const key_table* keys_;
  std::string file_;
  std::string path_;
  complaints& out_;
};

/// What a person calls the kind of a node: `a list`, `a mapping`, `nothing`, `text`.
std::string_view kind_word(const node& n);

} // namespace assay::catalog
