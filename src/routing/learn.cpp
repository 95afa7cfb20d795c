#include "src/routing/learn.hpp"

#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::routing {

namespace {

constexpr std::uint32_t memory = 16; ///< Values that the mean looks back on.

double seconds(std::chrono::microseconds t) {
  return std::chrono::duration<double>(t).count();
}

/// The rate if it is known, and a note that it is old.
std::optional<double> known(const learned& l, steady_time now, bool& stale) {
  auto state = l.state(now);
  if (state == knowledge::unknown || l.value <= 0)
    return {};
  stale = stale || state == knowledge::stale;
  return l.value;
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
  r.total_seconds.learn(total, now);
  auto fresh_input = l.input_tokens > l.cached_tokens ? l.input_tokens - l.cached_tokens : 0;
  auto ttft = l.ttft ? seconds(*l.ttft) : 0;
  if (ttft > 0 && fresh_input > 0)
    r.prefill_tokens_per_second.learn(fresh_input / ttft, now);
  if (l.output_tokens == 0)
    return;
  r.output_tokens.learn(l.output_tokens, now);
  // The first token belongs to the prefill; without a stream the two cannot be told apart, and the
  // whole time counts as decoding.
  auto decoding = total - ttft;
  auto decoded = l.ttft ? l.output_tokens - 1 : l.output_tokens;
  if (decoding <= 0 || decoded == 0)
    return;
  auto rate = decoded / decoding;
  r.decode_tokens_per_second.learn(rate, now);
  r.throughput_tokens_per_second.learn(rate * std::max(l.in_flight, 1U), now);
}

prediction predict(const rates& r, const work& w, steady_time now) {
  prediction p{};
  auto decode = known(r.decode_tokens_per_second, now, p.stale);
  auto output = known(r.output_tokens, now, p.stale);
  if (!decode || !output) {
    // Not token work, or never seen to end: the mean time stands in, scaled by the load.
    auto total = known(r.total_seconds, now, p.stale);
    if (!total)
      return p;
    p.known = true;
    p.seconds = *total * (1.0 + static_cast<double>(w.in_flight) / std::max(w.slots, 1U));
    return p;
  }
  p.known = true;
  auto mine = w.output_tokens > 0 ? std::min<double>(w.output_tokens, 4 * *output) : *output;
  auto throughput = known(r.throughput_tokens_per_second, now, p.stale).value_or(*decode);
  // Those in flight are half done on average.
  auto wait = w.in_flight * *output / 2 / throughput;
  auto prefill = known(r.prefill_tokens_per_second, now, p.stale);
  p.seconds = wait + (prefill ? w.input_tokens / *prefill : 0) + mine / *decode;
  return p;
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
