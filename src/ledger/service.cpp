#include "src/ledger/service.hpp"

#include <algorithm>
#include <limits>

namespace assay::ledger {

namespace {

wall_ms ended_at(const routing::outcome& o) {
  auto took = std::chrono::duration_cast<std::chrono::milliseconds>(o.total);
  return {o.began.value + took.count()};
}

std::uint64_t& count_of(serving_summary& s, routing::ending how) {
  switch (how) {
  case routing::ending::served:
    return s.served;
  case routing::ending::refused:
  case routing::ending::rejected:
    return s.refused;
  case routing::ending::client_gone:
    return s.client_gone;
  case routing::ending::failed:
  case routing::ending::overloaded:
    break;
  }
  return s.failed;
}

void widen(serving_summary& s, std::uint64_t generation, wall_ms ended) {
  auto is_first = s.interactive + s.batch == 1;
  s.first_generation = is_first ? generation : std::min(s.first_generation, generation);
  s.last_generation = std::max(s.last_generation, generation);
  s.first_ended = is_first ? ended : std::min(s.first_ended, ended);
  s.last_ended = std::max(s.last_ended, ended);
}

} // namespace

wall_ms hour_of(wall_ms t) {
  auto length = service_hour.count();
  auto within = t.value % length;
  return {t.value - (within < 0 ? within + length : within)};
}

std::string service_hour_name(const model_id& route, wall_ms hour) {
  return route.value + " " + std::to_string(hour.value);
}

uuid id_of(const serving_summary& s) {
  auto sum = hasher{"assay serving summary 1"}
               .add_field(s.ingress)
               .add_field(s.boot)
               .add_field(static_cast<std::uint64_t>(s.hour.value))
               .add_field(s.route.value)
               .add_field(s.implementation.value)
               .finish();
  std::array<std::uint8_t, 10> chance{};
  std::copy_n(sum.bytes.begin(), chance.size(), chance.begin());
  return make_uuid7(static_cast<std::uint64_t>(s.hour.value), chance);
}

record record_of(serving_summary s) {
  author who{s.ingress, authentication::process};
  auto id = id_of(s);
  return make_record(id, std::move(s), std::move(who), {"service", {}}, trust::measured);
}

void service_tally::add(const std::vector<routing::outcome>& ended) {
  for (const auto& o : ended)
    count(o);
}

void service_tally::count(const routing::outcome& o) {
  using contract::traffic_class;
  auto is_service = o.traffic == traffic_class::interactive || o.traffic == traffic_class::batch;
  if (!is_service || o.model.value.empty())
    return;
  auto ended = ended_at(o);
  auto hour = std::max(hour_of(ended), first_open_);
  entry_key key{hour, o.model, o.implementation};
  auto at = entries_.find(key);
  if (at == entries_.end() && entries_.size() >= entries_most) {
    ++left_out_;
    return;
  }
  if (at == entries_.end()) {
    at = entries_.try_emplace(std::move(key)).first;
    auto& fresh = at->second.counts;
    fresh.ingress = ingress_;
    fresh.boot = boot_;
    fresh.hour = hour;
    fresh.route = o.model;
    fresh.implementation = o.implementation;
  }
  auto& counts = at->second.counts;
  ++(o.traffic == traffic_class::batch ? counts.batch : counts.interactive);
  ++count_of(counts, o.how);
  counts.input_tokens += o.usage.input_tokens;
  counts.output_tokens += o.usage.output_tokens;
  widen(counts, o.route_generation, ended);
  at->second.decisions.add_field(o.decision.value)
    .add_field(static_cast<std::uint64_t>(o.how))
    .add_field(static_cast<std::uint64_t>(o.status))
    .add_field(o.route_generation)
    .add_field(static_cast<std::uint64_t>(ended.value));
}

std::vector<serving_summary> service_tally::take_before(wall_ms hour) {
  std::vector<serving_summary> taken;
  while (!entries_.empty() && std::get<wall_ms>(entries_.begin()->first) < hour) {
    auto& [counts, decisions] = entries_.begin()->second;
    counts.decisions = decisions.finish();
    taken.push_back(std::move(counts));
    entries_.erase(entries_.begin());
  }
  first_open_ = std::max(first_open_, hour);
  return taken;
}

std::vector<serving_summary> service_tally::take_closed(wall_ms now) {
  return take_before(hour_of({now.value - grace.count()}));
}

std::vector<serving_summary> service_tally::take_all() {
  return take_before({std::numeric_limits<std::int64_t>::max()});
}

} // namespace assay::ledger
