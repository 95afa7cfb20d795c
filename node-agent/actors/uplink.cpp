#include "node-agent/actors/uplink.hpp"

#include "node-agent/actors/runtime.hpp"
#include "src/base/device_limits.hpp"
#include "src/base/limits.hpp"
#include "src/base/log.hpp"

#include <algorithm>
#include <utility>

namespace assay::agent {

namespace {

fabric::native_samples told_at(wall_ms now, std::vector<fabric::native_sample> samples) {
  for (auto& sample : samples) // A clock that was set back makes nothing younger than new.
    sample.age = std::chrono::milliseconds{std::max<std::int64_t>(now.value - sample.at.value, 0)};
  return {std::move(samples)};
}

bool has_ended(const fabric::replica_report& report) {
  return report.phase == fabric::replica_phase::gone
         || report.phase == fabric::replica_phase::failed;
}

fabric::replica_report ended_report(
  const replica_id& replica, std::uint64_t generation, fabric::replica_phase phase, std::string why
) {
  fabric::replica_report report;
  report.replica = replica;
  report.generation = generation;
  report.phase = phase;
  report.reason = std::move(why);
  return report;
}

} // namespace

void uplink_state::open(const session_began& what) {
  has_session_ = true;
  log::info(
    "session_began",
    {{"coordinator", what.coordinator},
     {"epoch", std::to_string(what.welcome.epoch)},
     {"host", what.welcome.identity.value}}
  );
  if (!coordinator_.empty() && coordinator_ != what.coordinator)
    log::info("coordinator_changed", {{"from", coordinator_}, {"to", what.coordinator}});
  coordinator_ = what.coordinator;
  // The inventory first: it says on which stack the replicas run.
  if (inventory_)
    tell(*inventory_);
  if (!events_.empty())
    tell(newest_events());
  for (const auto& [id, report] : artifacts_)
    tell(report);
  for (const auto& [which, report] : reports_)
    tell(report);
  std::erase_if(reports_, [](const auto& entry) { return has_ended(entry.second); });
}

void uplink_state::close(const session_lost& what) {
  if (std::exchange(has_session_, false))
    log::warn("session_lost", {{"coordinator", coordinator_}, {"why", what.why}});
  answer_offer(unexpected{problem{
    problem_kind::unavailable,
    "the session ended before the coordinator said what became of the offer",
    offered_.url,
    "adopt again; what was taken already is taken once"}});
}

void uplink_state::hear(coordinator_said& what) {
  std::visit([this](const auto& command) { carry_out(command); }, what.message);
}

void uplink_state::carry_out(const fabric::start_replica& command) {
  begin_replica(command);
}

void uplink_state::carry_out(const fabric::adopt_replica& command) {
  begin_replica(command);
}

template <class Command>
void uplink_state::begin_replica(const Command& command) {
  key which{command.replica, command.generation};
  if (auto known = reports_.find(which); known != reports_.end()) {
    tell(known->second);
    return;
  }
  if (runtimes_.contains(which)) // Its first report is under way.
    return;
  if (auto why = refusal(command)) {
    report_failed(command, std::move(*why));
    return;
  }
  auto deeds = host_->make_replica(command, answer_to_self());
  if (!deeds) {
    report_failed(command, to_text(deeds.error()));
    return;
  }
  // One replica id runs once: what an older generation still does is over.
  for (const auto& [other, actor] : runtimes_)
    if (other.first == command.replica && other.second < command.generation)
      end_replica(other, "a newer generation replaces it", {});
  run(which, std::move(*deeds));
}

template <class Command>
std::optional<std::string> uplink_state::refusal(const Command& command) const {
  if (draining_)
    return "this host drains: " + *draining_;
  if (runtimes_.size() >= limits::replicas_per_host)
    return "this host has " + std::to_string(runtimes_.size()) + " replicas already";
  for (const auto& [other, actor] : runtimes_)
    if (other.first == command.replica && other.second > command.generation)
      return "generation " + std::to_string(other.second) + " of it runs already";
  if constexpr (requires { command.devices; })
    for (const auto& [other, report] : reports_)
      for (const auto& device : report.devices)
        if (other.first != command.replica && !has_ended(report)
            && std::find(command.devices.begin(), command.devices.end(), device) != command.devices.end())
          return "device " + device + " belongs to " + other.first.value;
  return {};
}

template <class Command>
void uplink_state::report_failed(const Command& command, std::string why) {
  // Told to take nothing on is no failure of what is not taken on.
  auto phase = draining_ ? fabric::replica_phase::gone : fabric::replica_phase::failed;
  auto report = ended_report(command.replica, command.generation, phase, std::move(why));
  report.implementation = command.implementation;
  learn(report);
}

void uplink_state::run(const key& which, std::shared_ptr<replica_deeds> deeds) {
  // Linked: RUNTIMEs end with UPLINK, their replicas do not.
  auto actor = self_->spawn<caf::linked>(runtime, std::move(deeds), uplink_actor{self_});
  runtimes_.insert_or_assign(which, std::move(actor));
}

void uplink_state::take_over(const replica_found& what) {
  auto deeds = host_->take_over(what.directory, answer_to_self());
  if (!deeds) {
    log::warn("replica_not_taken_over", {{"why", to_text(deeds.error())}});
    return;
  }
  auto report = (*deeds)->describe();
  log::info("replica_taken_over", {{"replica", report.replica.value}});
  run({report.replica, report.generation}, std::move(*deeds));
}

void uplink_state::carry_out(const fabric::stop_replica& command) {
  key which{command.replica, command.generation};
  if (runtimes_.contains(which)) {
    end_replica(which, command.reason, command.grace);
    return;
  }
  // It ended before, or never was here; either way the coordinator learns that it is gone.
  auto known = reports_.find(which);
  if (known != reports_.end())
    tell(known->second);
  else
    tell(ended_report(
      command.replica, command.generation, fabric::replica_phase::gone, "there is no such replica"
    ));
}

void uplink_state::end_replica(const key& which, std::string why, std::chrono::milliseconds grace) {
  auto found = runtimes_.find(which);
  if (found != runtimes_.end())
    self_->send(found->second, stop_order{std::move(why), grace});
}

void uplink_state::carry_out(const fabric::verify_artifact& command) {
  host_->verify(command.artifact, answer_to_self());
}

void uplink_state::carry_out(const fabric::drain_host& command) {
  auto now = command.on ? std::optional{command.reason} : std::nullopt;
  if (std::exchange(draining_, now) != now)
    log::info("drain", {{"on", command.on ? "yes" : "no"}, {"why", command.reason}});
  if (!command.on && command.decided_at != wall_ms{})
    host_->forgive(command.decided_at);
}

void uplink_state::learn(fabric::replica_report& report) {
  key which{report.replica, report.generation};
  log::info(
    "replica",
    {{"replica", report.replica.value},
     {"generation", std::to_string(report.generation)},
     {"phase", std::string{life::name(report.phase)}},
     {"port", std::to_string(report.port)},
     {"why", report.reason}}
  );
  tell(report);
  if (!has_ended(report)) {
    reports_.insert_or_assign(which, std::move(report));
    return;
  }
  runtimes_.erase(which);
  answer_if_stopped();
  // Told to a session it is over; else the next session has to hear of it.
  if (!has_session_)
    reports_.insert_or_assign(which, std::move(report));
  else
    reports_.erase(which);
}

void uplink_state::learn(fabric::artifact_report& report) {
  tell(report);
  artifacts_.insert_or_assign(report.artifact, std::move(report));
}

/// `cpu` says what the host is; every family adds its devices, and any of them may have changed the
/// stack.
void uplink_state::learn(family_found& what) {
  devices_[what.family] = std::move(what.found.devices);
  auto next = what.family == catalog::family::cpu ? std::move(what.found)
                                                  : inventory_.value_or(fabric::inventory{});
  if (what.family != catalog::family::cpu)
    next.fingerprint = std::move(what.found.fingerprint);
  next.devices.clear();
  for (const auto& [family, devices] : devices_)
    next.devices.insert(next.devices.end(), devices.begin(), devices.end());
  auto changed = inventory_ && inventory_->fingerprint != next.fingerprint;
  inventory_ = std::move(next);
  tell(*inventory_);
  if (!changed)
    return;
  log::warn("stack_changed", {{"now", to_text(inventory_->fingerprint.sum)}});
  for (const auto& [which, actor] : runtimes_)
    self_->send(actor, report_again{});
}

void uplink_state::learn(family_figures& what) {
  samples_[what.family] = what.samples;
  tell(told_at(wall_now(), std::move(what.samples)));
}

void uplink_state::learn(family_events& what) {
  for (const auto& event : what.events)
    if (const auto& known = events_[what.family];
        std::find(known.begin(), known.end(), event) == known.end())
      log::warn(
        "device_event",
        {{"device", event.device},
         {"name", event.name},
         {"code", std::to_string(event.code)},
         {"text", event.text}}
      );
  events_[what.family] = std::move(what.events);
  tell(newest_events());
}

fabric::device_events uplink_state::newest_events() const {
  fabric::device_events all;
  for (const auto& [family, events] : events_)
    all.events.insert(all.events.end(), events.begin(), events.end());
  std::stable_sort(all.events.begin(), all.events.end(), [](const auto& a, const auto& b) {
    return a.at < b.at;
  });
  if (all.events.size() > limits::device_events)
    all.events.erase(all.events.begin(), all.events.end() - limits::device_events);
  return all;
}

void uplink_state::offer(
  const adopt_question& question, caf::typed_response_promise<adopt_answer> answer
) {
  answer_offer(unexpected{problem{
    problem_kind::unavailable,
    "another server was offered meanwhile",
    offered_.url,
    "assay get implementations shows whether it was taken; else adopt it again"}});
  const auto number = offered_.number + 1;
  offered_ = question.offer;
  offered_.number = number;
  when_offered_ = std::move(answer);
  if (!host_->send(offered_))
    answer_offer(unexpected{problem{
      problem_kind::unavailable,
      "the agent has no session with a coordinator",
      offered_.url,
      "look into the agent's log for `session_lost`, and try again"}});
}

void uplink_state::carry_out(const fabric::adopt_outcome& outcome) {
  if (outcome.number != offered_.number)
    return; // Of an offer that was answered already.
  if (!outcome.implementation.value.empty())
    return answer_offer(outcome.implementation);
  answer_offer(unexpected{problem{problem_kind::refused, outcome.what, offered_.url, outcome.next}}
  );
}

void uplink_state::answer_offer(result<implementation_id, problem> taken) {
  if (when_offered_.pending())
    when_offered_.deliver(adopt_answer{std::move(taken)});
}

status_answer uplink_state::status() const {
  status_answer answer{has_session_, {}, {}, draining_.value_or("")};
  for (const auto& [family, samples] : samples_)
    answer.samples.insert(answer.samples.end(), samples.begin(), samples.end());
  for (const auto& [which, report] : reports_)
    if (!has_ended(report))
      answer.replicas.push_back(report);
  return answer;
}

void uplink_state::stop_all_replicas(caf::typed_response_promise<all_stopped> answer) {
  draining_ = "the agent ends";
  when_stopped_ = std::move(answer);
  answer_if_stopped();
  for (const auto& [which, actor] : runtimes_)
    self_->send(actor, stop_order{"the agent ends and was told to stop its replicas", {}});
}

void uplink_state::answer_if_stopped() {
  if (runtimes_.empty() && when_stopped_.pending())
    when_stopped_.deliver(all_stopped{});
}

artifact_answer uplink_state::answer_to_self() {
  return [self = uplink_actor{self_}](fabric::artifact_report report) {
    caf::anon_send(self, std::move(report));
  };
}

void uplink_state::tell(const fabric::agent_message& message) {
  // Without a session nothing is queued: the next one is told everything.
  if (has_session_ && !host_->send(message))
    log::warn("message_not_sent", {{"kind", std::to_string(message.index())}});
}

uplink_actor::behavior_type
uplink(uplink_actor::stateful_pointer<uplink_state> self, std::shared_ptr<host_deeds> host) {
  self->state.begin(std::move(host));
  return {
    [self](const session_began& what) { self->state.open(what); },
    [self](const session_lost& what) { self->state.close(what); },
    [self](coordinator_said& what) { self->state.hear(what); },
    [self](const replica_found& what) { self->state.take_over(what); },
    [self](fabric::replica_report& report) { self->state.learn(report); },
    [self](fabric::artifact_report& report) { self->state.learn(report); },
    [self](family_found& what) { self->state.learn(what); },
    [self](family_figures& what) { self->state.learn(what); },
    [self](family_events& what) { self->state.learn(what); },
    [self](const adopt_question& question) {
      auto answer = self->make_response_promise<adopt_answer>();
      self->state.offer(question, answer);
      return answer;
    },
    [self](status_question) { return self->state.status(); },
    [self](stop_all) {
      auto answer = self->make_response_promise<all_stopped>();
      self->state.stop_all_replicas(answer);
      return answer;
    },
  };
}

} // namespace assay::agent
