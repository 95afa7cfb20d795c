#include "actors/pool_coordinator.hpp"

#include "src/base/limits.hpp"
#include "src/ledger/host_duty.hpp"
#include "src/ledger/serving.hpp"

#include <algorithm>

namespace assay {

void pool_state::begin(pool_options options) {
  id_ = options.pool;
  pool_.emplace(
    pool::coordinator_settings{options.pool, options.epoch, std::move(options.may_hold)},
    self_->clock().now()
  );
  self_->delayed_send(self_, limits::pool_tick, tick{});
}

void pool_state::hear(const pool::event& what) {
  carry_out(pool_->step(what, self_->clock().now()));
}

void pool_state::meet(const link_up& what) {
  links_[what.host] = what.link;
}

void pool_state::meet(const ingress_up& what) {
  ingresses_[what.name] = what.who;
}

void pool_state::add(const listen_to_pool& what) {
  listeners_.push_back(what.who);
  self_->send(what.who, look());
}

void pool_state::learn(const tables_changed& what) {
  const auto& t = *what.tables;
  hear(pool::wanted_changed{
    ledger::wanted_in(t, id_), ledger::wanted_elsewhere(t, id_), ledger::kept_hosts(t)});
}

void pool_state::pass() {
  hear(pool::ticked{});
  self_->delayed_send(self_, limits::pool_tick, tick{});
}

void pool_state::carry_out(const std::vector<pool::effect>& effects) {
  for (const auto& effect : effects)
    std::visit([this](const auto& one) { carry_out(one); }, effect);
}

void pool_state::carry_out(const pool::start_replica& what) {
  if (auto link = links_.find(what.host); link != links_.end())
    self_->send(link->second, what);
}

void pool_state::carry_out(const pool::stop_replica& what) {
  if (auto link = links_.find(what.host); link != links_.end())
    self_->send(link->second, what);
}

template <class ForIngress>
void pool_state::carry_out(const ForIngress& what) {
  if (auto to = ingresses_.find(what.ingress); to != ingresses_.end())
    self_->send(to->second, what);
}

void pool_state::carry_out(const pool::view_changed&) {
  publish();
}

pool_changed pool_state::look() const {
  return {std::make_shared<const pool::pool_view>(pool_->view(self_->clock().now()))};
}

void pool_state::publish() {
  auto now = look();
  for (const auto& listener : listeners_)
    self_->send(listener, now);
}

pool_actor::behavior_type
pool_behavior(pool_actor::stateful_pointer<pool_state> self, pool_options options) {
  self->state.begin(std::move(options));
  return {
    [self](const pool::event& what) { self->state.hear(what); },
    [self](const link_up& what) { self->state.meet(what); },
    [self](const ingress_up& what) { self->state.meet(what); },
    [self](const listen_to_pool& what) { self->state.add(what); },
    [self](const tables_changed& what) { self->state.learn(what); },
    [self](pool_question) { return self->state.look(); },
    [self](tick) { self->state.pass(); },
  };
}

} // namespace assay
