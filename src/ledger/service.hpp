#pragma once
// What did serve, as opposed to what might have: each ingress counts its requests by hour, route
// and implementation, and puts the counts on record when the hour is over.
//
// Pure values. The clock that says when a request ended is its ingress's.

#include "src/ledger/record.hpp"
#include "src/routing/outcome.hpp"

#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace assay::ledger {

inline constexpr std::chrono::milliseconds service_hour = std::chrono::hours{1};

/// The hour that holds `t` begins here.
wall_ms hour_of(wall_ms t);

/// The name of the subject `service_hour`: what was told of one route in one hour is found by it.
std::string service_hour_name(const model_id& route, wall_ms hour);

/// Follows from ingress, boot, hour, route and implementation: who tells the same hour again gives
/// the same id, and the ledger takes it once.
uuid id_of(const serving_summary& s);

/// The record that an ingress proposes; the same at each retry.
record record_of(serving_summary s);

/// Counts outcomes as they come in. Evaluation and shadow are no service and are not counted, nor
/// is what was refused before its route was known.
class service_tally {
public:
  /// An hour is told so long after its end: batches of outcomes are on their way meanwhile.
  static constexpr std::chrono::milliseconds grace = std::chrono::minutes{1};
  static constexpr std::size_t entries_most = 65'536;

  service_tally(std::string ingress, std::uint64_t boot)
    : ingress_{std::move(ingress)}, boot_{boot} {}

  /// What ended in an hour that was taken already counts in the first one that was not, so that
  /// every request is told, once.
  void add(const std::vector<routing::outcome>& ended);

  /// Hours that are over, oldest first. They are the caller's now: it proposes them until they are
  /// on record.
  std::vector<serving_summary> take_closed(wall_ms now);

  /// Everything, at the end of the process; nothing is added afterwards.
  std::vector<serving_summary> take_all();

  /// Requests that found no room, because nobody took what was counted.
  std::uint64_t left_out() const { return left_out_; }

private:
  struct entry {
    serving_summary counts;
    hasher decisions{"assay decisions 1"};
  };
  using entry_key = std::tuple<wall_ms, model_id, implementation_id>;

  void count(const routing::outcome& o);
  std::vector<serving_summary> take_before(wall_ms hour);

  std::string ingress_;
  std::uint64_t boot_;
  wall_ms first_open_; ///< No hour before this one is counted any more.
  std::map<entry_key, entry> entries_;
  std::uint64_t left_out_ = 0;
};

} // namespace assay::ledger
