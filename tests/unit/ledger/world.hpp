#pragma once
// A ledger in memory with a small site already declared, for tests of rules: say something, look at
// the verdict, look at the tables.

#include "src/ledger/chronicle.hpp"
#include "src/ledger/status.hpp"
#include "tests/support/forged_export.hpp"

#include <map>
#include <string>
#include <vector>

namespace assay::ledger::test {

inline constexpr wall_ms dawn{1'800'000'000'000};

/// What a store remembers of record ids.
class remembered : public history {
public:
  std::optional<record_id_row> find(const uuid& id) const override;
  void learn(const batch_outcome& outcome);

private:
  std::map<uuid, record_id_row> ids_;
};

/// Wraps a record without the wire: the "canonical bytes" only have to differ.
entry entry_of(const record& r);
entry entry_of(const state_entry& s);

class world {
public:
  /// An empty ledger.
  world() = default;

  /// Cluster, pool `cpu-a`, model `m`, artifact `m/a` (verified), profile `p`, suite `s`, policy
  /// `lenient`, project `lab`, key `k`, implementations `m/cpu-a/a` and `m/cpu-b/a`, and host `h1`
  /// on stack 1.
  static world site();

  tables t;
  remembered known;
  wall_ms now = dawn;
  std::uint64_t index = 0;
  batch_outcome last;
  std::vector<told> story;       ///< Every record that `say` had taken, as it was said.
  std::vector<kept_record> kept; ///< Every record that was taken, by its number.
  std::map<digest, std::vector<std::uint64_t>> subjects;

  /// One record in a batch of its own.
  verdict say(payload p, trust believed = trust::measured);
  verdict say(const record& r);
  verdict say(const state_entry& s);
  verdict send(batch b);

  /// The record must be taken, else the test fails with the refusal.
  void must(payload p, trust believed = trust::measured);

  /// The code of the refusal; "taken" when there is none.
  std::string code(payload p, trust believed = trust::measured);
  std::string code_of_state(const state_entry& s);

  record next_record(payload p, trust believed = trust::measured);

private:
  void keep(const batch& b);

  std::uint64_t records_ = 0;
};

// -- things to say ----------------------------------------------------------------------------

digest some_digest(std::string_view seed);
std::vector<stack_field> stack_fields(std::string_view version);

extern const implementation_id impl_a; ///< `m/cpu-a/a`
extern const implementation_id impl_b; ///< `m/cpu-b/a`
extern const catalog::policy lenient;

catalog::artifact artifact_a();
catalog::implementation implementation(const implementation_id& id, std::string_view pool);

/// A complete task run that meets `lenient` on stack 1.
eval_run good_run(const world& w, std::string id, const qualification_id& q);

qualification_decided
decision(const qualification_id& q, qualification::event verdict, std::vector<std::string> runs);

/// Opens, starts, runs and passes `q` for the implementation; valid for the policy's time.
void qualify(world& w, const qualification_id& q, const implementation_id& i);

moves::vectors all_to(const implementation_id& i);

/// From the route as it is to `after`, one step, unguarded.
move_proposed plan(const world& w, std::string id, moves::vectors after);

/// Proposes and carries the move through to `committed`.
void promote(world& w, std::string id, const implementation_id& i, const qualification_id& q);

} // namespace assay::ledger::test
