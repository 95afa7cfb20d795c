#pragma once
// The address under which other hosts reach this one.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <string>
#include <vector>

namespace assay::agent {

/// An IPv4 address of one host, in digits: neither unspecified nor multicast nor broadcast.
result<std::string, problem> parse_own_address(const std::string& text);

/// The address from which the kernel would reach the first of `coordinators` (`HOST:PORT`) to which
/// there is a way; loopback when there is none. Nothing is sent but a look-up of names.
std::string address_towards(const std::vector<std::string>& coordinators);

} // namespace assay::agent
