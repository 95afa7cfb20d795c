#include "src/app/member_address.hpp"

namespace assay::app {

std::string text_of(const std::string& host, std::uint16_t port) {
  auto shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return shown + ":" + std::to_string(port);
}

std::string text_of(const listen_address& a) {
  return text_of(a.host, a.port);
}

problem at_key(problem why, std::string_view key) {
  why.where += " (" + std::string{key} + ")";
  return why;
}

addresses member_addresses(const settings& how) {
  auto dialled = [&how](const listen_address& a) {
    auto is_any = a.host == "0.0.0.0" || a.host == "::";
    return text_of(is_any ? how.peers.host : a.host, a.port);
  };
  return {
    text_of(how.peers),
    how.is_coordinator ? dialled(how.agents) : "",
    how.has_ingress ? dialled(how.ingress) : ""};
}

} // namespace assay::app
