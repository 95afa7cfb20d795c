#include "actors/ingress_link.hpp"

#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"

#include <algorithm>

namespace assay {

using std::chrono::milliseconds;

void ingress_link_state::begin(ingress_link_options options) {
  options_ = std::move(options);
  heard_at_ = self_->clock().now();
  note(reached{options_.is_reached});
  self_->delayed_send(self_, limits::pool_tick, tick{});
}

// -- what the leader's actors say

void ingress_link_state::learn(const pools_known& what) {
  std::erase_if(pools_, [&](const auto& one) {
    auto now = what.pools.find(one.first);
    return now == what.pools.end() || now->second != one.second.pool;
  });
  for (const auto& [id, pool] : what.pools)
    if (!pools_.contains(id))
      meet(id, pool);
  knows_pools_ = true;
  start_over({});
}

void ingress_link_state::meet(const pool_id& id, const pool_actor& pool) {
  pools_[id].pool = pool;
  ingress_link_actor us{self_};
  self_->send(pool, ingress_up{options_.name, us});
  self_->send(pool, listen_to_pool{us});
}

void ingress_link_state::learn(const pool_changed& what) {
  auto found = pools_.find(what.view->pool);
  if (found == pools_.end())
    return;
  auto& mine = found->second;
  mine.view = what.view;
  mine.is_view_due = true;
  std::erase_if(mine.leases, [&](const auto& one) {
    return std::ranges::none_of(mine.view->replicas, [&](const auto& replica) {
      return replica.key() == one.first;
    });
  });
  flush();
}

/// The pool whose word is being handled.
pool_id ingress_link_state::sender() const {
  for (const auto& [id, one] : pools_)
    if (one.pool == self_->current_sender())
      return id;
  return {};
}

void ingress_link_state::accept(const pool::grant_lease& what) {
  auto found = pools_.find(sender());
  if (found == pools_.end())
    return;
  found->second.leases[what.endpoint] = {what};
  flush();
}

void ingress_link_state::admit(const pool::admit_ticket& what) {
  answer(peers::ticket_admit{
    options_.epoch, sender(), what.ticket, what.implementation, what.endpoint});
}

void ingress_link_state::refuse(const pool::refuse_ticket& what) {
  answer(peers::ticket_refuse{
    options_.epoch, sender(), what.ticket, what.why, what.retry_after, what.measured});
}

void ingress_link_state::answer(peers::message what) {
  answers_.push_back(std::move(what));
  if (answers_.size() > limits::ticket_answers_waiting)
    answers_.pop_front();
  flush();
}

// -- what the ingress says

bool ingress_link_state::tell(const pool_id& to, pool::event what) {
  auto found = pools_.find(to);
  if (found == pools_.end() || is_lost_)
    return false;
  self_->send(found->second.pool, std::move(what));
  return true;
}

void ingress_link_state::hear(const peers::ingress_report& what) {
  heard_at_ = self_->clock().now();
  auto was_silent = !its_clock_;
  its_clock_ = std::max(what.at, its_clock_.value_or(what.at));
  is_lost_ = is_lost_ && unreached_since_.has_value();
  tell(what.pool, pool::ingress_reported{options_.name, what.holdings, what.settled});
  if (was_silent)
    flush();
}

void ingress_link_state::hear(const peers::ticket_ask& what) {
  tell(
    what.pool,
    pool::ticket_asked{
      .ingress = options_.name,
      .ticket = what.ticket,
      .traffic = what.traffic,
      .project = what.project,
      .acceptable = what.acceptable,
      .excluded = what.excluded,
      .deadline = self_->clock().now() + what.left}
  );
}

void ingress_link_state::hear(const peers::ticket_withdraw& what) {
  tell(what.pool, pool::ticket_withdrawn{options_.name, what.ticket});
}

// -- whether it is there

void ingress_link_state::start_over(const begin_anew& what) {
  if (what.restarted) {
    lose();
    is_lost_ = false;
    its_clock_.reset();
    heard_at_ = self_->clock().now();
  }
  // Whoever waits asks again.
  answers_.clear();
  are_pools_due_ = knows_pools_;
  for (auto& [id, one] : pools_) {
    one.is_view_due = one.view != nullptr;
    for (auto& [endpoint, lease] : one.leases)
      lease.is_due = true;
  }
  flush();
}

void ingress_link_state::note(const reached& what) {
  if (!what.is_reached) {
    unreached_since_ = unreached_since_.value_or(self_->clock().now());
    return;
  }
  unreached_since_.reset();
  start_over({});
}

void ingress_link_state::pass() {
  auto now = self_->clock().now();
  auto is_over = [now](steady_time since) { return now - since >= limits::ingress_silence; };
  if (!is_lost_ && (is_over(heard_at_) || (unreached_since_ && is_over(*unreached_since_))))
    lose();
  flush();
  self_->delayed_send(self_, limits::pool_tick, tick{});
}

void ingress_link_state::lose() {
  for (const auto& [id, one] : pools_)
    tell(id, pool::ingress_lost{options_.name});
  is_lost_ = true;
}

// -- to the ingress: pools, then views, then leases, then answers, so that who is granted or
// promised an endpoint has seen it

void ingress_link_state::flush() {
  if (unreached_since_)
    return;
  flush_pools() && flush_views() && flush_leases() && flush_answers();
}

bool ingress_link_state::flush_pools() {
  if (!are_pools_due_)
    return knows_pools_;
  peers::pools_now all{options_.epoch, {}};
  for (const auto& [id, one] : pools_)
    all.pools.push_back(id);
  if (!say(all))
    return false;
  are_pools_due_ = false;
  return true;
}

bool ingress_link_state::flush_views() {
  for (auto& [id, one] : pools_) {
    if (!one.is_view_due)
      continue;
    if (!say(peers::pool_state{options_.epoch, *one.view}))
      return false;
    one.is_view_due = false;
  }
  return true;
}

/// Without a report of the ingress nobody could say when a lease ends on its clock.
bool ingress_link_state::flush_leases() {
  if (!its_clock_)
    return true;
  for (auto& [id, one] : pools_) {
    std::erase_if(one.leases, [now = self_->clock().now()](const auto& lease) {
      return lease.second.what.grant.until <= now;
    });
    for (auto& [endpoint, lease] : one.leases) {
      if (!lease.is_due)
        continue;
      if (!say(lease_of(id, lease.what)))
        return false;
      lease.is_due = false;
    }
  }
  return true;
}

bool ingress_link_state::flush_answers() {
  while (!answers_.empty()) {
    if (!say(answers_.front()))
      return false;
    answers_.pop_front();
  }
  return true;
}

/// False: not now. What fits no frame never will, and is left out.
bool ingress_link_state::say(const peers::message& what) {
  switch (options_.say(what)) {
  case peers::send_outcome::queued:
    return true;
  case peers::send_outcome::invalid:
    log::error(
      "service_message_unsendable",
      {{"ingress", options_.name.value},
       {"kind", std::to_string(what.index())},
       {"next", "the ingress keeps what it had; have fewer replicas in one pool"}}
    );
    return true;
  case peers::send_outcome::full:
  case peers::send_outcome::down:
    return false;
  }
  return false;
}

peers::lease
ingress_link_state::lease_of(const pool_id& pool, const pool::grant_lease& what) const {
  auto left = std::chrono::floor<milliseconds>(what.grant.until - self_->clock().now());
  return {
    .epoch = options_.epoch,
    .pool = pool,
    .endpoint = what.endpoint,
    .credits = what.grant.credits,
    .degraded = what.grant.degraded,
    .waiting = what.grant.waiting,
    .number = what.number,
    .heard = *its_clock_,
    .left = std::max(left, milliseconds{0}),
  };
}

namespace {

/// What only the ingress itself can say; who asks here has the wrong one.
explain_answer explained_elsewhere(const ingress_id& where) {
  return {unexpected{problem{
    problem_kind::unavailable,
    "ingress '" + where.value + "' is in another process",
    {},
    "ask the assayd that it belongs to"}}};
}

} // namespace

ingress_link_actor::behavior_type ingress_link_behavior(
  ingress_link_actor::stateful_pointer<ingress_link_state> self, ingress_link_options options
) {
  auto name = options.name;
  self->state.begin(std::move(options));
  return {
    [](const tables_changed&) {}, // Every process has its own.
    [self](const pool_changed& what) { self->state.learn(what); },
    [self](const pools_known& what) { self->state.learn(what); },
    [self](const pool::grant_lease& what) { self->state.accept(what); },
    [self](const pool::admit_ticket& what) { self->state.admit(what); },
    [self](const pool::refuse_ticket& what) { self->state.refuse(what); },
    // HTTP threads speak to the ingress itself.
    [](const outcomes&) {},
    [](const ticket_wanted&) {},
    [](const ticket_dropped&) {},
    [](const ticket_settled&) {},
    [name](const explain_question&) { return explained_elsewhere(name); },
    [](routes_question) { return routes_answer{}; },
    [](end_service) { return service_ended{}; },
    [self](tick) { self->state.pass(); },
    [self](const peers::ingress_report& what) { self->state.hear(what); },
    [self](const peers::ticket_ask& what) { self->state.hear(what); },
    [self](const peers::ticket_withdraw& what) { self->state.hear(what); },
    [self](const begin_anew& what) { self->state.start_over(what); },
    [self](const reached& what) { self->state.note(what); },
  };
}

} // namespace assay
