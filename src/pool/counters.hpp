#pragma once
// Requests in flight on each endpoint, and how many this ingress may have there.
//
// Counters live outside the routing snapshot, keyed by (address, generation), so that a new
// snapshot never loses a count. HTTP threads reserve and release; the INGRESS actor alone grants.
// A reservation is a handle: whatever ends the request, its destructor gives the credit back
// exactly once. Nothing here blocks, except the registry's own map, which no request touches.

#include "src/base/clock.hpp"
#include "src/contract/contract.hpp"
#include "src/pool/pulse.hpp"
#include "src/pool/replica.hpp"
#include "src/pool/standing.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace assay::pool {

/// Who waits in the pool's queue. While somebody waits, a free credit belongs to the queue's head,
/// not to whoever happens to arrive next.
enum class contention : std::uint8_t { none, batch_waits, interactive_waits };

/// What a coordinator granted to this ingress on one endpoint.
struct grant {
  std::uint32_t credits = 0;
  steady_time until{};
  contract::degraded_rule degraded = contract::degraded_rule::keep;
  contention waiting = contention::none;
};

inline constexpr std::uint32_t no_limit = 0xffff'ffff;

/// What the INGRESS ruled for an endpoint (src/routing/health.hpp).
struct admission {
  pool::standing standing = standing::fine;
  std::uint32_t tokens = no_limit; ///< Requests that may still go there; each one takes a token.
  steady_time until{};             ///< When it is tried again, where that is known.
  bool is_spared = false;          ///< It would be left out, but too many are.

  friend bool operator==(const admission&, const admission&) = default;
};

struct reserve_terms {
  contract::traffic_class traffic = contract::traffic_class::interactive;
  steady_time now{};
  bool admitted = false; ///< The queue sent this request here: contention does not stop it.
};

/// Credits that batch and shadow traffic leave free for interactive requests. 0 for one credit,
/// else an eighth, at least one.
std::uint32_t interactive_headroom(std::uint32_t credits);

/// Credits in force: the grant, or what the degraded rule leaves of it once the lease has run out.
/// `shrink` leaves half, rounded up, so that a single credit goes on serving.
std::uint32_t credits_in_force(const grant& g, steady_time now);

class alignas(64) endpoint_counters {
public:
  explicit endpoint_counters(endpoint_key key) : key_{std::move(key)} {}
  endpoint_counters(const endpoint_counters&) = delete;
  endpoint_counters& operator=(const endpoint_counters&) = delete;

  const endpoint_key& key() const { return key_; }

  /// Replaces the grant. Requests already in flight stay, even above a lower grant.
  void accept(const grant& g);

  std::uint32_t in_flight() const;
  std::uint64_t finished() const { return finished_.load(std::memory_order_relaxed); }
  grant granted() const;

  /// How long the lease has run out at `now`; zero while it holds, or when there never was one.
  std::chrono::nanoseconds stale_for(steady_time now) const;

  /// How many more requests on these terms would be let in now. A look, not a promise.
  std::uint32_t room(const reserve_terms& terms) const;

  struct load {
    std::uint32_t in_flight = 0;
    std::uint32_t room = 0;
  };
  load look(const reserve_terms& terms) const;

  pool::standing standing() const { return standing_.load(std::memory_order_relaxed); }
  /// No request of this class goes there now, whatever its credits.
  bool is_left_out(contract::traffic_class traffic) const { return tokens(traffic) == 0; }

  /// Puts a ruling in force that was made when `seen` tokens were left. A token that was spent
  /// since stays spent. Evaluation traffic is not ruled over.
  void rule(const admission& a, std::uint32_t seen);
  admission ruled() const;

  pool::pulse& signs() { return pulse_; }
  const pool::pulse& signs() const { return pulse_; }

private:
  friend class reservation;

  std::uint32_t ceiling(std::uint32_t credits, const reserve_terms& terms) const;
  std::uint32_t tokens(contract::traffic_class traffic) const {
    return traffic == contract::traffic_class::evaluation ? no_limit
                                                          : tokens_.load(std::memory_order_relaxed);
  }
  bool spend_token(const reserve_terms& terms);
  bool try_enter(const reserve_terms& terms);
  bool take_credit(const reserve_terms& terms);
  void leave();

  // Credits in the upper half, requests in flight in the lower: one compare-and-swap sees both.
  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::int64_t> until_ns_{0};
  std::atomic<contract::degraded_rule> degraded_{contract::degraded_rule::keep};
  std::atomic<contention> waiting_{contention::none};
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint32_t> tokens_{no_limit};
  std::atomic<pool::standing> standing_{standing::fine};
  std::atomic<bool> spared_{false};
  std::atomic<std::int64_t> tried_again_ns_{0};
  endpoint_key key_;
  pool::pulse pulse_;
};

/// One credit in use. Move-only; empty after a move or `release`.
class reservation {
public:
  reservation() = default;
  reservation(reservation&&) noexcept = default;
  reservation& operator=(reservation&& other) noexcept;
  ~reservation() { release(); }

  /// Takes a credit, or returns an empty handle when there is none on these terms.
  static reservation
  take(const std::shared_ptr<endpoint_counters>& counters, const reserve_terms& terms);

  explicit operator bool() const { return counters_ != nullptr; }
  const endpoint_counters* counters() const { return counters_.get(); }

  /// Gives the credit back now. Harmless when empty.
  void release();

private:
  explicit reservation(std::shared_ptr<endpoint_counters> counters);

  std::shared_ptr<endpoint_counters> counters_;
};

/// The counters of every endpoint this ingress knows. Safe to call from any thread.
class endpoint_registry {
public:
  /// The counters of `key`, made with no credits if they are new.
  std::shared_ptr<endpoint_counters> obtain(const endpoint_key& key);

  /// Null when unknown.
  std::shared_ptr<endpoint_counters> find(const endpoint_key& key) const;

  struct usage {
    endpoint_key key;
    std::uint32_t credits = 0;
    std::uint32_t in_flight = 0;
    std::uint64_t finished = 0; ///< Since the counters were made.
    pool::standing standing = standing::fine;
  };
  std::vector<usage> usages() const;

  /// Forgets every endpoint that is not in `keep` and has nothing in flight; the others of them
  /// lose their credits. Returns how many were forgotten.
  std::size_t retain(const std::vector<endpoint_key>& keep);

private:
  mutable std::mutex mutex_;
  std::map<endpoint_key, std::shared_ptr<endpoint_counters>> counters_;
};

} // namespace assay::pool
