#pragma once
// The parts of a coordinator's state. Only src/pool/coordinator*.cpp changes them.

#include "src/pool/events.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::pool {

struct host_state {
  host_reported last;
  bool connected = true;
  steady_time lost_at{};    ///< When it fell silent.
  steady_time settled_at{}; ///< From then on, what it did not report is not there.
};

/// What one ingress has on one endpoint.
struct lease_state {
  std::uint32_t credits = 0; ///< As last granted.
  std::uint32_t target = 0;  ///< What it should have; raised to when others have given back.
  std::uint32_t held = 0;    ///< The most it may still believe it has. Never less than `credits`.
  std::uint32_t in_flight = 0;
  std::uint64_t finished = 0;
  std::uint64_t number = 0; ///< Of the last grant.
  steady_time sent{};
  steady_time until{};
  contention waiting = contention::none; ///< As last told.

  struct admitted_ticket {
    steady_time at{};
    steady_time since{}; ///< Its place, should it have to ask again.
  };
  std::map<std::uint64_t, admitted_ticket> admitted; ///< Sent here and not yet settled.

  std::uint32_t busy() const { return in_flight + static_cast<std::uint32_t>(admitted.size()); }
  std::uint32_t idle() const { return credits > busy() ? credits - busy() : 0; }
};

struct replica_state {
  replica_id id;
  implementation_id implementation;
  host_id host;
  std::uint64_t session = 0; ///< Under which it was last asked for or reported.
  std::uint64_t generation = 0;
  pool::phase phase = phase::absent;
  std::string address;
  std::string secret;
  digest fingerprint;
  std::uint32_t slots = 0;
  std::vector<std::string> devices;
  pool::launch launch;
  digest launched; ///< `launch_digest` of what runs.
  std::string reason;
  std::string loopback;
  bool from_before = false; ///< Found, not started by this coordinator: others may hold leases.
  bool fenced = false;      ///< Its host is lost; until it is reported again nobody is sent there.
  std::optional<steady_time> confirm_by; ///< Its agent came back; it must be reported again.
  std::optional<std::string> leaving;    ///< Why; it gets no new credits.
  steady_time leave_by{};
  steady_time asked{}; ///< When start or stop was last sent.
  bool stop_sent = false;
  std::optional<steady_time> ready_since;
  steady_time busy_at{}; ///< When something was last in flight.
  std::map<ingress_id, lease_state> leases;

  endpoint_key key() const { return {address, generation}; }
};

struct wanted_state {
  wanted_implementation wanted;
  digest launch;
  std::uint32_t desired = 0; ///< Between the bounds.
  std::uint32_t failures = 0;
  std::uint32_t ordered_ends = 0; ///< In a row, by whoever rules at the host.
  steady_time retry_at{};
  std::string last_failure; ///< Why its last replica ended without this pool asking for it.
  std::string given_up;     ///< Why nothing is started any more.
  std::string waits_for;
  bool pauses = false; ///< It waits for the end of a crash's pause: a replica comes by itself.
};

struct ingress_state {
  bool connected = true;
  ingress_reported last;
};

/// Completions per second, over about ten seconds.
class service_rate {
public:
  void count(std::uint64_t finished) { pending_ += finished; }
  void roll(steady_time now);
  std::optional<double> per_second() const { return rate_; }

private:
  std::uint64_t pending_ = 0;
  std::optional<steady_time> since_;
  std::optional<double> rate_;
};

} // namespace assay::pool
