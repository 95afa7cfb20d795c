#include "node-agent/host/own_address.hpp"

#include "src/base/log.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace assay::agent {

namespace {

constexpr auto loopback = "127.0.0.1";

std::string in_digits(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return text.data();
}

/// A UDP socket that is connected has the source address of that way, and has sent nothing.
result<std::string, std::string> source_towards(const addrinfo& to) {
  auto probe = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0)
    return unexpected{std::string{std::strerror(errno)}};
  sockaddr_in own{};
  socklen_t size = sizeof own;
  auto found = ::connect(probe, to.ai_addr, to.ai_addrlen) == 0
               && ::getsockname(probe, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  std::string why = found ? "" : std::strerror(errno);
  ::close(probe);
  if (!found)
    return unexpected{why};
  return in_digits(own);
}

result<std::string, std::string> own_address_for(const std::string& coordinator) {
  auto colon = coordinator.rfind(':');
  if (colon == std::string::npos)
    return unexpected{std::string{"it is not HOST:PORT"}};
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  auto host = coordinator.substr(0, colon);
  auto port = coordinator.substr(colon + 1);
  if (auto bad = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); bad != 0)
    return unexpected{std::string{::gai_strerror(bad)}};
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned{found, &::freeaddrinfo};
  return source_towards(*found);
}

} // namespace

result<std::string, problem> parse_own_address(const std::string& text) {
  in_addr address{};
  auto number = ::inet_pton(AF_INET, text.c_str(), &address) == 1 ? ntohl(address.s_addr) : 0;
  if (number >> 24 == 0 || number >> 28 >= 14) // This network; multicast, reserved and broadcast.
    return unexpected{problem{
      problem_kind::invalid,
      "'" + text + "' is no address by which another host reaches this one",
      "address",
      "write an IPv4 address of this host, for example 10.0.0.17"}};
  return text;
}

std::string address_towards(const std::vector<std::string>& coordinators) {
  for (const auto& coordinator : coordinators) {
    auto found = own_address_for(coordinator);
    if (found)
      return *found;
    log::warn("own_address_not_found", {{"towards", coordinator}, {"why", found.error()}});
  }
  return loopback;
}

} // namespace assay::agent
