#pragma once
// Who served a route at an instant, on whose word, by what evidence, and how to undo it.
//
// A pure function of what the ledger holds: the same answer from a running node and from an
// exported file. It says what the ledger allowed, record by record, and what ingresses say that
// they sent; it does not judge again.

#include "src/ledger/chronicle.hpp"
#include "src/ledger/describe.hpp"

#include <optional>
#include <string>
#include <vector>

namespace assay::ledger {

/// A record that an answer rests on.
struct citation {
  std::uint64_t seq = 0;
  digest record;
  wall_ms stamped_at;
  ledger::author author;
  std::string reason; ///< Code and text, as its asker gave them.

  friend bool operator==(const citation&, const citation&) = default;
};

citation cite(const kept_record& r);

/// One run that a verdict rests on.
struct cited_run {
  std::string id;
  std::uint64_t seq = 0;
  digest record;
  run_stage stage = run_stage::task;
  std::uint32_t items = 0;
  std::uint32_t passed = 0;
  host_id host;
  digest fingerprint;
  std::vector<digest> blobs;

  friend bool operator==(const cited_run&, const cited_run&) = default;
};

/// A qualification as it stood at the instant.
struct cited_qualification {
  qualification_id id;
  bool authorised = false; ///< The move was authorised by it.
  bool holds = false;      ///< Qualified and not expired at the instant.
  qualification::state state = qualification::first_state;
  citation since; ///< What put it into that state.
  std::optional<citation> verdict;
  wall_ms expires_at; ///< Of that verdict.
  policy_id policy;
  digest policy_record;
  digest suite;
  digest manifest;
  digest profile;
  std::vector<cited_run> runs;

  friend bool operator==(const cited_qualification&, const cited_qualification&) = default;
};

struct cited_waiver {
  std::string id;
  bool authorised = false;
  bool holds = false;
  std::vector<std::uint8_t> gates;
  wall_ms expires_at;
  citation granted;
  std::optional<citation> ended; ///< Before its time.

  friend bool operator==(const cited_waiver&, const cited_waiver&) = default;
};

/// Something that the route let carry a share.
struct carrier {
  implementation_id implementation;
  std::vector<cited_qualification> qualifications;
  std::vector<cited_waiver> waivers;

  friend bool operator==(const carrier&, const carrier&) = default;
};

/// What one ingress says that it sent in the hour of the instant.
struct cited_service {
  serving_summary counts;
  citation told;

  friend bool operator==(const cited_service&, const cited_service&) = default;
};

/// A host that was kept from work at the instant.
struct cited_standing {
  host_id host;
  host_duty duty = host_duty::in_service;
  std::string reason;
  citation said;

  friend bool operator==(const cited_standing&, const cited_standing&) = default;
};

struct way_back {
  inverse_plan plan;
  std::vector<move_id> first; ///< Moves to be reversed before, in this order; the newest only.
  std::uint64_t changes_since = 0;
  std::string command; ///< Empty: there is nothing to undo, or no way.
  std::string why;     ///< What stands in the way, or what will happen.

  friend bool operator==(const way_back&, const way_back&) = default;
};

struct served {
  model_id route;
  wall_ms at;
  uuid cluster;
  std::uint64_t as_of_seq = 0; ///< The ledger's head that this was read from.
  digest as_of_chain;
  wall_ms as_of; ///< When its last record was stamped.

  std::uint64_t generation = 0;
  moves::vectors carried;
  moves::event event = moves::event::step;
  citation changed;              ///< The record that put it in place
  std::optional<citation> until; ///< and the one that put something else there.

  move_id move;
  citation proposed;
  std::optional<citation> authorised;
  std::string cause;
  std::optional<move_id> inverse_of;
  digest policy; ///< The guards' text, as the move froze it.
  bool guarded = false;
  observation guards = observation::none; ///< As the record that changed the route saw them.

  std::vector<carrier> carriers;
  std::vector<cited_service> service;
  way_back undo;
  std::vector<cited_standing> kept_hosts; ///< Of the pools of its carriers.

  friend bool operator==(const served&, const served&) = default;
};

/// `not_found`: no such route, or it carried nothing yet.
result<served, problem> who_served(const chronicle& c, const model_id& route, wall_ms at);

/// Names the routes that there are.
problem no_route(const tables& t, const model_id& route);

/// The answer as lines for people, and as fields for programs.
std::vector<std::string> lines_of(const served& s);
std::vector<described_field> describe(const served& s);

/// One change of a route, for its history.
struct route_change {
  citation changed;
  std::uint64_t generation = 0;
  moves::event event = moves::event::step;
  moves::vectors carried;
  move_id move;

  friend bool operator==(const route_change&, const route_change&) = default;
};

/// The last changes of a route, newest first. `not_found`: no such route.
result<std::vector<route_change>, problem>
route_history(const chronicle& c, const model_id& route, std::size_t count);

/// A row of a table for each, with equal names.
std::vector<std::vector<described_field>> rows_of(const std::vector<route_change>& changes);

/// `2026-12-02T09:14:03.250Z` and the like (RFC 3339, fractions of a second and offsets allowed).
std::optional<wall_ms> parse_time(std::string_view text);

} // namespace assay::ledger
