#pragma once
// One member of the consensus group: events in, updates out, nothing else. It owns the library's
// state machine and keeps its rules: who frees what, terms of submitted entries, configurations
// told again after a restart, a commit index that never goes back, and messages checked before the
// library sees them.
//
// It reads no clock, disk or socket. The driver stores, sends and applies, and reports what became
// durable. Not thread-safe; one thread owns it.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/consensus/guards.hpp"
#include "src/consensus/values.hpp"

#include <memory>

namespace assay::consensus {

struct settings {
  std::uint64_t id = 1;
  std::string address;
  std::uint32_t seed = 1; ///< Of the election timer's chance.
  std::uint64_t run = 1;  ///< Grows with every start; numbers our messages.
  std::uint32_t election_timeout_ms = 1'000;
  std::uint32_t heartbeat_ms = 100;
  std::uint32_t inflight_entries_max = 32;
  /// After it a leader offers its snapshot again. A member that crashed while it fetched waits so
  /// long for the next offer; one that is fetching drops repeats, so it may be short.
  std::uint32_t install_timeout_ms = 10'000;
  guard_switches guards;
};

/// The fastest pace of timeouts: the library's deadline can lie in the past for ever.
inline constexpr std::uint64_t timeout_pace_ms = 10;

enum class catch_up_state : std::uint8_t { none, running, aborted, finished };

class core {
public:
  /// Fails only when there is no memory.
  static result<std::unique_ptr<core>, problem> make(const settings& how);

  ~core();
  core(const core&) = delete;
  core& operator=(const core&) = delete;

  /// `now_ms` is monotonic. After a refusal nothing has changed, except after `stopped`: then the
  /// core must go.
  result<updates, refusal> step(event what, std::uint64_t now_ms);

  /// When `timed_out` is due.
  std::uint64_t timeout_ms() const;

  bool is_leader() const;
  std::uint64_t term() const;
  std::uint64_t leader() const; ///< 0: unknown, or not heard of for two election timeouts.
  std::uint64_t last_index() const;
  std::uint64_t commit_index() const;
  /// How far this member's log is known to agree with ours, durably; nothing unless we lead and
  /// know it.
  std::optional<std::uint64_t> match_index(std::uint64_t member) const;
  /// 0: no transfer is under way.
  std::uint64_t transferee() const;
  catch_up_state catch_up(std::uint64_t member) const;
  /// As of the newest change, committed or not.
  const configuration& members() const;
  /// Why the last message was dropped before the library saw it; empty when it was not.
  std::string_view dropped() const;

private:
  struct library;
  explicit core(std::unique_ptr<library> all);
  std::unique_ptr<library> library_;
};

} // namespace assay::consensus
