#include "actors/evaluator.hpp"

#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"
#include "src/qualification/drift.hpp"

#include <caf/send.hpp>

#include <algorithm>

namespace assay {

namespace {

const ledger::author itself{"EVALUATOR", ledger::authentication::process};

qualification_id new_qualification_id() {
  return {"q-" + short_name(new_uuid7())};
}

} // namespace

// -- beginning

void evaluator_state::qualify(const assay::qualify& what, promise answer) {
  auto refuse = [&](problem why) { answer.deliver(qualify_answer{unexpected{std::move(why)}}); };
  if (tables_.tables && !ledger::find(tables_.tables->implementations, what.implementation))
    return refuse(
      {problem_kind::not_found,
       "there is no implementation '" + what.implementation.value + "'",
       {},
       "assay get implementations lists them"}
    );
  // Whoever asks meanwhile, be it before the first record is taken, means the run that is on.
  for (const auto& [id, run] : runs_)
    if (run.plan.implementation == what.implementation) {
      answer.deliver(qualify_answer{id});
      return;
    }
  auto stack = stack_for(what.implementation);
  if (!tables_.tables || !stack)
    return refuse(
      {problem_kind::unavailable,
       "no replica of '" + what.implementation.value + "' answers",
       {},
       why_no_stack(what.implementation)}
    );
  auto plan = ledger::plan_evaluation(
    *tables_.tables, what.implementation, *stack, new_qualification_id(), wall_now()
  );
  if (!plan)
    return refuse(plan.error());
  auto state = ledger::prepare_run(*tables_.tables, *plan);
  if (!state)
    return refuse(state.error());
  auto id = plan->id;
  std::deque<ledger::payload> opening{plan->opening.begin(), plan->opening.end()};
  run begun{*plan, std::move(*state), what.author, what.reason, {}, {}, {}, 0, false};
  begun.outcome.started_at = wall_now();
  runs_.emplace(id, std::move(begun));
  record(
    std::move(opening),
    what.author,
    what.reason,
    [this, id, answer](std::optional<problem> why) mutable {
      if (why) {
        runs_.erase(id);
        answer.deliver(qualify_answer{unexpected{std::move(*why)}});
        return;
      }
      answer.deliver(qualify_answer{id});
      step(id, qualification::begin{});
    }
  );
}

/// A replica that answers, by preference on a stack that is not qualified yet.
std::optional<ledger::evaluated_stack> evaluator_state::stack_for(const implementation_id& id
) const {
  std::optional<ledger::evaluated_stack> found;
  for (const auto& [pool, view] : views_) {
    for (const auto& replica : view->replicas) {
      if (replica.implementation != id || !pool::serves(replica.phase) || !replica.takes_traffic)
        continue;
      ledger::evaluated_stack stack{replica.host, replica.fingerprint};
      auto is_known =
        tables_.tables
        && std::ranges::any_of(*tables_.tables->qualifications, [&](const auto& one) {
             return one.second.implementation == id
                    && qualification::is_member(stack.fingerprint, one.second.fingerprints);
           });
      if (!found || !is_known)
        found = stack;
    }
  }
  return found;
}

std::string evaluator_state::why_no_stack(const implementation_id& id) const {
  for (const auto& [pool, view] : views_)
    for (const auto& one : view->implementations)
      if (one.id == id && !one.waits_for.empty())
        return one.waits_for;
  return "assay get replicas shows what its pool is doing";
}

run_answer evaluator_state::answer(const run_question& what) const {
  auto found = runs_.find(what.qualification);
  if (found == runs_.end())
    return {};
  const auto& now = found->second.progress;
  auto stage = now.stage == qualification::stage::contract ? "contract checks" : "scored items";
  return {true, stage, now.done, now.of};
}

// -- the run's effects

void evaluator_state::step(const qualification_id& id, const qualification::run_event& what) {
  auto found = runs_.find(id);
  if (found == runs_.end())
    return;
  auto [next, effects] = qualification::step(std::move(found->second.state), what);
  found->second.state = std::move(next);
  if (const auto* stop = std::get_if<qualification::stop>(&what); stop && !found->second.decided) {
    found->second.outcome.aborted = true;
    found->second.outcome.why_aborted = stop->why;
  }
  for (const auto& effect : effects)
    std::visit([&](const auto& one) { carry_out(id, one); }, effect);
}

void evaluator_state::carry_out(const qualification_id& id, const qualification::send& what) {
  ask_due due{id, what.what};
  if (what.delay.count() > 0)
    self_->delayed_send(self_, what.delay, std::move(due));
  else
    send(due);
}

void evaluator_state::send(const ask_due& what) {
  auto found = runs_.find(what.qualification);
  if (found == runs_.end() || found->second.decided)
    return;
  const auto& plan = found->second.plan;
  auto me = evaluator_actor{self_};
  options_.ask(
    what.what,
    {plan.implementation, plan.stack.fingerprint},
    [me, id = what.qualification](qualification::run_event event) {
      caf::anon_send(me, ask_answered{id, std::move(event)});
    }
  );
}

void evaluator_state::carry_out(const qualification_id&, const qualification::give_up_ask&) {
  // Its answer will be late, and late answers change nothing.
}

void evaluator_state::carry_out(const qualification_id& id, const qualification::progress& what) {
  runs_.at(id).progress = what;
}

void evaluator_state::carry_out(
  const qualification_id& id, const qualification::store_evidence& what
) {
  runs_.at(id).evidence = what.bytes;
  keep(keep_evidence{id});
}

void evaluator_state::keep(const keep_evidence& what) {
  auto found = runs_.find(what.qualification);
  if (found == runs_.end())
    return;
  found->second.tries += 1;
  auto me = evaluator_actor{self_};
  options_.keep(
    found->second.evidence,
    [me, id = what.qualification](result<digest, problem> blob) {
      caf::anon_send(me, evidence_kept{id, std::move(blob)});
    }
  );
}

void evaluator_state::carry_out(const qualification_id& id, const qualification::decided& what) {
  auto& run = runs_.at(id);
  run.outcome.verdict = what.verdict;
  run.outcome.envelope = what.envelope;
  run.outcome.checks = what.checks;
  run.outcome.ended_at = wall_now();
  run.decided = true;
}

void evaluator_state::keep(const evidence_kept& what) {
  auto found = runs_.find(what.qualification);
  if (found == runs_.end() || !tables_.tables)
    return;
  auto& run = found->second;
  if (!what.blob) {
    log::error(
      "evidence_not_kept",
      {{"qualification", what.qualification.value}, {"why", to_text(what.blob.error())}}
    );
    // Members may be away, or without room, for a while; what was measured is worth the wait.
    if (run.tries < limits::evidence_tries) {
      self_->delayed_send(self_, limits::blob_work_again, keep_evidence{what.qualification});
      return;
    }
    auto is_open = run.plan.purpose == ledger::evaluation_purpose::first
                   || run.plan.purpose == ledger::evaluation_purpose::again;
    runs_.erase(found);
    if (is_open)
      give_up(what.qualification, "its evidence was not kept: " + to_text(what.blob.error()));
    return;
  }
  run.outcome.evidence = *what.blob;
  auto records = ledger::conclude(*tables_.tables, run.plan, run.outcome);
  record(
    {records.begin(), records.end()},
    itself,
    run.reason,
    [this, id = what.qualification](const std::optional<problem>& why) {
      if (why)
        log::error("verdict_not_recorded", {{"qualification", id.value}, {"why", to_text(*why)}});
      runs_.erase(id);
    }
  );
}

// -- what changes around runs

/// No evidence, no verdict.
void evaluator_state::give_up(const qualification_id& id, const std::string& why) {
  record(
    {ledger::without_verdict(id, why)},
    itself,
    why,
    [id](const std::optional<problem>& refused) {
      if (refused)
        log::error("end_not_recorded", {{"qualification", id.value}, {"why", to_text(*refused)}});
    }
  );
}

/// What an earlier process evaluated has nobody who goes on with it.
void evaluator_state::give_up_left_ones() {
  for (const auto& [id, row] : *tables_.tables->qualifications)
    if (row.state == qualification::state::evaluating)
      give_up(id, "the assayd that led ended in the middle of it; qualify again");
}

void evaluator_state::learn(const tables_changed& what) {
  auto is_first = !tables_.tables;
  tables_ = what;
  if (is_first)
    give_up_left_ones();
  // The last view of a pool that was retired shows replicas that nobody watches any more.
  std::erase_if(views_, [&](const auto& one) {
    return !ledger::find(tables_.tables->pools, one.first);
  });
  watch_drift();
}

void evaluator_state::learn(const pool_changed& what) {
  views_[what.view->pool] = what.view;
  watch_stacks();
  watch_drift();
}

/// Evidence belongs to one stack: a run whose stack is no longer there ends.
void evaluator_state::watch_stacks() {
  for (const auto& [id, run] : runs_) {
    if (run.decided)
      continue;
    auto is_there = std::ranges::any_of(views_, [&](const auto& pool) {
      return std::ranges::any_of(pool.second->replicas, [&](const auto& replica) {
        return replica.implementation == run.plan.implementation
               && replica.fingerprint == run.plan.stack.fingerprint;
      });
    });
    if (!is_there)
      self_->send(self_, stop_run{id, "the stack it ran on is no longer there"});
  }
}

void evaluator_state::watch_drift() {
  if (!tables_.tables)
    return;
  for (const auto& [id, row] : *tables_.tables->qualifications) {
    if (row.state != qualification::state::qualified) {
      suspending_.erase(id);
      continue;
    }
    std::vector<qualification::seen_replica> live;
    for (const auto& [pool, view] : views_)
      for (const auto& replica : view->replicas)
        if (replica.implementation == row.implementation && pool::serves(replica.phase))
          live.push_back({replica.id, replica.host, replica.fingerprint});
    auto seen = qualification::drift_of(live, row.fingerprints, row.policy.suspend_on_drift);
    if (!seen.suspend || !suspending_.insert(id).second)
      continue;
    record(
      {ledger::qualification_changed{id, qualification::event::drift, {}, seen.why}},
      itself,
      seen.why,
      [this, id = id](const std::optional<problem>& why) {
        if (!why)
          return;
        suspending_.erase(id);
        log::error(
          "suspension_not_recorded", {{"qualification", id.value}, {"why", to_text(*why)}}
        );
      }
    );
  }
}

void evaluator_state::record(
  std::deque<ledger::payload> what,
  const ledger::author& author,
  const std::string& reason,
  std::function<void(std::optional<problem>)> then
) {
  if (what.empty())
    return then({});
  auto proposal = ledger::make_record(
    std::move(what.front()), author, {"evaluation", reason}, ledger::trust::measured
  );
  what.pop_front();
  self_->request(options_.ledger, limits::proposal_patience, propose{std::move(proposal)})
    .then(
      [this, rest = std::move(what), author, reason, then](const proposed& done) {
        if (!done.answer)
          return then(done.answer.error());
        record(rest, author, reason, then);
      },
      [then](const caf::error& why) {
        then(problem{
          problem_kind::unavailable,
          "the ledger did not answer: " + caf::to_string(why),
          {},
          "try again"});
      }
    );
}

evaluator_actor::behavior_type evaluator_behavior(
  evaluator_actor::stateful_pointer<evaluator_state> self, evaluator_options options
) {
  self->state.begin(std::move(options));
  auto qualify_it = [self](const qualify& what) {
    auto answer = self->make_response_promise<qualify_answer>();
    self->state.qualify(what, answer);
    return answer;
  };
  return {
    qualify_it,
    [self](const run_question& what) { return self->state.answer(what); },
    [self](const ask_due& what) { self->state.send(what); },
    [self](const ask_answered& what) { self->state.step(what.qualification, what.what); },
    [self](const keep_evidence& what) { self->state.keep(what); },
    [self](const evidence_kept& what) { self->state.keep(what); },
    [self](const stop_run& what) {
      self->state.step(what.qualification, qualification::stop{what.why});
    },
    [self](const tables_changed& what) { self->state.learn(what); },
    [self](const pool_changed& what) { self->state.learn(what); },
  };
}

} // namespace assay
