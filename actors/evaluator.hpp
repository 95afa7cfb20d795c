#pragma once
// The EVALUATOR carries out qualification runs: it asks an ingress what the run's step machine
// wants asked, keeps the evidence, and puts runs and verdicts on the ledger. It also proposes the
// suspension of what has drifted.
//
// Asking and keeping are handed in as functions, which answer from their own threads. What is to be
// asked, what an answer means, which records follow: src/qualification and
// src/ledger/evaluating.hpp.

#include "actors/interfaces.hpp"
#include "src/ledger/evaluating.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <deque>
#include <functional>
#include <map>
#include <set>

namespace assay {

/// Where an ask goes.
struct ask_target {
  implementation_id implementation;
  digest fingerprint;
};

struct evaluator_options {
  ledger_actor ledger;
  /// Sends `what` as evaluation traffic and calls `done` once, from any thread.
  std::function<void(
    const qualification::ask& what,
    const ask_target& where,
    std::function<void(qualification::run_event)> done
  )>
    ask;
  /// Keeps bytes as a blob, so that a record may name it, and calls `done` once, from any thread.
  std::function<void(std::string bytes, std::function<void(result<digest, problem>)> done)> keep;
};

class evaluator_state {
public:
  static constexpr auto name = "evaluator";
  using promise = caf::typed_response_promise<qualify_answer>;

  explicit evaluator_state(evaluator_actor::pointer self) : self_{self} {}

  void begin(evaluator_options options) { options_ = std::move(options); }
  void qualify(const assay::qualify& what, promise answer);
  run_answer answer(const run_question& what) const;
  void send(const ask_due& what);
  void step(const qualification_id& id, const qualification::run_event& what);
  void keep(const keep_evidence& what);
  void keep(const evidence_kept& what);
  void learn(const tables_changed& what);
  void learn(const pool_changed& what);

private:
  struct run {
    ledger::evaluation plan;
    qualification::run_state state;
    ledger::author author;
    std::string reason;
    ledger::evaluation_outcome outcome;
    qualification::progress progress;
    std::string evidence; ///< Until it is kept.
    unsigned tries = 0;
    bool decided = false;
  };

  std::optional<ledger::evaluated_stack> stack_for(const implementation_id& id) const;
  std::string why_no_stack(const implementation_id& id) const;
  void carry_out(const qualification_id& id, const qualification::send& what);
  void carry_out(const qualification_id& id, const qualification::give_up_ask& what);
  void carry_out(const qualification_id& id, const qualification::progress& what);
  void carry_out(const qualification_id& id, const qualification::store_evidence& what);
  void carry_out(const qualification_id& id, const qualification::decided& what);
  void watch_stacks();
  void give_up(const qualification_id& id, const std::string& why);
  void give_up_left_ones();
  void watch_drift();
  /// Proposes one after the other; `then` is told the first refusal, or nothing.
  void record(
    std::deque<ledger::payload> what,
    const ledger::author& author,
    const std::string& reason,
    std::function<void(std::optional<problem>)> then
  );

  evaluator_actor::pointer self_;
  evaluator_options options_;
  tables_changed tables_;
  std::map<pool_id, std::shared_ptr<const pool::pool_view>> views_;
  std::map<qualification_id, run> runs_;
  std::set<qualification_id> suspending_;
};

evaluator_actor::behavior_type evaluator_behavior(
  evaluator_actor::stateful_pointer<evaluator_state> self, evaluator_options options
);

} // namespace assay
