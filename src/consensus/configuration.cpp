#include "src/consensus/configuration.hpp"

namespace assay::consensus {

namespace {

constexpr std::uint8_t format = 1;

void put_number(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8)
    out.push_back(static_cast<char>(number >> shift));
}

/// Takes fields off the front; every take fails when too little is left.
struct cursor {
  std::string_view rest;

  std::optional<std::uint8_t> byte() {
    if (rest.empty())
      return {};
    auto value = static_cast<std::uint8_t>(rest.front());
    rest.remove_prefix(1);
    return value;
  }

  std::optional<std::uint64_t> number() {
    if (rest.size() < 8)
      return {};
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;)
      value = value << 8 | static_cast<std::uint8_t>(rest[i]);
    rest.remove_prefix(8);
    return value;
  }

  std::optional<std::string> text() {
    auto end = rest.find('\0');
    if (end == std::string_view::npos)
      return {};
    auto value = std::string{rest.substr(0, end)};
    rest.remove_prefix(end + 1);
    return value;
  }
};

std::string_view take_member(cursor& from, configuration& into) {
  auto id = from.number();
  auto address = from.text();
  auto role = from.byte();
  if (!id || !address || !role)
    return "a member is cut short";
  if (*id == 0)
    return "a member has id 0";
  if (*role > static_cast<std::uint8_t>(member_role::spare))
    return "a member has an unknown role";
  for (const auto& other : into)
    if (other.id == *id || other.address == *address)
      return "two members share an id or an address";
  into.push_back({*id, *std::move(address), static_cast<member_role>(*role)});
  return {};
}

} // namespace

std::string encode(const configuration& members) {
  std::string out(1, static_cast<char>(format));
  put_number(out, members.size());
  for (const auto& m : members) {
    put_number(out, m.id);
    out.append(m.address).push_back('\0');
    out.push_back(static_cast<char>(m.role));
  }
  out.resize((out.size() + 7) / 8 * 8, '\0');
  return out;
}

result<configuration, std::string_view> decode_configuration(std::string_view bytes) {
  cursor from{bytes};
  if (from.byte() != format)
    return unexpected{std::string_view{"not a configuration of format 1"}};
  auto count = from.number();
  if (!count || *count == 0 || *count > members_max)
    return unexpected{std::string_view{"the number of members is missing or not between 1 and 64"}};
  configuration members;
  for (std::uint64_t i = 0; i < *count; ++i)
    if (auto wrong = take_member(from, members); !wrong.empty())
      return unexpected{wrong};
  if (from.rest.size() >= 8)
    return unexpected{std::string_view{"bytes are left behind the last member"}};
  return members;
}

} // namespace assay::consensus
