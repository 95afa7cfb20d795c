#pragma once
// Where other machines reach this assayd, as its place in the ledger says.

#include "src/app/settings.hpp"
#include "src/base/problem.hpp"

#include <string>

namespace assay::app {

struct addresses {
  std::string peers;
  std::string agents;  ///< Empty: it is no coordinator.
  std::string ingress; ///< Empty: it has none.
};

/// `HOST:PORT`, an IPv6 address in brackets before its port (RFC 3986).
std::string text_of(const std::string& host, std::uint16_t port);
std::string text_of(const listen_address& a);

/// What listens on all interfaces is dialled at the peers' address.
addresses member_addresses(const settings& how);

/// Why a door did not open, with the key of the configuration that says where it is.
problem at_key(problem why, std::string_view key);

} // namespace assay::app
