#pragma once
// One run of a suite on one implementation, as a step machine: contract checks first, then the
// scored items, one ask at a time.
//
// `step` decides and never acts. EVALUATOR sends what it is told as evaluation traffic through an
// ingress, pinned to the implementation, and reports what came back. A run stops at the first
// contract check that fails. What could not be asked (refused, unavailable, cut before an answer)
// is not evidence: it is asked again a few times, and then the run is inconclusive.

#include "src/qualification/envelope.hpp"
#include "src/qualification/exchange.hpp"
#include "src/qualification/suite.hpp"
#include "src/qualification/verdict.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace assay::qualification {

// -- what is being qualified ----------------------------------------------------------------------

struct subject {
  implementation_id implementation;
  std::string model; ///< As a client writes it.
  contract::service_contract promises;
  contract::request_limits limits; ///< The tighter of contract and implementation, per limit.
  std::uint32_t slots = 1;         ///< Requests that one replica works on at a time.
};

/// The smaller of two limits where 0 means "not limited here".
contract::request_limits
tighter(const contract::request_limits& a, const contract::request_limits& b);

// -- state ----------------------------------------------------------------------------------------

/// What a check found.
struct check_result {
  check_kind kind = check_kind::unary_schema;
  qualification::outcome outcome = outcome::inconclusive;
  std::string why; ///< One sentence with what was seen.
};

/// What an item got.
struct item_result {
  std::string id;
  std::string answer;
  bool right = false;
  std::string why;
  std::uint32_t points = 1;
};

enum class stage : std::uint8_t { contract, task, over };

struct run_state {
  qualification::subject subject;
  qualification::suite suite;
  catalog::policy policy;
  qualification::stage stage = stage::contract;
  std::size_t at = 0;              ///< Which check, or which item.
  std::vector<exchange> exchanges; ///< Of the current check or item; answered asks only.
  std::optional<ask> open;         ///< What was sent and not answered yet.
  std::uint32_t tries = 0;         ///< Of the open ask.
  std::uint64_t next_ask = 1;
  std::vector<check_result> checks;
  std::vector<item_result> items;
  qualification::envelope envelope;
  std::string evidence; ///< JSONL, in the order things were answered.
};

// -- events ---------------------------------------------------------------------------------------

struct begin {};
struct answered {
  std::uint64_t ask = 0;
  qualification::answer answer;
};
/// There is no answer: not connected, timed out, cut before the end, or the client gave up.
struct not_answered {
  std::uint64_t ask = 0;
  std::string why;
};
/// A person, or the end of the leader's term, ends the run.
struct stop {
  std::string why;
};
using run_event = std::variant<begin, answered, not_answered, stop>;

// -- effects --------------------------------------------------------------------------------------

/// Send `what` after waiting for `delay`.
struct send {
  ask what;
  std::chrono::milliseconds delay{};
};
/// Give up the open ask; its answer is no longer wanted.
struct give_up_ask {
  std::uint64_t ask = 0;
};
/// For `assay qualify`, which shows a progress bar.
struct progress {
  qualification::stage stage = stage::contract;
  std::size_t done = 0;
  std::size_t of = 0;
  std::string what; ///< The check or item that was just finished, with its outcome.
};
/// Keep `bytes` as a blob; its digest goes into the record of the run.
struct store_evidence {
  std::string bytes;
};
struct decided {
  qualification::verdict verdict;
  qualification::envelope envelope; ///< Only of use after a pass.
  std::vector<check_result> checks;
};
using run_effect = std::variant<send, give_up_ask, progress, store_evidence, decided>;

struct run_step {
  run_state next;
  std::vector<run_effect> effects;
};

/// Refused when the suite cannot be run on the subject: another task, no input limit declared
/// though the suite checks it, fewer items than the policy wants.
result<run_state, problem> prepare(subject who, qualification::suite suite, catalog::policy policy);

/// An event that is late (its ask is not the open one) or comes after the end changes nothing.
run_step step(run_state state, const run_event& what);

} // namespace assay::qualification
