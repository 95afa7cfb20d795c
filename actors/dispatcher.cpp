#include "actors/dispatcher.hpp"

#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"
#include "src/ledger/working.hpp"

#include <caf/send.hpp>

namespace assay {

namespace {

const ledger::author itself{"DISPATCHER", ledger::authentication::process};

/// Not the job's fault, and over some time.
bool is_for_now(const problem& why) {
  return why.kind == problem_kind::unavailable || why.kind == problem_kind::exhausted;
}

} // namespace

void dispatcher_state::begin(dispatcher_options options) {
  options_ = std::move(options);
  self_->delayed_send(self_, limits::dispatcher_tick, tick{});
}

/// JOB QUEUE may have asked on tables that are older than the job's end.
bool dispatcher_state::has_ended(const job_id& id) const {
  const auto* row = tables_.tables ? ledger::find(tables_.tables->jobs, id) : nullptr;
  return row && row->ended;
}

// -- from JOB QUEUE

void dispatcher_state::run(const run_job& what) {
  if (has_ended(what.job.id) || ended_.contains(what.job.id))
    return;
  if (auto found = given_back_.find(what.job.id); found != given_back_.end())
    if (self_->clock().now() < found->second)
      return;
  given_back_.erase(what.job.id);
  auto [at, is_new] = works_.try_emplace(what.job.id);
  auto& work = at->second;
  work.window = what.window;
  if (work.runner)
    return carry_out(what.job.id, work.runner->allow(what.window, self_->clock().now()));
  if (!is_new)
    return;
  work.job = what.job;
  auto me = dispatcher_actor{self_};
  options_.read(what.job.input, [me, id = what.job.id](result<std::string, problem> input) {
    using shared = std::shared_ptr<const std::string>;
    auto loaded =
      input ? result<shared, problem>{std::make_shared<const std::string>(std::move(*input))}
            : result<shared, problem>{unexpected{input.error()}};
    caf::anon_send(me, input_loaded{id, std::move(loaded)});
  });
}

void dispatcher_state::load(const input_loaded& what) {
  auto found = works_.find(what.job);
  if (found == works_.end() || found->second.runner)
    return;
  if (!tables_.tables) { // JOB QUEUE gives the job again, and then we know more.
    works_.erase(found);
    return;
  }
  auto& work = found->second;
  if (!what.input && is_for_now(what.input.error()))
    return give_back(what.job, what.input.error());
  if (!what.input)
    return end(
      what.job, jobs::event::fail, "its input cannot be read: " + to_text(what.input.error())
    );
  const auto* model = ledger::find(tables_.tables->models, model_id{work.job.model});
  if (!model)
    return end(
      what.job,
      jobs::event::fail,
      "its model '" + work.job.model + "' is not declared any more; declare it and submit again"
    );
  auto now = self_->clock().now();
  auto stored = ledger::stored_checkpoints(*tables_.tables, what.job);
  auto made = jobs::runner::resume(work.job, model->what.promises.task, *what.input, stored, now);
  if (!made)
    return end(what.job, jobs::event::fail, to_text(made.error()));
  work.runner.emplace(std::move(*made));
  // What is to end already asks for nothing more.
  if (auto wish = std::exchange(work.wish, std::nullopt))
    return wind_up(*wish);
  carry_out(what.job, work.runner->allow(work.window, now));
}

/// Members that have its input may be back soon, or a disk have room: JOB QUEUE gives it again.
void dispatcher_state::give_back(const job_id& id, const problem& why) {
  log::warn("job_waits_for_its_input", {{"job", id.value}, {"why", to_text(why)}});
  auto wish = std::exchange(works_.at(id).wish, std::nullopt);
  works_.erase(id);
  if (wish)
    return end(id, wish->what, wish->why);
  given_back_[id] = self_->clock().now() + limits::blob_work_again;
}

void dispatcher_state::wind_up(const wind_up_job& what) {
  auto found = works_.find(what.job);
  if (found == works_.end())
    return end(what.job, what.what, what.why);
  if (!found->second.runner) {
    found->second.wish = what;
    return;
  }
  carry_out(what.job, found->second.runner->wind_up(what.what, what.why, self_->clock().now()));
}

// -- the runner's effects

void dispatcher_state::carry_out(const job_id& id, const jobs::effects& all) {
  for (const auto& effect : all)
    std::visit([&](const auto& one) { carry_out(id, one); }, effect);
}

void dispatcher_state::carry_out(const job_id& id, const jobs::ask_item& what) {
  auto me = dispatcher_actor{self_};
  options_.ask(
    what.request,
    [me, id, item = what.item, attempt = what.attempt](item_answered answer) {
      answer.job = id;
      answer.item = item;
      answer.attempt = attempt;
      caf::anon_send(me, std::move(answer));
    }
  );
}

void dispatcher_state::carry_out(const job_id& id, const jobs::keep_checkpoint& what) {
  auto me = dispatcher_actor{self_};
  options_.keep(what.bytes, [me, id, entry = what.entry](result<digest, problem> blob) {
    caf::anon_send(me, output_kept{id, entry, std::move(blob)});
  });
}

void dispatcher_state::carry_out(const job_id& id, const jobs::end_job& what) {
  end(id, what.what, what.why, what.done);
}

void dispatcher_state::take(const item_answered& what) {
  auto found = works_.find(what.job);
  if (found == works_.end() || !found->second.runner)
    return;
  auto& runner = *found->second.runner;
  auto now = self_->clock().now();
  if (what.status == 0)
    return carry_out(what.job, runner.not_answered(what.item, what.attempt, what.body, now));
  carry_out(
    what.job,
    runner.answered({what.item, what.attempt, what.status, what.request_id, what.body}, now)
  );
}

void dispatcher_state::keep(const output_kept& what) {
  auto found = works_.find(what.job);
  if (found == works_.end() || !found->second.runner)
    return;
  if (what.blob)
    return propose_checkpoint(what.job, what.entry, *what.blob);
  log::error("checkpoint_not_kept", {{"job", what.job.value}, {"why", to_text(what.blob.error())}});
  carry_out(what.job, found->second.runner->not_kept(what.entry.number, self_->clock().now()));
}

void dispatcher_state::propose_checkpoint(
  const job_id& id, const jobs::checkpoint& entry, const digest& blob
) {
  auto settle = [this, id, number = entry.number](const std::string& why) {
    auto found = works_.find(id);
    if (found == works_.end() || !found->second.runner)
      return;
    auto& runner = *found->second.runner;
    auto now = self_->clock().now();
    if (!why.empty())
      log::error("checkpoint_not_recorded", {{"job", id.value}, {"why", why}});
    carry_out(id, why.empty() ? runner.kept(number, now) : runner.not_kept(number, now));
  };
  auto state = ledger::state_entry{ledger::entry_of(id, entry, blob)};
  self_->request(options_.ledger, limits::proposal_patience, propose{std::move(state)})
    .then(
      [settle](const proposed& done) {
        settle(done.answer ? std::string{} : to_text(done.answer.error()));
      },
      [settle](const caf::error& why) {
        settle("the ledger did not answer: " + caf::to_string(why));
      }
    );
}

/// `done` is what the runner knows to be stored: newer than the tables, which are published a
/// moment later.
void dispatcher_state::end(
  const job_id& id, jobs::event what, const std::string& why, std::optional<jobs::progress> done
) {
  if (!tables_.tables)
    return;
  if (!done)
    done = jobs::progress_of(ledger::stored_checkpoints(*tables_.tables, id)).value_or({});
  auto& work = works_[id];
  if (std::exchange(work.ending, true))
    return;
  auto record = ledger::make_record(
    ledger::end_of(id, what, why, *done), itself, {"job", why}, ledger::trust::measured
  );
  self_->request(options_.ledger, limits::proposal_patience, propose{std::move(record)})
    .then(
      [this, id](const proposed& done) {
        // Refused: a retry of ours was taken already, or the disk is full. If the job is open JOB
        // QUEUE gives it again, or its end when somebody asked for that.
        if (!done.answer)
          log::error(
            "job_end_not_recorded", {{"job", id.value}, {"why", to_text(done.answer.error())}}
          );
        if (done.answer)
          ended_.insert(id);
        works_.erase(id);
      },
      [this, id](const caf::error& why) {
        log::error("job_end_not_recorded", {{"job", id.value}, {"why", caf::to_string(why)}});
        works_.erase(id);
      }
    );
}

void dispatcher_state::learn(const tables_changed& what) {
  tables_ = what;
  std::erase_if(works_, [&](const auto& one) { return has_ended(one.first); });
  std::erase_if(ended_, [&](const auto& id) { return has_ended(id); });
  std::erase_if(given_back_, [&](const auto& one) { return has_ended(one.first); });
}

void dispatcher_state::pass() {
  auto now = self_->clock().now();
  std::vector<job_id> ids;
  for (const auto& [id, work] : works_)
    if (work.runner)
      ids.push_back(id);
  for (const auto& id : ids)
    if (auto found = works_.find(id); found != works_.end())
      carry_out(id, found->second.runner->tick(now));
  self_->delayed_send(self_, limits::dispatcher_tick, tick{});
}

dispatcher_actor::behavior_type dispatcher_behavior(
  dispatcher_actor::stateful_pointer<dispatcher_state> self, dispatcher_options options
) {
  self->state.begin(std::move(options));
  return {
    [self](const run_job& what) { self->state.run(what); },
    [self](const wind_up_job& what) { self->state.wind_up(what); },
    [self](const item_answered& what) { self->state.take(what); },
    [self](const input_loaded& what) { self->state.load(what); },
    [self](const output_kept& what) { self->state.keep(what); },
    [self](const tables_changed& what) { self->state.learn(what); },
    [self](tick) { self->state.pass(); },
  };
}

} // namespace assay
