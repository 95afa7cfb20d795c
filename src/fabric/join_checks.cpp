#include "src/fabric/join_checks.hpp"

#include "src/base/peer_limits.hpp"
#include "src/fabric/line.hpp"

namespace assay::fabric {

namespace {

constexpr std::string_view name_alphabet =
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
constexpr std::string_view hexadecimal = "0123456789abcdef";
constexpr std::size_t signing_digits = 64;

bool is_address(std::string_view text) {
  return text.size() <= limits::peer_address_bytes && can_be_dialled(text);
}

std::string bad_address(const char* whose, const std::string& text) {
  return std::string{"the address of its "} + whose + ", '" + text
         + "', is not HOST:PORT of at most 256 characters, for example 10.0.0.5:7104";
}

bool is_signing_key(const std::string& text) {
  return text.size() == signing_digits && text.find_first_not_of(hexadecimal) == std::string::npos;
}

std::optional<std::string> fault_of(const joining_member& member) {
  if (!is_address(member.peers))
    return bad_address("peer links", member.peers);
  if (!member.agents.empty() && !is_address(member.agents))
    return bad_address("hub", member.agents);
  if (!member.ingress.empty() && !is_address(member.ingress))
    return bad_address("ingress", member.ingress);
  if (!is_signing_key(member.signing_public))
    return "its signing key is not 64 hexadecimal digits in lower case";
  if (!is_host_name(member.disk))
    return "its disk id does not have 1 to 64 characters of A-Z a-z 0-9 . _ -";
  return std::nullopt;
}

} // namespace

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= limits::name_bytes
         && text.find_first_not_of(name_alphabet) == std::string_view::npos;
}

std::optional<std::string> fault_of(const join& said) {
  if (!is_host_name(said.name))
    return "a name has 1 to 64 characters of A-Z a-z 0-9 . _ -";
  if (!said.member)
    return std::nullopt;
  if (said.member->name != said.name)
    return "it asks as '" + said.name + "' and calls itself '" + said.member->name + "'";
  return fault_of(*said.member);
}

std::optional<std::string> fault_of(const joined_cluster& told) {
  if (told.members.empty())
    return "names no member";
  for (const auto& member : told.members)
    if (!is_host_name(member.name) || !is_address(member.peers))
      return "names the member '" + member.name + "' at '" + member.peers
             + "', which cannot be dialled";
  return std::nullopt;
}

std::vector<coordinator_at> only_dialled(std::vector<coordinator_at> told) {
  std::erase_if(told, [](const coordinator_at& one) { return !is_address(one.address); });
  return told;
}

} // namespace assay::fabric
