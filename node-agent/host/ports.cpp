#include "node-agent/host/ports.hpp"

#include "node-agent/host/process.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>

namespace assay::agent {

namespace {

constexpr auto listen_state = "0A"; // TCP_LISTEN in /proc/net/tcp.

std::optional<std::uint16_t> port_from(std::string_view text) {
  std::uint16_t port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0)
    return {};
  return port;
}

void drop_inodes_of(pid_t pid, std::set<std::uint64_t>& inodes) {
  std::error_code ignored; // The process ended, or is not ours to look into: it owns nothing then.
  auto folder =
    std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/fd", ignored};
  for (; !ignored && folder != std::filesystem::directory_iterator{}; folder.increment(ignored)) {
    std::error_code gone;
    auto target = std::filesystem::read_symlink(folder->path(), gone).native();
    if (gone || !target.starts_with("socket:["))
      continue;
    inodes.erase(std::strtoull(target.c_str() + 8, nullptr, 10));
  }
}

} // namespace

result<port_range, problem> parse_port_range(std::string_view text) {
  auto dash = text.find('-');
  auto first = port_from(text.substr(0, dash));
  auto last = dash == std::string_view::npos ? first : port_from(text.substr(dash + 1));
  if (!first || !last || *first > *last)
    return unexpected{problem{
      problem_kind::invalid,
      "'" + std::string{text} + "' is not a range of ports",
      "ports",
      "write FIRST-LAST with ports from 1 to 65535, for example 7200-7999"}};
  return port_range{*first, *last};
}

bool is_free(std::uint16_t port) {
  auto probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0)
    return false;
  // Servers set it too; without it a port in TIME_WAIT would look taken for a minute.
  int yes = 1;
  ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  auto bound = ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
               && ::listen(probe, 1) == 0;
  ::close(probe);
  return bound;
}

result<std::uint16_t, problem>
find_free_port(const port_range& range, const std::set<std::uint16_t>& taken) {
  // Two agents of one machine that start at once begin at different places.
  std::uint32_t size = range.last - range.first + 1U;
  auto offset = static_cast<std::uint32_t>(::getpid()) * 37U;
  for (std::uint32_t step = 0; step < size; ++step) {
    auto candidate = static_cast<std::uint16_t>(range.first + (offset + step) % size);
    if (!taken.contains(candidate) && is_free(candidate))
      return candidate;
  }
  return unexpected{problem{
    problem_kind::exhausted,
    "no free port from " + std::to_string(range.first) + " to " + std::to_string(range.last),
    "ports",
    "widen `ports` in the agent's configuration, or end what listens there (ss -ltnp)"}};
}

std::vector<std::uint64_t> listening_inodes(std::string_view table, std::uint16_t port) {
  std::vector<std::uint64_t> result;
  std::istringstream lines{std::string{table}};
  std::string line;
  std::getline(lines, line); // The header.
  while (std::getline(lines, line)) {
    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
    std::istringstream fields{line};
    std::string slot, local, remote, state, queues, timer, retries, user, timeout;
    std::uint64_t inode = 0;
    if (!(fields >> slot >> local >> remote >> state >> queues >> timer >> retries >> user
          >> timeout >> inode))
      continue;
    auto colon = local.rfind(':');
    if (state == listen_state && colon != std::string::npos && std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port)
      result.push_back(inode);
  }
  return result;
}

std::vector<std::uint64_t> sockets_listening_on(std::uint16_t port) {
  std::set<std::uint64_t> result;
  for (const auto* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"})
    if (auto text = read_small_file(table))
      for (auto inode : listening_inodes(*text, port))
        result.insert(inode);
  return {result.begin(), result.end()};
}

port_owner owner_of_port(std::uint16_t port, const std::vector<pid_t>& tree) {
  auto sockets = sockets_listening_on(port);
  std::set<std::uint64_t> inodes{sockets.begin(), sockets.end()};
  if (inodes.empty())
    return port_owner::nobody;
  for (auto pid : tree)
    drop_inodes_of(pid, inodes);
  return inodes.empty() ? port_owner::ours : port_owner::stranger;
}

} // namespace assay::agent
