#pragma once
// What the agent makes of the looks at one family: which devices it offers, and why not the others.
//
// In order: a device outside of the inherited mask is not ours to speak of; one that is lost or
// says itself that it is sick is so until it no longer says it; one after whose event it is not to
// be trusted is sick until somebody resumes the host; one on which somebody else computes is
// withheld. A family that does not answer keeps what is known, and offers nothing new meanwhile.

#include "node-agent/families/device_mask.hpp"
#include "node-agent/families/probe_protocol.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace assay::agent {

class device_book {
public:
  device_book(catalog::family family, environment inherited)
    : family_{family}, inherited_{std::move(inherited)} {}

  /// `is_ours`: the process belongs to a replica of this agent.
  void learn(const family_look& look, const std::function<bool(std::int64_t)>& is_ours);

  /// The family gave no answer; after three in a row it is stale.
  void miss(const std::string& why);

  /// What happened to devices before that is no reason any more.
  void forgive(wall_ms before);

  /// Sorted by id.
  std::vector<fabric::device> devices() const;
  /// The newest ones, oldest first.
  const std::deque<fabric::device_event>& events() const { return events_; }
  /// Those of the last look, as old as they are; when the family is stale, without values.
  std::vector<telemetry::sample> samples() const;
  /// As last said: a family that cannot be asked runs on what it ran on.
  const std::map<std::string, std::string>& stack() const { return stack_; }

  /// See `bind_devices`; only for devices that are not lost and within the mask.
  result<device_binding_env, problem>
  bind(const catalog::runtime_profile& profile, const std::vector<std::string>& ids) const;

private:
  bool is_stale() const;
  void remember();
  void resolve_mask();
  bool is_within(const probed_device& d) const;
  fabric::device judge(const probed_device& d) const;
  void note(const probed_event& e);

  catalog::family family_;
  environment inherited_;
  family_look newest_;
  std::map<std::string, std::string> stack_;
  std::map<std::string, probed_device> known_; ///< By id, as they were shown last.
  /// The mask, resolved once: what is lost later is still ours. Nothing: it could not be, or there
  /// is none.
  std::optional<std::set<std::string>> universe_;
  std::map<std::string, std::string> foreign_; ///< By device: who else is on it.
  struct sickness {
    std::string why;
    wall_ms since;
  };
  std::map<std::string, sickness> sick_; ///< By device, after an event.
  std::deque<fabric::device_event> events_;
  wall_ms forgiven_;
  unsigned missed_ = 0;
  std::string why_missed_;
  std::string fault_; ///< Of the library or the mask, as last told.
};

/// Who else is on the device, in words; empty: nobody.
std::string foreign_use(const probed_device& d, const std::function<bool(std::int64_t)>& is_ours);

} // namespace assay::agent
