#pragma once
// A value of the ledger as text, for golden files: fields by name, what has its default left out.
// So a field that is added later changes no text of a value that was written before it.

#include "src/ledger/row_fields.hpp"
#include "tests/support/hex.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace assay::test {

class value_text {
public:
  template <class T>
  static std::string of(const T& value) {
    return text(value);
  }

private:
  static std::string quoted(const std::string& s) {
    std::string out = "'";
    for (char c : s)
      out +=
        static_cast<unsigned char>(c) < 0x20 || c == '\'' ? "%" + hex({&c, 1}) : std::string{c};
    return out + "'";
  }
  static std::string text(const std::string& v) { return v.empty() ? "" : quoted(v); }
  static std::string text(bool v) { return v ? "true" : ""; }
  static std::string text(wall_ms v) { return text(v.value); }
  static std::string text(std::chrono::seconds v) { return text(v.count()); }
  static std::string text(std::chrono::milliseconds v) { return text(v.count()); }
  static std::string text(const digest& v) { return v == digest{} ? "" : to_text(v); }
  static std::string text(const uuid& v) { return v == uuid{} ? "" : to_text(v); }
  template <class Tag>
  static std::string text(const id<Tag>& v) {
    return text(v.value);
  }
  static std::string text(const std::map<std::string, std::string>& v) {
    std::string all;
    for (const auto& [key, value] : v)
      all += (all.empty() ? "" : " ") + quoted(key) + ":" + quoted(value);
    return all.empty() ? "" : "{" + all + "}";
  }
  template <class T>
  static std::string text(const std::optional<T>& v) {
    return v ? "some(" + text(*v) + ")" : "";
  }
  template <class T>
  static std::string text(const std::vector<T>& v) {
    std::string all;
    for (const auto& element : v)
      all += (all.empty() ? "" : " ") + ("(" + text(element) + ")");
    return all.empty() ? "" : "[" + all + "]";
  }
  template <class... T>
  static std::string text(const std::variant<T...>& v) {
    return std::string{ledger::alternatives<std::variant<T...>>[v.index()]}
           + std::visit([](const auto& alternative) { return text(alternative); }, v);
  }
  template <class T>
  static std::string text(const T& v) {
    if constexpr (std::is_enum_v<T>)
      return text(static_cast<unsigned>(v));
    else if constexpr (std::is_integral_v<T>)
      return v == 0 ? "" : std::to_string(v);
    else
      return structure(v);
  }
  template <class T>
  static std::string structure(const T& v) {
    std::string all;
    ledger::fields(
      [&](std::string_view name, const auto& member) {
        auto said = text(member);
        if (!said.empty())
          all += (all.empty() ? "" : " ") + std::string{name} + "=" + said;
      },
      v
    );
    return "{" + all + "}";
  }
};

} // namespace assay::test
