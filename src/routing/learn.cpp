#include "src/routing/learn.hpp"

#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::routing {

namespace {

constexpr std::uint32_t memory = 16; ///< Values that the mean looks back on.

double seconds(std::chrono::microseconds t) {
  return std::chrono::duration<double>(t).count();
}

} // namespace

void learned::learn(double next, steady_time now) {
  seen = std::min(seen + 1, memory);
  value += (next - value) / seen;
  at = now;
}

knowledge learned::state(steady_time now) const {
  if (seen == 0)
    return knowledge::unknown;
  return now - at > limits::rates_stale ? knowledge::stale : knowledge::fresh;
}

void learn(rates& r, const lesson& l, steady_time now) {
  auto total = seconds(l.total);
  if (total <= 0)
    return;
  if (!l.held_up)
    r.total_seconds.learn(total, now);
  if (!l.held_up && l.ttft && l.contents > 1)
    r.gap_seconds.learn((total - seconds(*l.ttft)) / (l.contents - 1), now);
  auto fresh_input = l.input_tokens > l.cached_tokens ? l.input_tokens - l.cached_tokens : 0;
  auto ttft = l.ttft ? seconds(*l.ttft) : 0;
  if (ttft > 0 && fresh_input > 0)
    r.prefill_tokens_per_second.learn(fresh_input / ttft, now);
  if (l.output_tokens == 0)
    return;
  r.output_tokens.learn(l.output_tokens, now);
  if (l.held_up)
    return;
  // The first token belongs to the prefill. Without a stream it was not seen, and what prefill
  // usually takes here stands in; with nothing known of that the whole time counts as decoding.
  if (!l.ttft && r.prefill_tokens_per_second.seen > 0)
    ttft = fresh_input / r.prefill_tokens_per_second.value;
  auto decoding = total - ttft;
  auto decoded = l.ttft ? l.output_tokens - 1 : l.output_tokens;
  if (decoding <= 0 || decoded == 0)
    return;
  auto rate = decoded / decoding;
  r.decode_tokens_per_second.learn(rate, now);
  r.throughput_tokens_per_second.learn(rate * std::max(l.in_flight, 1U), now);
}

pace pace_of(const rates& r, std::uint32_t slots) {
  pace p;
  p.stale_after = r.total_seconds.at + limits::rates_stale;
  p.usual = r.total_seconds.value;
  if (r.decode_tokens_per_second.seen == 0 || r.output_tokens.seen == 0) {
    // Not token work, or never seen to end: the mean time stands in, scaled by the load.
    p.known = r.total_seconds.seen > 0;
    p.whole = r.total_seconds.value;
    p.wait_per_request = r.total_seconds.value / std::max(slots, 1U);
    p.completions_per_second = p.whole > 0 ? std::max(slots, 1U) / p.whole : 0;
    return p;
  }
  p.known = true;
  p.mean_output_tokens = r.output_tokens.value;
  // Those in flight are half done on average.
  p.wait_per_request = r.output_tokens.value / 2 / r.throughput_tokens_per_second.value;
  p.completions_per_second = r.throughput_tokens_per_second.value / r.output_tokens.value;
  p.per_output_token = 1 / r.decode_tokens_per_second.value;
  if (r.prefill_tokens_per_second.seen > 0)
    p.per_input_token = 1 / r.prefill_tokens_per_second.value;
  return p;
}

std::optional<double> expected_first(const pace& p, const work& w, bool stream) {
  if (!p.known)
    return {};
  if (stream && p.per_input_token > 0)
    return w.input_tokens * p.per_input_token;
  auto alone = work{w.input_tokens, w.output_tokens, 0};
  auto whole = std::max(predict(p, alone, {}).seconds, p.usual);
  return whole > 0 ? std::optional{whole} : std::nullopt;
}

void rate_table::learn(const pool::endpoint_key& endpoint, const lesson& l, steady_time now) {
  routing::learn(rates_[endpoint], l, now);
}

rates rate_table::of(const pool::endpoint_key& endpoint) const {
  auto found = rates_.find(endpoint);
  return found == rates_.end() ? rates{} : found->second;
}

void rate_table::sweep(steady_time now) {
  std::erase_if(rates_, [&](const auto& entry) {
    return now - entry.second.total_seconds.at > limits::rates_kept;
  });
}

} // namespace assay::routing
