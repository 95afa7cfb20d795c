#include "actors/mover.hpp"

#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/base/overloaded.hpp"
#include "src/ledger/moving.hpp"

namespace assay {

namespace {

const ledger::author itself{"MOVER", ledger::authentication::process};

problem not_ready() {
  return {problem_kind::unavailable, "the ledger's tables are not loaded yet", {}, "try again"};
}

} // namespace

void mover_state::begin(mover_options options) {
  options_ = std::move(options);
  began_ = self_->clock().now();
  self_->delayed_send(self_, limits::mover_tick, tick{});
}

// -- what people ask for

void mover_state::promote(const assay::promote& what, promise answer) {
  if (!tables_.tables) {
    answer.deliver(move_answer{unexpected{not_ready()}});
    return;
  }
  const auto* implementation = ledger::find(tables_.tables->implementations, what.implementation);
  if (!implementation) {
    answer.deliver(move_answer{unexpected{problem{
      problem_kind::not_found,
      "there is no implementation '" + what.implementation.value + "'",
      {},
      "assay get implementations lists them"}}});
    return;
  }
  auto now = ledger::route_of(*tables_.tables, implementation->what.model);
  auto plan = moves::plan_promotion(now, what.implementation, what.wanted, what.how);
  if (!plan) {
    answer.deliver(move_answer{unexpected{plan.error()}});
    return;
  }
  start(*plan, what.author, what.reason, answer);
}

void mover_state::reverse(const assay::reverse& what, promise answer) {
  const auto* row = tables_.tables ? ledger::find(tables_.tables->moves, what.move) : nullptr;
  if (!row) {
    answer.deliver(move_answer{unexpected{problem{
      problem_kind::not_found,
      "there is no move '" + what.move.value + "'",
      {},
      "assay get moves lists them"}}});
    return;
  }
  if (moves::is_open(row->state)) {
    wishes_[what.move] = moves::wish::abort;
    auto& wisher =
      wishers_.try_emplace(
                what.move, mover_state::wisher{what.author, what.reason, {}}
      ).first->second;
    wisher.askers.push_back(std::move(answer));
    drive();
    return;
  }
  auto now = ledger::route_of(*tables_.tables, row->plan.model);
  auto plan = moves::plan_inverse(what.move, ledger::plan_of(row->plan), row->generation, now);
  if (row->state != moves::state::committed)
    plan = unexpected{problem{
      problem_kind::refused,
      "move '" + what.move.value + "' is " + std::string{moves::name(row->state)}
        + "; it left nothing to undo",
      {},
      "only a committed move can be reversed"}};
  if (!plan) {
    answer.deliver(move_answer{unexpected{plan.error()}});
    return;
  }
  start(*plan, what.author, what.reason, answer);
}

move_waits mover_state::answer(const move_question& what) const {
  const auto* row = tables_.tables ? ledger::find(tables_.tables->moves, what.move) : nullptr;
  if (!row || !moves::is_open(row->state))
    return {};
  auto known = ingresses();
  auto action = next_of(*row, around(known));
  return std::visit(
    overloaded{
      [](const moves::propose& next) {
        return move_waits{"for its next record: " + std::string{moves::name(next.what)}};
      },
      [](const auto& other) { return move_waits{other.why}; }},
    action
  );
}

/// What turns a move back is on record: no crash undoes it.
void mover_state::answer_wishers(const move_id& id) {
  auto found = wishers_.find(id);
  if (found == wishers_.end())
    return;
  for (auto& asker : std::exchange(found->second.askers, {}))
    asker.deliver(move_answer{id});
}

void mover_state::start(
  const moves::plan& plan, const ledger::author& author, const std::string& reason, promise answer
) {
  auto id = move_id{"m-" + short_name(new_uuid7())};
  record(
    ledger::proposal_of(*tables_.tables, id, plan, reason),
    author,
    reason,
    false,
    [answer, id](const store::answer& said) mutable {
      if (!said)
        answer.deliver(move_answer{unexpected{said.error()}});
      else
        answer.deliver(move_answer{id});
    }
  );
}

// -- what changes

void mover_state::learn(const tables_changed& what) {
  tables_ = what;
  // The last view of a pool that was retired shows replicas that nobody watches any more.
  std::erase_if(views_, [&](const auto& one) {
    return !ledger::find(tables_.tables->pools, one.first);
  });
  std::erase_if(proposing_, [this](const auto& one) { return is_shown(one.second); });
  proposing_due_ = proposing_due_ && !is_shown(*proposing_due_) ? proposing_due_ : std::nullopt;
  std::erase_if(wishes_, [&](const auto& one) {
    const auto* row = ledger::find(tables_.tables->moves, one.first);
    if (row && moves::is_open(row->state))
      return false;
    // Whoever came too late reverses what was committed meanwhile; else nothing is left to undo.
    if (row && row->state == moves::state::committed)
      for (auto& asker : std::exchange(wishers_.at(one.first).askers, {}))
        asker.deliver(move_answer{unexpected{problem{
          problem_kind::refused,
          "move '" + one.first.value + "' was committed meanwhile",
          {},
          "reverse it again: assay reverse " + one.first.value}}});
    answer_wishers(one.first);
    return true;
  });
  std::erase_if(wishers_, [&](const auto& one) { return !wishes_.contains(one.first); });
  ask_routes();
  drive();
}

/// These tables hold the record of that seq. An answer may be here before them.
bool mover_state::is_shown(std::uint64_t seq) const {
  return seq <= tables_.tables->head.seq;
}

void mover_state::learn(const pool_changed& what) {
  views_[what.view->pool] = what.view;
  drive();
}

void mover_state::pass() {
  ask_routes();
  propose_due();
  drive();
  self_->delayed_send(self_, limits::mover_tick, tick{});
}

template <class Who>
void mover_state::ask_routes(const Who& who, std::vector<ledger::ingress_runs>& into) {
  self_->request(who, limits::proposal_patience, routes_question{})
    .then(
      [this, &into](const routes_answer& answer) {
        into = answer.ingresses;
        drive();
      },
      [](const caf::error& why) {
        // Asked again with the next tick; until then the last answer holds.
        log::warn("ingress_did_not_say_its_routes", {{"why", caf::to_string(why)}});
      }
    );
}

void mover_state::ask_routes() {
  ask_routes(options_.ingress, here_);
  if (options_.service)
    ask_routes(options_.service, elsewhere_);
}

std::vector<ledger::ingress_runs> mover_state::ingresses() const {
  auto heard = elsewhere_;
  for (auto mine : here_) {
    mine.node = options_.node;
    heard.push_back(std::move(mine));
  }
  return ledger::ingresses_of(*tables_.tables, options_.node, heard, began_);
}

// -- carrying on

void mover_state::drive() {
  if (!tables_.tables)
    return;
  // Held while we look: a proposal may be answered, and the tables replaced, before the loop ends.
  auto tables = tables_.tables;
  for (const auto& [id, row] : *tables->moves)
    if (moves::is_open(row.state) && !proposing_.contains(id))
      drive(row);
}

ledger::moving_world mover_state::around(const std::vector<ledger::ingress_runs>& known) const {
  return {views_, known, wishes_, wall_now(), self_->clock().now()};
}

moves::action
mover_state::next_of(const ledger::move_row& row, const ledger::moving_world& world) const {
  return moves::advance(ledger::open_move_of(row), ledger::observe(*tables_.tables, row, world));
}

void mover_state::drive(const ledger::move_row& row) {
  auto known = ingresses();
  auto world = around(known);
  auto action = next_of(row, world);
  const auto* due = std::get_if<moves::propose>(&action);
  if (!due)
    return;
  auto id = row.plan.id;
  proposing_[id] = not_answered;
  // What a person asked for is recorded in the person's name.
  auto wisher = wishers_.find(id);
  auto is_wish = (due->what == moves::event::abort || due->what == moves::event::cancel)
                 && wisher != wishers_.end();
  record(
    ledger::record_of(*tables_.tables, row, *due, world),
    is_wish ? wisher->second.who : itself,
    is_wish ? wisher->second.why : due->why,
    false,
    [this, id, is_wish](const store::answer& said) {
      if (said && is_wish)
        answer_wishers(id);
      if (said && !is_shown(said->seq)) {
        proposing_[id] = said->seq;
        return;
      }
      proposing_.erase(id);
      if (!said)
        log::warn("move_event_refused", {{"move", id.value}, {"why", to_text(said.error())}});
    }
  );
}

void mover_state::propose_due() {
  if (!tables_.tables || proposing_due_)
    return;
  auto due = ledger::due_records(*tables_.tables, wall_now());
  if (due.empty())
    return;
  proposing_due_ = not_answered;
  // One that is refused for ever must not keep the others waiting: they take turns.
  auto& next = due[due_turn_++ % due.size()];
  record(std::move(next), itself, "time", true, [this](const store::answer& said) {
    proposing_due_.reset();
    if (!said)
      log::warn("due_record_refused", {{"why", to_text(said.error())}});
    else if (!is_shown(said->seq))
      proposing_due_ = said->seq;
  });
}

void mover_state::record(
  ledger::payload what,
  const ledger::author& author,
  const std::string& reason,
  bool time_driven,
  std::function<void(const store::answer&)> then
) {
  auto proposal =
    ledger::make_record(std::move(what), author, {"move", reason}, ledger::trust::measured);
  self_
    ->request(options_.ledger, limits::proposal_patience, propose{std::move(proposal), time_driven})
    .then(
      [then](const proposed& done) { then(done.answer); },
      [then](const caf::error& why) {
        then(unexpected{problem{
          problem_kind::unavailable,
          "the ledger did not answer: " + caf::to_string(why),
          {},
          "try again"}});
      }
    );
}

mover_actor::behavior_type
mover_behavior(mover_actor::stateful_pointer<mover_state> self, mover_options options) {
  self->state.begin(std::move(options));
  auto promote_it = [self](const promote& what) {
    auto answer = self->make_response_promise<move_answer>();
    self->state.promote(what, answer);
    return answer;
  };
  auto reverse_it = [self](const reverse& what) {
    auto answer = self->make_response_promise<move_answer>();
    self->state.reverse(what, answer);
    return answer;
  };
  return {
    promote_it,
    reverse_it,
    [self](const move_question& what) { return self->state.answer(what); },
    [self](const tables_changed& what) { self->state.learn(what); },
    [self](const pool_changed& what) { self->state.learn(what); },
    [self](tick) { self->state.pass(); },
  };
}

} // namespace assay
