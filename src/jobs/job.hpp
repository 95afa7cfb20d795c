#pragma once
// The life of a batch job: which event may follow which state, and what a job is.
//
//   submitted --accept--> queued --start--> running --finish--> finished
//       |  \--hold--\     ^  |  ^-requeue----|  |
//       |            v    |  v               |  |
//       |           held -release            |  |
//       '------------- cancel | fail | expire from every open state -------------->
//
// The spec and the outcome are ledger records; what lies between is a state entry. The table is the
// whole truth: what is not in it is refused when an entry is applied.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/ids.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::jobs {

enum class state : std::uint8_t {
  submitted, ///< The record is there; its items are not counted yet.
  held,
  queued,
  running,
  finished,  ///< final: every item has its line, good or bad
  cancelled, ///< final: what was done is kept
  failed,    ///< final: the job as a whole cannot be done
  expired,   ///< final: what was done is kept
};

enum class event : std::uint8_t {
  accept,
  hold,
  release,
  start,
  requeue, ///< back into the queue: a new leader, or a person's wish
  finish,
  cancel,
  fail,
  expire,
};

inline constexpr auto first_state = state::submitted;

inline constexpr auto states = std::array{
  state::submitted,
  state::held,
  state::queued,
  state::running,
  state::finished,
  state::cancelled,
  state::failed,
  state::expired,
};

inline constexpr auto events = std::array{
  event::accept,
  event::hold,
  event::release,
  event::start,
  event::requeue,
  event::finish,
  event::cancel,
  event::fail,
  event::expire,
};

/// The state after `what`, or nothing when that may not happen in `from`.
std::optional<state> next(state from, event what);
bool is_final(state s);

/// A job's priority; traffic class is another thing.
enum class priority : std::uint8_t { urgent, normal, backfill };

/// What was asked for, as the record keeps it.
struct spec {
  job_id id;
  project_id project;
  key_id key; ///< Whose it is.
  std::string model;
  jobs::priority priority = priority::normal;
  digest input; ///< The JSONL as a blob.
  std::uint64_t input_bytes = 0;
  wall_ms submitted_at;
  wall_ms expires_at;

  friend bool operator==(const spec&, const spec&) = default;
};

std::string_view name(state s);
std::string_view name(event e);
std::string_view name(priority p);
std::optional<state> parse_state(std::string_view text);
std::optional<event> parse_event(std::string_view text);
std::optional<priority> parse_priority(std::string_view text);

} // namespace assay::jobs
