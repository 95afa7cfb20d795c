#pragma once
// The rules of an agent's link that need no socket: when to dial again, which session number comes
// next, whose commands are too old.

#include "src/base/clock.hpp"
#include "src/fabric/uplink.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace assay::fabric {

/// Doubles from `first` to `most`, and to less while coordinators elect a leader. Each pause is
/// shortened by up to half, by `chance`, so that the agents of a site do not return in one moment.
class redial {
public:
  redial(std::chrono::milliseconds first, std::chrono::milliseconds most)
    : first_{first}, most_{most}, next_{first} {}

  std::chrono::milliseconds after(lost_reason reason, std::uint32_t chance);
  void succeeded() { next_ = first_; }

private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds most_;
  std::chrono::milliseconds next_;
};

/// Grows even when the wall clock does not; across runs of an agent it grows with that clock.
std::uint64_t next_session(std::uint64_t last, std::uint64_t wall_us);

/// Refuses commands of an epoch older than the newest that was seen.
class epoch_gate {
public:
  explicit epoch_gate(std::uint64_t newest) : newest_{newest} {}
  void saw(std::uint64_t epoch);
  bool lets_in(const coordinator_message& message);

private:
  std::uint64_t newest_;
};

/// For a person: what happened to the link to `coordinator`, and what to do.
std::string describe(lost_reason reason, const std::string& coordinator, const public_key& own_key);

} // namespace assay::fabric
