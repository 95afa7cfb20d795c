#pragma once
// A value or the reason there is none, with std::expected's names (g++ 12 has no <expected>).
//
//   result<pool, problem> parsed = parse(text);
//   if (!parsed)
//     return unexpected{parsed.error()};
//   use(*parsed);

#include "src/base/check.hpp"

#include <utility>
#include <variant>

namespace assay {

/// Marks a value as the reason for failure.
template <class E>
struct unexpected {
  E error;
};
template <class E>
unexpected(E) -> unexpected<E>;

template <class T, class E>
class [[nodiscard]] result {
public:
  result(T value) : state_{std::in_place_index<0>, std::move(value)} {}
  result(unexpected<E> why) : state_{std::in_place_index<1>, std::move(why.error)} {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    check(has_value(), "result::value() of a failure");
    return std::get<0>(state_);
  }
  const T& value() const& {
    check(has_value(), "result::value() of a failure");
    return std::get<0>(state_);
  }
  T&& value() && {
    check(has_value(), "result::value() of a failure");
    return std::get<0>(std::move(state_));
  }
  T value_or(T otherwise) const { return has_value() ? value() : std::move(otherwise); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const E& error() const {
    check(!has_value(), "result::error() of a success");
    return std::get<1>(state_);
  }

private:
  std::variant<T, E> state_;
};

/// Success carries nothing.
template <class E>
class [[nodiscard]] result<void, E> {
public:
  result() = default;
  result(unexpected<E> why) : state_{std::in_place_index<1>, std::move(why.error)} {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  const E& error() const {
    check(!has_value(), "result::error() of a success");
    return std::get<1>(state_);
  }

private:
  std::variant<std::monostate, E> state_;
};

} // namespace assay
