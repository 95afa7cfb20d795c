#include "node-agent/families/device_book.hpp"

#include "src/base/device_limits.hpp"

#include <algorithm>

namespace assay::agent {

namespace {

using fabric::device_state;

constexpr unsigned misses_allowed = 3; ///< Then the last values are no values any more.

} // namespace

std::string foreign_use(const probed_device& d, const std::function<bool(std::int64_t)>& is_ours) {
  std::string who;
  std::uint64_t explained = 0;
  auto is_ours_too = false;
  for (const auto& one : d.processes) {
    explained += one.bytes.value_or(0);
    if (is_ours(one.pid)) {
      is_ours_too = true;
      continue;
    }
    who += (who.empty() ? "process " : ", process ") + std::to_string(one.pid);
    if (one.bytes)
      who += " with " + std::to_string(*one.bytes >> 20) + " MiB";
  }
  if (!who.empty())
    return "somebody else computes on it: " + who;
  // In a container the processes of others are not listed, but what they hold is.
  auto used = d.used_bytes.value_or(0);
  if (!is_ours_too && used > explained + limits::foreign_memory_bytes)
    return "somebody else holds " + std::to_string((used - explained) >> 20)
           + " MiB on it, whom its library does not name";
  return {};
}

void device_book::learn(const family_look& look, const std::function<bool(std::int64_t)>& is_ours) {
  missed_ = 0;
  why_missed_.clear();
  for (const auto& event : look.events)
    note(event);
  newest_ = look;
  if (!look.stack.empty())
    stack_ = look.stack;
  remember();
  foreign_.clear();
  for (const auto& d : newest_.devices)
    if (auto who = foreign_use(d, is_ours); !who.empty())
      foreign_[d.id] = std::move(who);
  resolve_mask();
}

/// A device that its library shows no more keeps the name under which it was given out.
void device_book::remember() {
  std::vector<probed_device> all;
  for (auto& d : newest_.devices) {
    auto is_named = d.state != device_state::lost || d.id != d.pci;
    if (is_named)
      known_[d.id] = d;
    auto before = all.size();
    if (!is_named)
      for (const auto& [id, was] : known_)
        if (was.pci == d.pci)
          all.push_back({id, d.pci, was.name, was.memory_bytes, {}, d.state, d.why, {}});
    if (all.size() == before)
      all.push_back(std::move(d));
  }
  // What was shown once and is not even spoken of any more.
  for (const auto& [id, was] : known_)
    if (std::ranges::find(all, id, &probed_device::id) == all.end() && newest_.fault.empty())
      all.push_back(
        {id,
         was.pci,
         was.name,
         was.memory_bytes,
         {},
         device_state::lost,
         "its family shows it no more",
         {}}
      );
  newest_.devices = std::move(all);
}

void device_book::resolve_mask() {
  auto fault = newest_.fault;
  if (has_mask(family_, inherited_) && !universe_ && fault.empty()) {
    auto seen = visible_devices(family_, inherited_, newest_.devices);
    if (seen)
      universe_ = std::set<std::string>{seen->begin(), seen->end()};
    else
      fault = to_text(seen.error());
  }
  if (fault != fault_ && !fault.empty())
    note({{family_, "", "no_devices", 0, fault, wall_now()}, {}});
  fault_ = std::move(fault);
}

/// Under a mask, what was never shown may be anybody's.
bool device_book::is_within(const probed_device& d) const {
  return has_mask(family_, inherited_) ? universe_ && universe_->contains(d.id) : true;
}

void device_book::miss(const std::string& why) {
  ++missed_;
  if (why != why_missed_)
    note({{family_, "", "no_answer", 0, why, wall_now()}, {}});
  why_missed_ = why;
}

bool device_book::is_stale() const {
  return missed_ >= misses_allowed;
}

void device_book::note(const probed_event& e) {
  auto known = std::ranges::find_if(events_, [&](const auto& one) { return one == e.what; });
  if (known != events_.end())
    return; // A child that was begun anew tells all since boot again.
  events_.push_back(e.what);
  if (events_.size() > limits::device_events)
    events_.pop_front();
  if (!e.sick.empty() && e.what.at > forgiven_)
    sick_[e.what.device] = {e.sick, e.what.at};
}

void device_book::forgive(wall_ms before) {
  forgiven_ = std::max(forgiven_, before);
  std::erase_if(sick_, [&](const auto& one) { return one.second.since <= forgiven_; });
}

std::vector<fabric::device> device_book::devices() const {
  std::vector<fabric::device> all;
  for (const auto& d : newest_.devices)
    if (is_within(d))
      all.push_back(judge(d));
  std::ranges::sort(all, {}, &fabric::device::id);
  return all;
}

fabric::device device_book::judge(const probed_device& d) const {
  fabric::device made{family_, d.id, d.name, d.memory_bytes, d.state, d.why};
  if (d.state != device_state::offered)
    return made;
  auto sick = sick_.find(d.id);
  if (sick == sick_.end())
    sick = sick_.find(d.pci); // It was named so before the library was asked.
  auto foreign = foreign_.find(d.id);
  if (sick != sick_.end()) {
    made.state = device_state::sick;
    made.why = sick->second.why;
  } else if (is_stale()) {
    made.state = device_state::withheld;
    made.why = why_missed_;
  } else if (foreign != foreign_.end()) {
    made.state = device_state::withheld;
    made.why = foreign->second;
  }
  return made;
}

std::vector<telemetry::sample> device_book::samples() const {
  auto all = newest_.samples;
  if (is_stale())
    for (auto& one : all)
      one.reading = telemetry::unavailable{why_missed_};
  return all;
}

result<device_binding_env, problem> device_book::bind(
  const catalog::runtime_profile& profile, const std::vector<std::string>& ids
) const {
  for (const auto& id : ids) {
    auto at = std::ranges::find(newest_.devices, id, &probed_device::id);
    if (at == newest_.devices.end() || !is_within(*at))
      return unexpected{problem{
        problem_kind::refused,
        "device " + id + " is not one that this agent was given",
        "devices",
        "assay host show HOST lists its devices"}};
    if (at->state == device_state::lost || at->state == device_state::sick)
      return unexpected{problem{
        problem_kind::refused, "device " + id + " is out of service: " + at->why, "devices", {}}};
  }
  return bind_devices(family_, profile, ids, newest_.devices);
}

} // namespace assay::agent
