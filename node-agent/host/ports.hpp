#pragma once
// Ports for replicas: one that is free, and proof of who listens on it.
//
// A port is found by binding it, never by asking a list. Before a secret is sent to a port, the
// socket that listens there must belong to a process of ours.

#include "src/base/limits.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace assay::agent {

struct port_range {
  std::uint16_t first = limits::replica_port_first;
  std::uint16_t last = limits::replica_port_last;

  friend bool operator==(const port_range&, const port_range&) = default;
};

/// `7200-7999` or one port; nothing outside 1 to 65535, and never backwards.
result<port_range, problem> parse_port_range(std::string_view text);

/// A port that could be bound just now on every address and is not in `taken`. It is free again
/// when this returns, so the runtime may still find it taken; then the launch fails with that
/// reason.
result<std::uint16_t, problem>
find_free_port(const port_range& range, const std::set<std::uint16_t>& taken);

/// True if `port` can be bound on every address now: who else listens on one of them would look
/// like a stranger on a replica's port.
bool is_free(std::uint16_t port);

/// Socket inodes that listen on `port`, from the text of /proc/net/tcp or tcp6. Pure.
std::vector<std::uint64_t> listening_inodes(std::string_view table, std::uint16_t port);

/// Inodes of every socket of this machine that listens on `port`, sorted.
std::vector<std::uint64_t> sockets_listening_on(std::uint16_t port);

enum class port_owner : std::uint8_t {
  nobody,   ///< Nothing listens there.
  ours,     ///< Every socket that listens there belongs to one of the given processes.
  stranger, ///< Some socket there belongs to somebody else.
};

/// Who listens on `port` of this machine, seen from a process tree.
port_owner owner_of_port(std::uint16_t port, const std::vector<pid_t>& tree);

} // namespace assay::agent
