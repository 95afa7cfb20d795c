#include "actors/supervisor.hpp"

#include "actors/pool_coordinator.hpp"
#include "src/base/log.hpp"

namespace assay {

void supervisor_state::begin(supervisor_options options) {
  options_ = std::move(options);
  self_->set_down_handler([this](const caf::down_msg& down) {
    auto who = watched_.extract(down.source);
    // We end pools ourselves when their declaration goes; any other end is a bug.
    if (who && down.reason != caf::exit_reason::user_shutdown)
      options_.stop_process(who.mapped() + " ended by itself: " + caf::to_string(down.reason));
  });
  self_->set_exit_handler([this](const caf::exit_msg& exit) {
    end();
    self_->quit(exit.reason);
  });
  watch(options_.ledger, "LEDGER");
  watch(options_.ingress, "INGRESS");
  for (const auto& listener : options_.pool_listeners)
    watch(listener, "EVALUATOR, MOVER or JOB QUEUE");
  if (options_.service)
    watch(options_.service, "SERVICE LINKS");
}

/// What the SUPERVISOR made ends with it.
void supervisor_state::end() {
  for (const auto& [id, pool] : pools_)
    self_->send_exit(pool, caf::exit_reason::user_shutdown);
  for (const auto& [id, one] : links_)
    self_->send_exit(one.link, caf::exit_reason::user_shutdown);
}

template <class Handle>
void supervisor_state::watch(const Handle& who, std::string called) {
  watched_[who.address()] = std::move(called);
  self_->monitor(who);
}

// -- pools

void supervisor_state::learn(const tables_changed& what) {
  auto is_first = !std::exchange(tables_, what).tables;
  auto before = pools_.size();
  drop_missing_pools();
  auto dropped = pools_.size() != before;
  auto added = false;
  for (const auto& [id, row] : *tables_.tables->pools) {
    if (pools_.contains(id))
      continue;
    add_pool(id);
    added = true;
  }
  // First, so that a pool that is asked for a ticket knows what it should run.
  for (const auto& [id, pool] : pools_)
    self_->send(pool, what);
  if (added || dropped || is_first)
    introduce_pools();
  for (const auto& [id, one] : links_)
    self_->send(one.link, what);
}

void supervisor_state::add_pool(const pool_id& id) {
  pool_options options{.pool = id, .epoch = epoch(), .may_hold = {}};
  if (options_.ingresses)
    options.may_hold = options_.ingresses();
  auto pool = self_->spawn(pool_behavior, std::move(options));
  watch(pool, "POOL COORDINATOR of " + id.value);
  self_->send(pool, listen_to_pool{options_.ingress});
  for (const auto& listener : options_.pool_listeners)
    self_->send(pool, listen_to_pool{listener});
  pools_[id] = std::move(pool);
}

void supervisor_state::drop_missing_pools() {
  for (auto it = pools_.begin(); it != pools_.end();) {
    if (ledger::find(tables_.tables->pools, it->first)) {
      ++it;
      continue;
    }
    self_->send_exit(it->second, caf::exit_reason::user_shutdown);
    it = pools_.erase(it);
  }
}

std::uint64_t supervisor_state::epoch() const {
  return options_.epoch ? options_.epoch : tables_.epoch;
}

void supervisor_state::introduce_pools() {
  if (options_.service)
    self_->send(options_.service, local_pools{epoch(), pools_});
  else
    self_->send(options_.ingress, pools_known{pools_});
  for (const auto& [id, one] : links_)
    self_->send(one.link, pools_known{pools_});
}

// -- agents

void supervisor_state::meet(const agent_up& what) {
  log::info("agent_up", {{"host", what.host.value}, {"version", what.hello.agent_version}});
  auto [at, is_new] = links_.try_emplace(what.host);
  at->second.session = what.hello.session;
  if (!is_new)
    return;
  node_link_options options{what.host, what.hello.session, options_.ledger, options_.send};
  at->second.link = self_->spawn(node_link_behavior, std::move(options));
  watch(at->second.link, "NODE LINK of " + what.host.value);
  if (tables_.tables)
    self_->send(at->second.link, tables_);
  self_->send(at->second.link, pools_known{pools_});
}

void supervisor_state::hear(from_agent& what) {
  if (auto found = links_.find(what.host); found != links_.end())
    self_->send(found->second.link, agent_said{found->second.session, std::move(what.message)});
}

void supervisor_state::lose(const agent_down& what) {
  if (auto found = links_.find(what.host); found != links_.end())
    self_->send(found->second.link, agent_lost{found->second.session, what.reason});
}

parts_answer supervisor_state::parts() const {
  parts_answer answer{{}, pools_};
  for (const auto& [id, one] : links_)
    answer.links[id] = one.link;
  return answer;
}

supervisor_actor::behavior_type supervisor_behavior(
  supervisor_actor::stateful_pointer<supervisor_state> self, supervisor_options options
) {
  self->state.begin(std::move(options));
  return {
    [self](const tables_changed& what) { self->state.learn(what); },
    [self](const agent_up& what) { self->state.meet(what); },
    [self](from_agent& what) { self->state.hear(what); },
    [self](const agent_down& what) { self->state.lose(what); },
    [self](parts_question) { return self->state.parts(); },
  };
}

} // namespace assay
