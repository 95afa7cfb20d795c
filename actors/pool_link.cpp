#include "actors/pool_link.hpp"

#include "src/base/peer_limits.hpp"

#include <algorithm>

namespace assay {

using std::chrono::milliseconds;

void pool_link_state::begin(pool_link_options options) {
  options_ = std::move(options);
  view_ = std::make_shared<const pool::pool_view>(pool::pool_view{
    .pool = options_.pool, .epoch = options_.epoch});
}

// -- from INGRESS to the leader

void pool_link_state::pass_on(const pool::event& what) {
  std::visit([this](const auto& one) { say(one); }, what);
}

void pool_link_state::say(const pool::ingress_reported& what) {
  auto now = self_->clock().now().time_since_epoch();
  peers::ingress_report report{
    .epoch = options_.epoch,
    .pool = options_.pool,
    .at = std::chrono::floor<milliseconds>(now),
    .holdings = what.holdings,
    .settled = what.settled,
    .seq = what.seq,
  };
  // Those beyond are taken for used by the pool a little later, by itself.
  report.settled.resize(std::min(report.settled.size(), limits::service_items));
  options_.say(report);
}

void pool_link_state::say(const pool::ticket_asked& what) {
  auto left = std::chrono::floor<milliseconds>(what.deadline - self_->clock().now());
  auto outcome = options_.say(peers::ticket_ask{
    .epoch = options_.epoch,
    .pool = options_.pool,
    .ticket = what.ticket,
    .traffic = what.traffic,
    .project = what.project,
    .acceptable = what.acceptable,
    .excluded = what.excluded,
    .left = std::clamp<milliseconds>(left, milliseconds{0}, limits::queue_wait),
  });
  // When the way is broken, it is asked again as soon as it is not.
  if (outcome == peers::send_outcome::queued || outcome == peers::send_outcome::down)
    return;
  self_->send(
    options_.ingress,
    pool::refuse_ticket{
      .ingress = options_.name,
      .ticket = what.ticket,
      .why = pool::ticket_refusal::queue_full,
      .retry_after = limits::retry_after_default}
  );
}

void pool_link_state::say(const pool::ticket_withdrawn& what) {
  // One that is lost costs the pool an admission, which comes back as nobody's.
  options_.say(peers::ticket_withdraw{options_.epoch, options_.pool, what.ticket});
}

// -- from the leader to INGRESS

void pool_link_state::add(const listen_to_pool& what) {
  listeners_.push_back(what.who);
  self_->send(what.who, look());
}

pool_changed pool_link_state::look() const {
  return {view_};
}

void pool_link_state::hear(const peers::pool_state& what) {
  view_ = std::make_shared<const pool::pool_view>(what.view);
  self_->send(options_.ingress, look());
  for (const auto& listener : listeners_)
    self_->send(listener, look());
}

/// The end counts from our own report that the leader had heard, which was before it said this.
void pool_link_state::hear(const peers::lease& what) {
  auto heard = std::min(steady_time{what.heard}, self_->clock().now());
  pool::grant granted{
    .credits = what.credits,
    .until = heard + what.left - limits::lease_margin,
    .degraded = what.degraded,
    .waiting = what.waiting,
  };
  self_->send(
    options_.ingress, pool::grant_lease{options_.name, what.endpoint, granted, what.number}
  );
}

void pool_link_state::hear(const peers::ticket_admit& what) {
  self_->send(
    options_.ingress,
    pool::admit_ticket{options_.name, what.ticket, what.implementation, what.endpoint}
  );
}

void pool_link_state::hear(const peers::ticket_refuse& what) {
  self_->send(
    options_.ingress,
    pool::refuse_ticket{options_.name, what.ticket, what.why, what.retry_after, what.measured}
  );
}

pool_link_actor::behavior_type pool_link_behavior(
  pool_link_actor::stateful_pointer<pool_link_state> self, pool_link_options options
) {
  self->state.begin(std::move(options));
  return {
    [self](const pool::event& what) { self->state.pass_on(what); },
    [](const link_up&) {},
    [](const ingress_up&) {}, // It has one ingress, and knows it.
    [self](const listen_to_pool& what) { self->state.add(what); },
    [](const tables_changed&) {},
    [self](pool_question) { return self->state.look(); },
    [](tick) {},
    [self](const peers::pool_state& what) { self->state.hear(what); },
    [self](const peers::lease& what) { self->state.hear(what); },
    [self](const peers::ticket_admit& what) { self->state.hear(what); },
    [self](const peers::ticket_refuse& what) { self->state.hear(what); },
  };
}

} // namespace assay
