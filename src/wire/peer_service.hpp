#pragma once
// What coordinators say to each other about serving: the pools of the leader, the ingresses of the
// others, what those served, and requests to the admin API that a follower passes on.
//
// Every message about pools carries the epoch (the Raft term) that its sender takes for current, so
// that words of an earlier one are known as such. No time point travels: a length of time is what
// was left when the message was made.

#include "src/base/clock.hpp"
#include "src/base/uuid.hpp"
#include "src/pool/events.hpp"
#include "src/pool/view.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::peers {

// -- from an ingress to the leader

/// "Send me your pools." Said again until `pools_now` answers.
struct ingress_hello {
  std::uint64_t epoch = 0; ///< That it follows.
  ingress_id ingress;
  std::uint64_t boot = 0; ///< Of its process: after another one, nothing said before counts.

  friend bool operator==(const ingress_hello&, const ingress_hello&) = default;
};

/// All that the ingress holds and uses in this pool.
struct ingress_report {
  std::uint64_t epoch = 0;
  pool_id pool;
  /// The ingress's own clock when it said so; meaningless to others, who echo it in `lease`.
  std::chrono::milliseconds at{};
  std::vector<pool::ingress_reported::holding> holdings;
  std::vector<std::uint64_t> settled;
  std::uint64_t seq = 0; ///< Of the newest record that it routes by; 0: it has no routes.
};

struct ticket_ask {
  std::uint64_t epoch = 0;
  pool_id pool;
  std::uint64_t ticket = 0;
  contract::traffic_class traffic = contract::traffic_class::interactive;
  project_id project;
  std::vector<implementation_id> acceptable;
  std::vector<pool::endpoint_key> excluded;
  std::chrono::milliseconds left{}; ///< Until its deadline.

  friend bool operator==(const ticket_ask&, const ticket_ask&) = default;
};

struct ticket_withdraw {
  std::uint64_t epoch = 0;
  pool_id pool;
  std::uint64_t ticket = 0;

  friend bool operator==(const ticket_withdraw&, const ticket_withdraw&) = default;
};

// -- from the leader to an ingress

/// The pools that exist now. With it everything begins anew: states and leases follow, and what the
/// ingress waits for it asks again.
struct pools_now {
  std::uint64_t epoch = 0;
  std::vector<pool_id> pools;

  friend bool operator==(const pools_now&, const pools_now&) = default;
};

/// Holds the secrets of replicas: never logged.
struct pool_state {
  std::uint64_t epoch = 0;
  pool::pool_view view;
};

struct lease {
  std::uint64_t epoch = 0;
  pool_id pool;
  pool::endpoint_key endpoint;
  std::uint32_t credits = 0;
  contract::degraded_rule degraded = contract::degraded_rule::keep;
  pool::contention waiting = pool::contention::none;
  std::uint64_t number = 0;
  /// `at` of the last report that had arrived when this was said. The lease ends `left` after it:
  /// however long the message travels, the ingress never believes in it longer than the pool.
  std::chrono::milliseconds heard{};
  std::chrono::milliseconds left{};

  friend bool operator==(const lease&, const lease&) = default;
};

struct ticket_admit {
  std::uint64_t epoch = 0;
  pool_id pool;
  std::uint64_t ticket = 0;
  implementation_id implementation;
  pool::endpoint_key endpoint;

  friend bool operator==(const ticket_admit&, const ticket_admit&) = default;
};

struct ticket_refuse {
  std::uint64_t epoch = 0;
  pool_id pool;
  std::uint64_t ticket = 0;
  pool::ticket_refusal why = pool::ticket_refusal::queue_full;
  std::chrono::seconds retry_after{1};
  bool measured = false;

  friend bool operator==(const ticket_refuse&, const ticket_refuse&) = default;
};

// -- what an ingress served, for the ledger

/// From an ingress to the leader, said again until `service_kept` answers.
struct service_told {
  std::string proposal; ///< A record that holds a serving_summary, as it is proposed.

  friend bool operator==(const service_told&, const service_told&) = default;
};

/// From the leader: there is nothing more to say of that record.
struct service_kept {
  uuid record;
  std::string why; ///< Why it will never be on record; empty: it is.

  friend bool operator==(const service_kept&, const service_kept&) = default;
};

// -- the admin API, both ways

/// A request to the admin API, from a follower to the leader.
struct admin_ask {
  std::uint64_t number = 0; ///< The asker's; the answer has the same.
  std::string method;
  std::string path;
  std::string query;
  std::string body;
  std::string who;      ///< The author, as the asker knows it.
  std::uint8_t how = 0; ///< How it knows, as `ledger::authentication` counts.

  friend bool operator==(const admin_ask&, const admin_ask&) = default;
};

struct admin_answer {
  std::uint64_t number = 0;
  std::uint32_t status = 0;
  std::string content_type;
  std::string body;

  friend bool operator==(const admin_answer&, const admin_answer&) = default;
};

// -- clocks, all ways

/// What the sender's wall clock says, once a second.
struct clock_told {
  wall_ms at;

  friend bool operator==(const clock_told&, const clock_told&) = default;
};

// -- disks, all ways

/// How long a synced write of the sender's log takes of late, once a second; 0: it wrote little.
struct sync_told {
  std::chrono::milliseconds sync{0};

  friend bool operator==(const sync_told&, const sync_told&) = default;
};

/// What is wrong with the sender's disk, once a second.
struct disk_told {
  bool is_full = false;
  bool is_damaged = false; ///< Of the ledger's records there.

  friend bool operator==(const disk_told&, const disk_told&) = default;
};

} // namespace assay::peers
