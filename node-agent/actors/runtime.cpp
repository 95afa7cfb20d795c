#include "node-agent/actors/runtime.hpp"

#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/base/overloaded.hpp"

namespace assay::agent {

void runtime_state::begin(std::shared_ptr<replica_deeds> deeds, uplink_actor uplink) {
  deeds_ = std::move(deeds);
  uplink_ = std::move(uplink);
}

void runtime_state::look() {
  if (ended_)
    return;
  advance(life::ticked{self_->clock().now()});
  auto stopping = std::holds_alternative<life::stopping>(state_);
  if (!ended_ && !looking_ && (life::is_observed(state_) || stopping)) {
    looking_ = true;
    auto phase = life::phase_of(state_);
    // An order to stop may come before there is a holder to take it; it is repeated until the end.
    if (stopping)
      deeds_->stop();
    deeds_->look(
      phase >= fabric::replica_phase::ready && phase <= fabric::replica_phase::saturated,
      answer_to_self(true)
    );
  }
  if (!ended_)
    self_->delayed_send(self_, limits::observe_every, look_now{});
}

void runtime_state::take(const deed_done& what) {
  if (what.was_look)
    looking_ = false;
  advance(what.what);
  // A server of somebody else's may be another one although it was never seen away.
  if (what.was_look && !ended_ && deeds_->engine_version() != told_engine_)
    report();
}

void runtime_state::stop(const stop_order& order) {
  advance(life::stop_asked{self_->clock().now(), order.why, order.grace});
}

void runtime_state::report() {
  if (!life::is_told(deeds_->rules(), state_))
    return;
  auto report = deeds_->describe();
  report.phase = life::phase_of(state_);
  report.reason = life::reason_of(state_);
  told_engine_ = report.engine;
  self_->send(uplink_, std::move(report));
}

void runtime_state::advance(const life::event& what) {
  if (ended_)
    return;
  auto [next, effects] = life::advance(deeds_->rules(), state_, what);
  state_ = std::move(next);
  for (const auto& effect : effects)
    carry_out(effect);
  if (std::holds_alternative<life::gone>(state_)) {
    ended_ = true;
    deeds_->forget();
    self_->quit();
  }
}

void runtime_state::carry_out(const life::effect& what) {
  std::visit(
    overloaded{
      [&](const life::launch&) { deeds_->launch(answer_to_self(false)); },
      [&](const life::prove&) { deeds_->prove(answer_to_self(false)); },
      [&](const life::stop_runtime&) { deeds_->stop(); },
      [&](const life::report&) { report(); },
    },
    what
  );
}

deed_answer runtime_state::answer_to_self(bool is_look) {
  return [self = runtime_actor{self_}, is_look](life::event what) {
    caf::anon_send(self, deed_done{std::move(what), is_look});
  };
}

runtime_actor::behavior_type runtime(
  runtime_actor::stateful_pointer<runtime_state> self,
  std::shared_ptr<replica_deeds> deeds,
  uplink_actor uplink
) {
  self->state.begin(std::move(deeds), std::move(uplink));
  self->send(self, look_now{});
  return {
    [self](look_now) { self->state.look(); },
    [self](const deed_done& what) { self->state.take(what); },
    [self](const stop_order& order) { self->state.stop(order); },
    [self](report_again) { self->state.report(); },
  };
}

} // namespace assay::agent
