#pragma once
// What is remembered of each decision, so that `assay explain` can answer for a real request.
//
// A trace holds indexes and numbers, no text of the request. The ring belongs to one HTTP thread,
// which alone writes and reads it: other threads ask that thread. Overwritten entries say so.

#include "src/routing/gates.hpp"
#include "src/routing/outcome.hpp"
#include "src/routing/snapshot.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

namespace assay::routing {

enum class outcome_kind : std::uint8_t { chosen, needs_ticket, refused };
std::string_view name(outcome_kind k);

/// Where a number that took part came from: us, the engine's metrics, the device's metrics.
enum class signal_class : std::uint8_t { portable, runtime, vendor };
std::string_view name(signal_class c);

enum class trace_flag : std::uint8_t {
  pinned,
  sticky,
  cost_acts_as_latency, ///< Policy `cost`, but figures are missing.
  compatibility,        ///< Sent to the compatibility pool: no evidence for this shape elsewhere.
  explored,             ///< An endpoint without learnt rates got its warm-up share.
  spilled,              ///< The first choice had no room; another within its bounds had.
  share_spread,         ///< Somebody's share was spread because a gate refused it.
  admitted,             ///< Came through the pool's queue.
  rates_unknown,        ///< Chosen by load only.
  rates_stale,
  avoided, ///< An endpoint was left out that fails, hangs or is full.
};

struct decision_trace {
  std::uint64_t snapshot = 0; ///< Generation.
  std::uint64_t route = 0;    ///< Generation; 0: no route.
  wall_ms at;
  std::uint32_t model = none;
  std::uint32_t implementation = none;
  std::uint32_t endpoint = none;
  std::uint32_t project = none;
  std::uint32_t key = none;
  std::uint32_t predicted_ms = 0;
  std::uint32_t waited_for_ms = 0;                ///< The wait that was refused as too long.
  pool::standing standing = pool::standing::fine; ///< Of the chosen endpoint.
  std::uint32_t input_least = 0;
  std::uint32_t input_most = 0;
  std::uint32_t output_tokens = 0; ///< 0: not asked for.
  std::uint32_t prompts = 1;
  std::uint16_t considered = 0; ///< Implementations looked at.
  std::uint16_t retries = 0;
  bits flags;   ///< trace_flag
  bits waived;  ///< gate
  bits signals; ///< signal_class
  outcome_kind outcome = outcome_kind::refused;
  contract::failure failure = contract::failure::internal_error; ///< When refused.
  contract::traffic_class traffic = contract::traffic_class::interactive;
  contract::operation operation = contract::operation::chat_completions;
  contract::task task = contract::task::chat;
  bool stream = false;
  route_policy policy = route_policy::cost;
  verdict nearest; ///< The refusal that came closest to passing, when there was one.

  /// The first implementations that refused, and why; more than fit are only counted.
  struct refusal {
    std::uint32_t implementation = none;
    routing::gate gate = gate::serves_task;
    routing::reason reason = reason::fine;
  };
  static constexpr std::size_t refusals_kept = 8;
  std::array<refusal, refusals_kept> refusals{};
  std::uint16_t refused = 0;

  // How it ended, once it has.
  std::optional<ending> ended;
  std::uint16_t status = 0; ///< What the client was answered.
  std::uint32_t queued_ms = 0;
  std::uint32_t replica_first_ms = 0; ///< 0: no content was seen.
  std::uint32_t replica_total_ms = 0;
};

class decision_ring {
public:
  explicit decision_ring(std::size_t capacity);

  /// Position of the entry, the last part of a decision id. Positions start at 1.
  std::uint64_t push(const decision_trace& trace, std::shared_ptr<const name_table> names);

  struct entry {
    decision_trace trace;
    std::shared_ptr<const name_table> names;
  };
  enum class miss : std::uint8_t { overwritten, never_made };
  result<entry, miss> find(std::uint64_t position) const;

  /// For what is decided later: a retry's endpoint. Nothing happens when the entry is gone.
  void amend(std::uint64_t position, const decision_trace& trace);

  /// Notes how the request ended. Nothing happens when the entry is gone.
  void close(std::uint64_t position, const outcome& o);

  std::uint64_t last() const { return pushed_; }

private:
  decision_trace* at(std::uint64_t position);

  std::size_t capacity_;
  std::uint64_t pushed_ = 0;
  std::deque<entry> entries_; ///< Grows up to the capacity, then wraps.
};

} // namespace assay::routing
