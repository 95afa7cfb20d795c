#pragma once
// A value with something in every field: counted upwards, so that two fields never look alike.

#include "src/ledger/row_fields.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace assay::test {

class filler {
public:
  /// `skips`: only every so manieth member of a struct gets something; 1: all of them.
  explicit filler(int skips = 1) : skips_{skips} {}

  template <class T>
  T make() {
    T value{};
    fill(value);
    return value;
  }

private:
  void fill(bool& v) { v = true; }
  void fill(std::string& v) { v = "text \xc3\xa9 " + std::to_string(++count_); }
  void fill(wall_ms& v) { v.value = 1'000 + ++count_; }
  void fill(std::chrono::seconds& v) { v = std::chrono::seconds{++count_}; }
  void fill(std::chrono::milliseconds& v) { v = std::chrono::milliseconds{++count_}; }
  void fill(digest& v) { v = sha256(std::to_string(++count_)); }
  void fill(uuid& v) { v = make_uuid7(static_cast<std::uint64_t>(++count_), {}); }
  void fill(std::map<std::string, std::string>& v) { v = {{"a", "1"}, {"b", ""}}; }
  template <class Tag>
  void fill(id<Tag>& v) {
    fill(v.value);
  }
  template <class T>
  void fill(std::optional<T>& v) {
    fill(v.emplace());
  }
  template <class T>
  void fill(std::vector<T>& v) {
    fill(v.emplace_back());
    fill(v.emplace_back());
  }
  template <class... T>
  void fill(std::variant<T...>& v) {
    fill(v.template emplace<0>());
  }
  template <class T>
  void fill(T& v) {
    if constexpr (std::is_enum_v<T>)
      v = static_cast<T>(1);
    else if constexpr (std::is_integral_v<T>)
      v = static_cast<T>(++count_);
    else
      ledger::fields(
        [&](std::string_view, auto& member) {
          if (++turns_ % skips_ == 0)
            fill(member);
        },
        v
      );
  }

  const int skips_;
  int turns_ = 0;
  std::int64_t count_ = 0;
};

/// Calls `with(name, value)` for each alternative of the variant V, filled.
template <class V, std::size_t I = 0, class With>
void each_filled(With with, int skips = 1) {
  if constexpr (I < std::variant_size_v<V>) {
    with(
      ledger::alternatives<V>[I],
      V { std::in_place_index<I>, filler{skips}.make<std::variant_alternative_t<I, V>>() }
    );
    each_filled<V, I + 1>(with, skips);
  }
}

} // namespace assay::test
