#include "actors/job_queue.hpp"

#include "src/base/limits.hpp"
#include "src/ledger/working.hpp"

#include <set>

namespace assay {

void job_queue_state::begin(job_queue_options options) {
  options_ = std::move(options);
  // SUPERVISOR watches us, and nobody else watches DISPATCHER: without it no job would ever go on.
  self_->set_down_handler([this](const caf::down_msg& down) { self_->quit(down.reason); });
  self_->monitor(options_.dispatcher);
  self_->delayed_send(self_, limits::job_queue_tick, tick{});
}

/// Answered once the job's end is on record: what was acknowledged holds, whatever dies.
void job_queue_state::take(const job_wish& what, promise answer) {
  auto refuse = [&](problem why) { answer.deliver(job_wish_answer{unexpected{std::move(why)}}); };
  const auto* row = tables_.tables ? ledger::find(tables_.tables->jobs, what.job) : nullptr;
  if (!row)
    return refuse(
      {problem_kind::not_found,
       "there is no job '" + what.job.value + "'",
       {},
       "assay queue lists them"}
    );
  if (row->ended)
    return refuse(
      {problem_kind::refused,
       "job '" + what.job.value + "' is " + std::string{ledger::name(row->ended->end)} + " already",
       {},
       "its results stay: assay job results " + what.job.value}
    );
  end(what.job, what.what, what.why);
  endings_.at(what.job).askers.push_back(std::move(answer));
}

/// Told again until it is on record; the first wish stands.
void job_queue_state::end(const job_id& id, jobs::event what, const std::string& why) {
  auto now = self_->clock().now();
  auto& ending =
    endings_.try_emplace(id, job_queue_state::ending{{id, what, why}, now, {}}).first->second;
  if (now < ending.again)
    return;
  ending.again = now + limits::proposal_patience;
  self_->send(options_.dispatcher, ending.what);
}

void job_queue_state::answer_wishes() {
  for (auto one = endings_.begin(); one != endings_.end();) {
    const auto* row = ledger::find(tables_.tables->jobs, one->first);
    if (row && !row->ended) {
      ++one;
      continue;
    }
    for (auto& asker : one->second.askers)
      asker.deliver(job_wish_answer{
        row ? result<jobs::state, problem>{ledger::state_of(row->ended->end)}
            : unexpected{problem{
              problem_kind::not_found,
              "job '" + one->first.value + "' is gone",
              {},
              "assay queue lists jobs"}}});
    one = endings_.erase(one);
  }
}

job_answer job_queue_state::answer(const job_question& what) const {
  auto window = windows_.find(what.job);
  auto runs = window != windows_.end() && window->second > 0;
  auto why = why_.find(what.job);
  return {
    runs ? jobs::state::running : jobs::state::queued,
    why == why_.end() ? std::string{} : why->second};
}

void job_queue_state::learn(const tables_changed& what) {
  tables_ = what;
  // The last view of a pool that was retired shows replicas that nobody watches any more.
  std::erase_if(views_, [&](const auto& one) {
    return !ledger::find(tables_.tables->pools, one.first);
  });
  answer_wishes();
  plan();
}

void job_queue_state::learn(const pool_changed& what) {
  views_[what.view->pool] = what.view;
}

void job_queue_state::pass() {
  plan();
  self_->delayed_send(self_, limits::job_queue_tick, tick{});
}

/// The first job of each model in the order of the queue runs; the others wait and know why.
void job_queue_state::plan() {
  if (!tables_.tables)
    return;
  const auto& t = *tables_.tables;
  auto now = wall_now();
  auto waiting = ledger::waiting_jobs(t);
  for (const auto& job : waiting) {
    auto& left = left_.try_emplace(job.id, job.items_left).first->second;
    if (job.items_left < left)
      used_.add(job.project, left - job.items_left, now);
    left = job.items_left;
  }
  for (const auto& id : ledger::overdue_jobs(t, now))
    end(id, jobs::event::expire, "its time is over; submit what is left as a new job");
  std::vector<wind_up_job> asked;
  for (const auto& [id, ending] : endings_)
    asked.push_back(ending.what);
  for (const auto& one : asked)
    end(one.job, one.what, one.why);
  std::map<job_id, std::uint32_t> windows;
  std::set<model_id> taken;
  why_.clear();
  for (const auto& placed : jobs::order(waiting, used_, now)) {
    const auto& row = t.jobs->at(placed.id);
    const auto& model = row.job.model;
    if (endings_.contains(placed.id))
      continue; // It winds up, and asks for nothing more.
    if (!taken.insert(model).second) {
      why_[placed.id] = placed.why;
      continue;
    }
    auto before = windows_.find(placed.id);
    auto seen = ledger::slots_for(t, views_, model, before == windows_.end() ? 0 : before->second);
    auto window = jobs::batch_window(seen);
    if (window == 0) {
      auto why = ledger::why_no_batch(t, model, now);
      why_[placed.id] = !why.empty()      ? why
                        : seen.slots == 0 ? "no replica takes batch of '" + model.value + "' now"
                                          : "interactive traffic comes first";
    }
    windows[placed.id] = window;
    self_->send(options_.dispatcher, run_job{ledger::spec_of(row), window});
  }
  // Another job took the place of these.
  for (const auto& [id, window] : windows_)
    if (!windows.contains(id) && !endings_.contains(id) && t.jobs->contains(id) && !t.jobs->at(id).ended && window > 0)
      self_->send(options_.dispatcher, run_job{ledger::spec_of(t.jobs->at(id)), 0});
  windows_ = std::move(windows);
  std::erase_if(left_, [&](const auto& one) {
    const auto* row = ledger::find(t.jobs, one.first);
    return !row || row->ended;
  });
}

job_queue_actor::behavior_type job_queue_behavior(
  job_queue_actor::stateful_pointer<job_queue_state> self, job_queue_options options
) {
  self->state.begin(std::move(options));
  return {
    [self](const job_wish& what) {
      auto answer = self->make_response_promise<job_wish_answer>();
      self->state.take(what, answer);
      return answer;
    },
    [self](const job_question& what) { return self->state.answer(what); },
    [self](const tables_changed& what) { self->state.learn(what); },
    [self](const pool_changed& what) { self->state.learn(what); },
    [self](tick) { self->state.pass(); },
  };
}

} // namespace assay
