#include "src/catalog/units.hpp"

#include "src/catalog/complaints.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>

namespace assay::catalog {

namespace {

struct unit {
  std::string_view name;
  std::uint64_t factor;
};

// Largest first, so that the first exact one is the shortest to read.
constexpr unit byte_units[] = {
  {"TiB", 1ull << 40},
  {"GiB", 1ull << 30},
  {"MiB", 1ull << 20},
  {"KiB", 1ull << 10},
  {"TB", 1'000'000'000'000},
  {"GB", 1'000'000'000},
  {"MB", 1'000'000},
  {"kB", 1'000},
  {"B", 1},
};
constexpr unit time_units[] = {
  {"d", 86'400'000}, {"h", 3'600'000}, {"min", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr unit share_units[] = {{"%", 10'000}};

__extension__ using wide = unsigned __int128;

constexpr std::uint64_t largest = std::uint64_t{1} << 62;

/// Digits, at most one point with at most nine digits behind it, and the rest: the unit.
struct amount {
  std::uint64_t digits = 0;
  std::uint64_t divisor = 1; ///< A power of ten.
  std::string_view unit;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

std::optional<amount> read_amount(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || !is_digit(text.front()))
    return {};
  amount read;
  bool fraction = false;
  while (!text.empty() && (is_digit(text.front()) || (text.front() == '.' && !fraction))) {
    if (text.front() == '.') {
      fraction = true;
      if (text.size() < 2 || !is_digit(text[1]))
        return {};
    } else {
      if (read.digits >= largest / 10 || read.divisor >= 1'000'000'000)
        return {};
      read.digits = read.digits * 10 + static_cast<std::uint64_t>(text.front() - '0');
      read.divisor *= fraction ? 10 : 1;
    }
    text.remove_prefix(1);
  }
  read.unit = trimmed(text);
  return read;
}

std::string unit_list(std::span<const unit> units) {
  std::vector<std::string_view> names;
  for (auto at = units.rbegin(); at != units.rend(); ++at)
    names.push_back(at->name);
  return listed(names);
}

const unit* find_unit(std::span<const unit> units, std::string_view name) {
  for (const auto& u : units)
    if (u.name == name)
      return &u;
  return nullptr;
}

/// The amount in the smallest unit, exactly or not at all.
std::optional<std::uint64_t> scaled(const amount& a, std::uint64_t factor) {
  const auto product = static_cast<wide>(a.digits) * factor;
  if (product % a.divisor != 0 || product / a.divisor > largest)
    return {};
  return static_cast<std::uint64_t>(product / a.divisor);
}

value_result<std::uint64_t> quantity(
  std::string_view text, std::span<const unit> units, std::string_view what, std::string_view like
) {
  const auto next =
    "write a number and one of " + unit_list(units) + ", like `" + std::string{like} + "`";
  const auto refused = [&](std::string why) {
    return unexpected{
      value_error{in_quotes(text) + " is no " + std::string{what} + ": " + std::move(why), next}};
  };
  const auto read = read_amount(text);
  if (!read)
    return refused("it does not begin with a number in range");
  if (read->unit.empty())
    return refused("the unit is missing");
  const auto* u = find_unit(units, read->unit);
  if (u == nullptr)
    return refused("the unit " + in_quotes(read->unit) + " does not fit");
  const auto value = scaled(*read, u->factor);
  if (!value)
    return refused("it is too large or too fine");
  return *value;
}

std::string exact_text(std::uint64_t value, std::span<const unit> units) {
  for (const auto& u : units)
    if (value != 0 && value % u.factor == 0)
      return std::to_string(value / u.factor) + " " + std::string{u.name};
  return "0 " + std::string{units.back().name};
}

/// Digits with a point before the last `places`, without zeros at the end.
std::string decimal_text(std::uint64_t value, int places) {
  std::uint64_t divisor = 1;
  for (int i = 0; i < places; ++i)
    divisor *= 10;
  auto text = std::to_string(value / divisor);
  if (value % divisor == 0)
    return text;
  auto fraction = std::to_string(value % divisor);
  fraction.insert(0, static_cast<std::size_t>(places) - fraction.size(), '0');
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

} // namespace

value_result<std::uint64_t> parse_bytes(std::string_view text) {
  return quantity(text, byte_units, "size", "64 MiB");
}

value_result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto value = quantity(text, time_units, "duration", "10 s");
  if (!value)
    return unexpected{value.error()};
  return std::chrono::milliseconds{*value};
}

value_result<std::uint32_t> parse_share(std::string_view text) {
  const auto value = quantity(text, share_units, "share", "95 %");
  if (!value)
    return unexpected{value.error()};
  if (*value > 1'000'000)
    return unexpected{value_error{in_quotes(text) + " is more than all", "write 0 % to 100 %"}};
  return static_cast<std::uint32_t>(*value);
}

value_result<money> parse_money(std::string_view text) {
  const auto refused = [&](std::string why) {
    return unexpected{value_error{
      in_quotes(text) + " is no price: " + std::move(why),
      "write a number and a currency in three capital letters, like `0.002 EUR`"}};
  };
  const auto read = read_amount(text);
  if (!read)
    return refused("it does not begin with a number of at most nine decimals");
  if (read->unit.empty())
    return refused("the currency is missing");
  const bool capital =
    read->unit.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == read->unit.npos;
  if (!capital || read->unit.size() != 3)
    return refused(in_quotes(read->unit) + " is no currency");
  const auto nano = scaled(*read, 1'000'000'000);
  if (!nano)
    return refused("it is too large");
  return money{*nano, std::string{read->unit}};
}

value_result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || value > largest)
    return unexpected{value_error{
      in_quotes(text) + " is no whole number",
      "write digits only, without unit, sign or separators"}};
  return value;
}

value_result<bool> parse_flag(std::string_view text) {
  if (text == "true")
    return true;
  if (text == "false")
    return false;
  return unexpected{
    value_error{in_quotes(text) + " is neither true nor false", "write `true` or `false`"}};
}

std::string bytes_text(std::uint64_t bytes) {
  return exact_text(bytes, byte_units);
}

std::string duration_text(std::chrono::milliseconds span) {
  return exact_text(static_cast<std::uint64_t>(span.count()), time_units);
}

std::string share_text(std::uint32_t ppm) {
  return decimal_text(ppm, 4) + " %";
}

std::string money_text(const money& m) {
  return decimal_text(m.nano, 9) + " " + m.currency;
}

} // namespace assay::catalog
