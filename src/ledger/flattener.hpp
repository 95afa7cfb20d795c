#pragma once
// Any value with a field list as dotted paths and texts. Only the describing files of this folder
// include it.

#include "src/ledger/catalog_fields.hpp"
#include "src/ledger/describe.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace assay::ledger {

template <class T>
inline constexpr bool is_id = false;
template <class Tag>
inline constexpr bool is_id<id<Tag>> = true;

/// Flattens a value into dotted paths. What is empty is left out.
class flattener {
public:
  std::vector<described_field> found;

  template <class T>
  void add(const std::string& path, const T& value) {
    if constexpr (is_id<T>)
      add(path, value.value);
    else if constexpr (std::is_same_v<T, std::string>)
      leaf(path, value);
    else if constexpr (std::is_same_v<T, bool>)
      leaf(path, value ? "true" : "false");
    else if constexpr (std::is_enum_v<T>)
      leaf(path, std::string{name(value)});
    else if constexpr (std::is_integral_v<T>)
      leaf(path, std::to_string(value));
    else
      add_whole(path, value);
  }

private:
  void leaf(const std::string& path, std::string value) {
    if (!value.empty())
      found.push_back({path, std::move(value)});
  }
  void add_whole(const std::string& path, const digest& d) {
    if (d != digest{})
      leaf(path, to_text(d));
  }
  void add_whole(const std::string& path, const uuid& id) { leaf(path, to_text(id)); }
  void add_whole(const std::string& path, wall_ms t) {
    if (t != wall_ms{})
      leaf(path, time_text(t));
  }
  void add_whole(const std::string& path, std::chrono::milliseconds t) {
    leaf(path, std::to_string(t.count()) + " ms");
  }
  void add_whole(const std::string& path, std::chrono::seconds t) {
    leaf(path, std::to_string(t.count()) + " s");
  }
  template <class T>
  void add_whole(const std::string& path, const std::optional<T>& value) {
    if (value)
      add(path, *value);
  }
  template <class T>
  void add_whole(const std::string& path, const std::vector<T>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      add(path + "[" + std::to_string(i) + "]", values[i]);
  }
  void add_whole(const std::string& path, const std::map<std::string, std::string>& values) {
    for (const auto& [key, value] : values)
      leaf(path + "." + key, value);
  }
  template <class... T>
  void add_whole(const std::string& path, const std::variant<T...>& value) {
    auto kind = std::string{alternatives<std::variant<T...>>[value.index()]};
    auto within = path.empty() ? kind : path + "." + kind;
    std::visit([&](const auto& alternative) { add(within, alternative); }, value);
  }
  template <class T>
  void add_whole(const std::string& path, const T& value) {
    fields( // Found by its arguments, where their lists are known.
      [&](std::string_view name, const auto& member) {
        add(path.empty() ? std::string{name} : path + "." + std::string{name}, member);
      },
      value
    );
  }
};

} // namespace assay::ledger
