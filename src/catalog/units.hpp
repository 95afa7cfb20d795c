#pragma once
// Quantities as people write them, and back. A number without its unit is refused where a unit is
// needed: 64 could be bytes or MiB, and one of both is wrong.

#include "src/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::catalog {

/// Why a value was not taken: what was seen, and what is allowed.
struct value_error {
  std::string what;
  std::string next;
};

template <class T>
using value_result = result<T, value_error>;

/// Prices are scaled integers: 1e-9 of the currency.
struct money {
  std::uint64_t nano = 0;
  std::string currency; ///< Three capital letters.

  friend bool operator==(const money&, const money&) = default;
};

value_result<std::uint64_t> parse_bytes(std::string_view text); ///< `64 MiB`, `10 MB`
value_result<std::chrono::milliseconds> parse_duration(std::string_view text); ///< `300 ms`, `90 d`
value_result<std::uint32_t> parse_share(std::string_view text);                ///< `95 %`, in ppm
value_result<money> parse_money(std::string_view text);                        ///< `0.002 EUR`
value_result<std::uint64_t> parse_count(std::string_view text);                ///< Digits only.
value_result<bool> parse_flag(std::string_view text);                          ///< `true`, `false`

std::string bytes_text(std::uint64_t bytes);
std::string duration_text(std::chrono::milliseconds span);
std::string share_text(std::uint32_t ppm);
std::string money_text(const money& m);

} // namespace assay::catalog
