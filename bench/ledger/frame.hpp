#pragma once
// What clients of the bench and a member say to each other on a loopback connection: numbers in
// this machine's order, and a text. Any number of questions may be open on one connection.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace assay::bench {

/// Followed by `bytes` of text to put on record. Without text it asks whether the member leads.
struct question {
  std::uint32_t bytes = 0;
  std::uint32_t client = 0;
};

struct reply {
  std::uint32_t client = 0;
  std::uint32_t is_yes = 0; ///< Durable on a majority and applied; or: it leads.
};

inline constexpr std::size_t text_bytes = 512;
inline constexpr std::uint32_t names = 16; ///< Clients write these again and again.

template <class T>
void append(std::string& to, const T& what) {
  to.append(reinterpret_cast<const char*>(&what), sizeof what);
}

/// Nothing is taken when there is not enough.
template <class T>
bool take(std::string_view& from, T& into) {
  if (from.size() < sizeof into)
    return false;
  std::memcpy(&into, from.data(), sizeof into);
  from.remove_prefix(sizeof into);
  return true;
}

} // namespace assay::bench
