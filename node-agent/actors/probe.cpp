#include "node-agent/actors/probe.hpp"

#include "src/base/limits.hpp"

namespace assay::agent {

void probe_state::begin(std::shared_ptr<family_deeds> deeds, uplink_actor uplink) {
  deeds_ = std::move(deeds);
  uplink_ = std::move(uplink);
}

void probe_state::ask() {
  auto now = self_->clock().now();
  ask_for_samples(now);
  ask_for_stack(now);
  self_->delayed_send(self_, limits::sample_every, probe_now{});
}

void probe_state::ask_for_samples(steady_time now) {
  if (!samples_asked_) {
    samples_asked_ = now;
    deeds_->sample([self = probe_actor{self_}](family_news news) {
      caf::anon_send(self, family_sampled{std::move(news)});
    });
    return;
  }
  if (now - *samples_asked_ >= limits::sample_patience)
    say_stale();
}

/// The names stay, so that whoever reads them sees what is missing and not that nothing was there.
void probe_state::say_stale() {
  for (auto& sample : newest_)
    sample.value = fabric::unavailable{};
  if (!newest_.empty())
    self_->send(uplink_, family_figures{deeds_->family(), newest_});
}

void probe_state::ask_for_stack(steady_time now) {
  if (stack_asked_ || (stack_due_ && now < *stack_due_))
    return;
  stack_asked_ = now;
  deeds_->discover([self = probe_actor{self_}](fabric::inventory found) {
    caf::anon_send(self, family_discovered{std::move(found)});
  });
}

void probe_state::learn(family_sampled& what) {
  samples_asked_.reset();
  newest_ = std::move(what.news.samples);
  self_->send(uplink_, family_figures{deeds_->family(), newest_});
  if (what.news.found)
    learn(*std::move(what.news.found));
  if (events_ == what.news.events)
    return;
  events_ = std::move(what.news.events);
  self_->send(uplink_, family_events{deeds_->family(), events_});
}

void probe_state::learn(family_discovered& what) {
  stack_asked_.reset();
  stack_due_ = self_->clock().now() + limits::fingerprint_every;
  learn(std::move(what.inventory));
}

void probe_state::learn(fabric::inventory found) {
  if (inventory_ == found)
    return;
  inventory_ = std::move(found);
  self_->send(uplink_, family_found{deeds_->family(), *inventory_});
}

probe_actor::behavior_type probe(
  probe_actor::stateful_pointer<probe_state> self,
  std::shared_ptr<family_deeds> deeds,
  uplink_actor uplink
) {
  self->state.begin(std::move(deeds), std::move(uplink));
  self->send(self, probe_now{});
  return {
    [self](probe_now) { self->state.ask(); },
    [self](family_sampled& what) { self->state.learn(what); },
    [self](family_discovered& what) { self->state.learn(what); },
  };
}

} // namespace assay::agent
