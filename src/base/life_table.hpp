#pragma once
// A life cycle as a table: which event may follow which state, and what both are called. The table
// is the whole truth; what is not in it cannot happen.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace assay {

template <class State, class Event>
struct transition {
  State from;
  Event what;
  State to;
};

/// The state after `what`, or nothing when that may not happen in `from`.
template <class State, class Event, std::size_t N>
std::optional<State> follow(const transition<State, Event> (&table)[N], State from, Event what) {
  for (const auto& row : table)
    if (row.from == from && row.what == what)
      return row.to;
  return std::nullopt;
}

/// Nothing can happen in this state.
template <class State, class Event, std::size_t N>
bool ends_in(const transition<State, Event> (&table)[N], State s) {
  return std::ranges::find(table, s, &transition<State, Event>::from) == std::end(table);
}

/// The value of this name, for an enumeration whose names stand in its order.
template <class Enum, std::size_t N>
std::optional<Enum> named(const std::string_view (&names)[N], std::string_view text) {
  auto at = std::ranges::find(names, text);
  if (at == std::end(names))
    return std::nullopt;
  return static_cast<Enum>(at - std::begin(names));
}

} // namespace assay
