#pragma once
// Rates learnt from the requests that passed through: seconds are the only unit in which unlike
// accelerators compare. They are fed by what a replica took, from the whole request to its first
// token and from there to its last, and by answers that were served; never by a queue, a caller's
// line or an attempt that failed.
//
// A rate that was never seen is unknown, which is neither zero nor infinity; one that was seen long
// ago is stale and says so. Nothing here reads an engine's own metrics (signal class `portable`).

#include "src/base/clock.hpp"
#include "src/pool/replica.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

namespace assay::routing {

enum class knowledge : std::uint8_t { unknown, fresh, stale };

/// An exponentially weighted mean; the first values weigh as in a plain mean.
struct learned {
  double value = 0;
  std::uint32_t seen = 0;
  steady_time at{};

  void learn(double next, steady_time now);
  knowledge state(steady_time now) const;
};

struct rates {
  learned prefill_tokens_per_second;
  learned decode_tokens_per_second;     ///< Of one stream, at the load it had.
  learned throughput_tokens_per_second; ///< Of the endpoint: all its streams together.
  learned output_tokens;                ///< Of one request.
  learned total_seconds;                ///< Of one request, where tokens are not counted.
  learned gap_seconds;                  ///< Between two contents of a stream.
};

/// One finished request, as far as it teaches something about its endpoint.
struct lesson {
  std::uint32_t input_tokens = 0; ///< 0: not known.
  std::uint32_t cached_tokens = 0;
  std::uint32_t output_tokens = 0;               ///< 0: not known.
  std::optional<std::chrono::microseconds> ttft; ///< Of the replica. None: nothing was streamed.
  std::chrono::microseconds total{};             ///< Of the replica.
  std::uint32_t in_flight = 1; ///< On the endpoint when it began, itself included.
  std::uint32_t contents = 0;  ///< Events of a stream that carried some; 0: not counted.
  bool held_up = false;        ///< The client's reading is in `total`, but not in `ttft`.
};

void learn(rates& r, const lesson& l, steady_time now);

/// What the rates predict for a request. `known` false: nothing was ever learnt, and `seconds` is
/// without meaning.
struct prediction {
  double seconds;
  bool known;
  bool stale;
};

struct work {
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0; ///< 0: not stated; the endpoint's mean stands in.
  std::uint32_t in_flight = 0;     ///< Already on the endpoint.
};

/// Rates turned into costs per unit, so that a prediction on the path of a request needs no
/// division. Made once per snapshot.
struct pace {
  double wait_per_request = 0; ///< Seconds that each request in flight adds.
  double per_input_token = 0;
  double per_output_token = 0;
  double mean_output_tokens = 0; ///< 0: not token work, `whole` stands for the request.
  double whole = 0;
  double usual = 0;                  ///< Of any request there; 0: not known.
  double completions_per_second = 0; ///< With all its slots busy; 0: not known.
  steady_time stale_after{};
  bool known = false;
};

pace pace_of(const rates& r, std::uint32_t slots);

inline prediction predict(const pace& p, const work& w, steady_time now) {
  // Nobody is believed to write more than four times what is usual there.
  auto asked = w.output_tokens > 0 ? static_cast<double>(w.output_tokens) : p.mean_output_tokens;
  auto output = asked < 4 * p.mean_output_tokens ? asked : 4 * p.mean_output_tokens;
  auto seconds = p.whole + w.in_flight * p.wait_per_request + w.input_tokens * p.per_input_token
                 + output * p.per_output_token;
  return {seconds, p.known, p.known && now > p.stale_after};
}

/// Until the first sign of an answer: of a stream its first content, else its end. None: nothing
/// was learnt that says so. Nothing that is in flight already is counted.
std::optional<double> expected_first(const pace& p, const work& w, bool stream);

/// The rates of every endpoint, kept by the INGRESS actor between snapshots.
class rate_table {
public:
  void learn(const pool::endpoint_key& endpoint, const lesson& l, steady_time now);
  rates of(const pool::endpoint_key& endpoint) const;

  /// Forgets endpoints that nothing was learnt about for `limits::rates_kept`.
  void sweep(steady_time now);

private:
  std::map<pool::endpoint_key, rates> rates_;
};

} // namespace assay::routing
