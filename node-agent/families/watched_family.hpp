#pragma once
// One family of accelerators on this host: its probe child and what is made of its answers.
//
// `look` asks the child and blocks for at most its patience, on a thread of the family's own; all
// else answers from what is known, from any thread.

#include "node-agent/families/device_book.hpp"
#include "node-agent/families/probe_child.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace assay::agent {

struct family_plan {
  catalog::family family = catalog::family::plugin;
  std::vector<std::string> probe;            ///< The child's program and words.
  environment inherited;                     ///< Where the masks stand.
  std::function<bool(std::int64_t)> is_ours; ///< A process belongs to a replica of this agent.
  std::chrono::milliseconds patience{};
};

/// What a look made known.
struct family_state {
  std::vector<fabric::device> devices;
  std::map<std::string, std::string> stack;
  std::vector<telemetry::sample> samples;
  std::vector<fabric::device_event> events;
};

class watched_family {
public:
  explicit watched_family(family_plan plan);

  catalog::family family() const { return plan_.family; }

  /// Asks once. Never from two threads at a time.
  family_state look();
  family_state known() const;

  void forgive(wall_ms before);

  /// Nothing when none of the devices is this family's.
  std::optional<result<device_binding_env, problem>>
  bind(const catalog::runtime_profile& profile, const std::vector<std::string>& ids) const;
  bool has_devices() const;

private:
  family_state state() const;

  const family_plan plan_;
  probe_child child_;
  mutable std::mutex mutex_;
  device_book book_;
};

/// What a replica's environment says of the devices it was given, or that it was given none.
/// Refused where one of them is no family's, or they are of two families.
result<device_binding_env, problem> bind_among(
  const std::vector<std::shared_ptr<watched_family>>& families,
  const catalog::runtime_profile& profile,
  const std::vector<std::string>& ids
);

} // namespace assay::agent
