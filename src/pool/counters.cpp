#include "src/pool/counters.hpp"

#include "src/base/check.hpp"

#include <algorithm>
#include <utility>

namespace assay::pool {

namespace {

using contract::traffic_class;

constexpr std::uint32_t flying(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}

constexpr std::uint32_t credits(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}

constexpr std::uint64_t pack(std::uint32_t credits, std::uint32_t in_flight) {
  return std::uint64_t{credits} << 32 | in_flight;
}

std::int64_t to_ns(steady_time t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

bool is_background(traffic_class c) {
  return c == traffic_class::batch || c == traffic_class::shadow;
}

/// While the queue holds somebody of a class, free credits are the queue's.
bool must_queue(const reserve_terms& terms, contention waiting) {
  if (terms.admitted || terms.traffic == traffic_class::evaluation)
    return false;
  if (is_background(terms.traffic))
    return waiting != contention::none;
  return waiting == contention::interactive_waits;
}

std::uint32_t left_by(contract::degraded_rule rule, std::uint32_t credits) {
  switch (rule) {
  case contract::degraded_rule::keep:
    return credits;
  case contract::degraded_rule::shrink:
    return credits / 2 + credits % 2;
  case contract::degraded_rule::stop:
    return 0;
  }
  return 0;
}

} // namespace

std::uint32_t interactive_headroom(std::uint32_t credits) {
  return credits <= 1 ? 0 : std::max(1U, credits / 8);
}

std::uint32_t credits_in_force(const grant& g, steady_time now) {
  return now < g.until ? g.credits : left_by(g.degraded, g.credits);
}

void endpoint_counters::accept(const grant& g) {
  degraded_.store(g.degraded, std::memory_order_relaxed);
  waiting_.store(g.waiting, std::memory_order_relaxed);
  auto seen = word_.load(std::memory_order_relaxed);
  while (!word_.compare_exchange_weak(
    seen, pack(g.credits, flying(seen)), std::memory_order_acq_rel, std::memory_order_relaxed
  )) {
  }
  // After the credits: a longer life never covers an older, larger grant.
  until_ns_.store(to_ns(g.until), std::memory_order_release);
}

std::uint32_t endpoint_counters::in_flight() const {
  return flying(word_.load(std::memory_order_acquire));
}

grant endpoint_counters::granted() const {
  return {
    .credits = credits(word_.load(std::memory_order_acquire)),
    .until = steady_time{std::chrono::duration_cast<steady_time::duration>(std::chrono::nanoseconds{
      until_ns_.load(std::memory_order_acquire)})},
    .degraded = degraded_.load(std::memory_order_relaxed),
    .waiting = waiting_.load(std::memory_order_relaxed),
  };
}

std::uint32_t endpoint_counters::ceiling(std::uint32_t credits, const reserve_terms& terms) const {
  if (must_queue(terms, waiting_.load(std::memory_order_relaxed)))
    return 0;
  if (to_ns(terms.now) >= until_ns_.load(std::memory_order_acquire))
    credits = left_by(degraded_.load(std::memory_order_relaxed), credits);
  if (is_background(terms.traffic) && !terms.admitted)
    credits -= interactive_headroom(credits);
  return credits;
}

endpoint_counters::load endpoint_counters::look(const reserve_terms& terms) const {
  auto word = word_.load(std::memory_order_acquire);
  auto most = ceiling(credits(word), terms);
  auto room = most > flying(word) ? most - flying(word) : 0;
  return {flying(word), std::min(room, tokens(terms.traffic))};
}

void endpoint_counters::rule(const admission& a, std::uint32_t seen) {
  standing_.store(a.standing, std::memory_order_relaxed);
  spared_.store(a.is_spared, std::memory_order_relaxed);
  tried_again_ns_.store(to_ns(a.until), std::memory_order_relaxed);
  if (a.tokens != seen)
    tokens_.compare_exchange_strong(seen, a.tokens, std::memory_order_relaxed);
}

admission endpoint_counters::ruled() const {
  auto until = std::chrono::nanoseconds{tried_again_ns_.load(std::memory_order_relaxed)};
  return {
    .standing = standing_.load(std::memory_order_relaxed),
    .tokens = tokens_.load(std::memory_order_relaxed),
    .until = steady_time{std::chrono::duration_cast<steady_time::duration>(until)},
    .is_spared = spared_.load(std::memory_order_relaxed),
  };
}

/// False: none is left. Nothing is spent where they are not counted.
bool endpoint_counters::spend_token(const reserve_terms& terms) {
  auto left = tokens(terms.traffic);
  while (left != no_limit) {
    if (left == 0)
      return false;
    if (tokens_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed))
      return true;
  }
  return true;
}

std::chrono::nanoseconds endpoint_counters::stale_for(steady_time now) const {
  auto until = until_ns_.load(std::memory_order_acquire);
  return std::chrono::nanoseconds{until == 0 ? 0 : std::max<std::int64_t>(0, to_ns(now) - until)};
}

std::uint32_t endpoint_counters::room(const reserve_terms& terms) const {
  return look(terms).room;
}

bool endpoint_counters::try_enter(const reserve_terms& terms) {
  if (!take_credit(terms))
    return false;
  if (spend_token(terms))
    return true;
  word_.fetch_sub(1, std::memory_order_acq_rel);
  return false;
}

bool endpoint_counters::take_credit(const reserve_terms& terms) {
  auto seen = word_.load(std::memory_order_acquire);
  do {
    if (flying(seen) >= ceiling(credits(seen), terms))
      return false;
  } while (!word_.compare_exchange_weak(
    seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire
  ));
  return true;
}

void endpoint_counters::leave() {
  auto before = word_.fetch_sub(1, std::memory_order_acq_rel);
  check(flying(before) > 0, "a credit was given back that nobody had taken");
  finished_.fetch_add(1, std::memory_order_relaxed);
}

reservation::reservation(std::shared_ptr<endpoint_counters> counters)
  : counters_{std::move(counters)} {}

reservation& reservation::operator=(reservation&& other) noexcept {
  if (this != &other) {
    release();
    counters_ = std::move(other.counters_);
  }
  return *this;
}

reservation
reservation::take(const std::shared_ptr<endpoint_counters>& counters, const reserve_terms& terms) {
  if (!counters || !counters->try_enter(terms))
    return {};
  return reservation{counters};
}

void reservation::release() {
  if (auto counters = std::exchange(counters_, nullptr))
    counters->leave();
}

std::shared_ptr<endpoint_counters> endpoint_registry::obtain(const endpoint_key& key) {
  auto lock = std::lock_guard{mutex_};
  auto& counters = counters_[key];
  if (!counters)
    counters = std::make_shared<endpoint_counters>(key);
  return counters;
}

std::shared_ptr<endpoint_counters> endpoint_registry::find(const endpoint_key& key) const {
  auto lock = std::lock_guard{mutex_};
  auto found = counters_.find(key);
  return found == counters_.end() ? nullptr : found->second;
}

std::vector<endpoint_registry::usage> endpoint_registry::usages() const {
  auto lock = std::lock_guard{mutex_};
  std::vector<usage> all;
  all.reserve(counters_.size());
  for (const auto& [key, counters] : counters_)
    all.push_back(
      {key,
       counters->granted().credits,
       counters->in_flight(),
       counters->finished(),
       counters->ruled().standing}
    );
  return all;
}

std::size_t endpoint_registry::retain(const std::vector<endpoint_key>& keep) {
  auto kept = keep;
  std::sort(kept.begin(), kept.end());
  auto lock = std::lock_guard{mutex_};
  return std::erase_if(counters_, [&](const auto& entry) {
    const auto& [key, counters] = entry;
    if (std::binary_search(kept.begin(), kept.end(), key))
      return false;
    counters->accept({}); // First: an old snapshot may still be choosing it.
    return counters->in_flight() == 0;
  });
}

} // namespace assay::pool
