#include "actors/node_link.hpp"

#include "src/base/log.hpp"
#include "src/ledger/host_duty.hpp"
#include "src/ledger/observed.hpp"
#include "src/ledger/serving.hpp"
#include "src/wire/record_codec.hpp"

#include <algorithm>
#include <utility>

namespace assay {

using fabric::replica_phase;

namespace {

pool::phase phase_of(fabric::replica_phase phase) {
  // The pool does not care how a replica ended; the reason says it.
  if (phase == fabric::replica_phase::failed)
    return pool::phase::gone;
  return static_cast<pool::phase>(phase);
}
static_assert(static_cast<int>(fabric::replica_phase::gone) == static_cast<int>(pool::phase::gone));

fabric::artifact_manifest manifest_of(const catalog::artifact& a) {
  return {.id = a.id, .kind = a.kind, .location = a.location, .files = a.files};
}

/// The command as the agent gets it; nothing when a declaration went away meanwhile.
std::optional<fabric::coordinator_message>
command_of(const ledger::tables& t, const pool::start_replica& s) {
  const auto* artifact = ledger::find(t.artifacts, s.launch.artifact);
  const auto* profile = ledger::find(t.profiles, s.launch.profile);
  if (!artifact || !profile)
    return {};
  if (artifact->what.kind == catalog::artifact_kind::adopted)
    return fabric::adopt_replica{
      .epoch = s.epoch,
      .replica = s.replica,
      .implementation = s.launch.implementation,
      .model = s.launch.model,
      .generation = s.generation,
      .profile = s.launch.profile,
      .profile_text = profile->what.text,
      .url = artifact->what.location,
      .slots = s.launch.slots,
    };
  return fabric::start_replica{
    .epoch = s.epoch,
    .replica = s.replica,
    .implementation = s.launch.implementation,
    .model = s.launch.model,
    .generation = s.generation,
    .profile = s.launch.profile,
    .profile_text = profile->what.text,
    .artifact = manifest_of(artifact->what),
    .slots = s.launch.slots,
    .limits = s.launch.limits,
    .args = s.launch.args,
    .devices = s.devices,
    .plaintext_accepted = s.launch.plaintext,
  };
}

} // namespace

// -- what the agent says

void node_link_state::hear(agent_said& what) {
  if (what.session < options_.session)
    return;
  if (what.session > options_.session) {
    // The agent came back: everything it has is reported again under the new session.
    options_.session = what.session;
    connected_ = true;
    replicas_.clear();
    inventory_.reset();
    told_.reset();
    // What was asked for in the old session may never have arrived.
    std::erase_if(artifacts_, [](const auto& one) {
      return one.second.state == fabric::artifact_state::absent
             || one.second.state == fabric::artifact_state::verifying;
    });
  }
  std::visit([this](auto& said) { hear(said); }, what.message);
}

void node_link_state::hear(fabric::inventory& what) {
  inventory_ = std::move(what);
  families_.clear();
  for (const auto& device : inventory_->devices)
    families_.push_back(device.family);
  met_in_ = options_.session;
  meet_pools();
  for (const auto& id : my_pools())
    report_host(pools_.pools.at(id));
  // A changed stack belongs to all of the host's replicas at once.
  for (auto [generation, report] : std::map{replicas_})
    hear(report);
  stop_strays();
  note_stack();
  tell_duty();
  want_artifacts();
}

void node_link_state::hear(fabric::replica_report& what) {
  auto address =
    what.address.empty() ? std::string{} : what.address + ":" + std::to_string(what.port);
  tell_pools(pool::replica_reported{
    .replica = what.replica,
    .host = options_.host,
    .session = options_.session,
    .implementation = what.implementation,
    .generation = what.generation,
    .phase = phase_of(what.phase),
    .address = std::move(address),
    .secret = what.secret,
    .fingerprint = inventory_ ? stack_of(what).sum : what.fingerprint,
    .slots = what.slots,
    .devices = what.devices,
    .reason = what.reason,
    .was_ordered = what.phase == replica_phase::gone,
    .loopback = what.loopback,
  });
  auto ended =
    what.phase == fabric::replica_phase::gone || what.phase == fabric::replica_phase::failed;
  auto serves = pool::serves(phase_of(what.phase));
  if (serves && what.adopted && tables_.tables)
    for (auto& change :
         ledger::changes_for_adopted(*tables_.tables, what.implementation, options_.host))
      record(std::move(change), "the adopted server answers", ledger::trust::claimed);
  if (is_stray(what))
    stop_stray(what);
  auto generation = what.generation;
  auto implementation = what.implementation;
  replicas_[generation] = std::move(what);
  note_stack();
  // What ended is kept for people as long as nothing newer of its implementation runs.
  if (!ended)
    std::erase_if(replicas_, [&](const auto& one) {
      return one.first < generation && one.second.phase >= fabric::replica_phase::gone
             && one.second.implementation == implementation;
    });
}

/// The host's, and of a server that somebody else started also what it says of itself.
ledger::reported_stack node_link_state::stack_of(const fabric::replica_report& what) const {
  const auto& host = inventory_->fingerprint;
  return ledger::with_engine({host.sum, host.fields}, what.adopted ? what.engine : std::string{});
}

void node_link_state::hear(const fabric::artifact_report& what) {
  artifacts_[what.manifest] = what;
  for (const auto& id : my_pools())
    report_host(pools_.pools.at(id));
  auto matches = what.state == fabric::artifact_state::verified;
  if (!tables_.tables || (!matches && what.state != fabric::artifact_state::mismatched))
    return;
  for (auto& change : ledger::changes_for(
         *tables_.tables, {what.artifact, what.manifest, options_.host, matches, what.problem}
       ))
    record(std::move(change), matches ? "files verified on the host" : "files do not match");
}

/// An agent tells them family by family.
void node_link_state::hear(fabric::native_samples& what) {
  if (what.samples.empty())
    return;
  auto& of_family = samples_[what.samples.front().family];
  of_family = {std::move(what.samples), self_->clock().now()};
}

void node_link_state::lose(const agent_lost& what) {
  if (what.session != options_.session)
    return;
  connected_ = false;
  log::warn("agent_lost", {{"host", options_.host.value}, {"reason", what.reason}});
  for (const auto& id : met_)
    tell_lost(id, pool::host_loss::silent);
}

void node_link_state::tell_lost(const pool_id& id, pool::host_loss how) {
  if (auto pool = pools_.pools.find(id); pool != pools_.pools.end())
    self_->send(pool->second, pool::event{pool::host_lost{options_.host, met_in_, how}});
}

// -- what pools and the ledger say

void node_link_state::start(const pool::start_replica& what) {
  if (!tables_.tables)
    return;
  if (auto command = command_of(*tables_.tables, what))
    options_.send(options_.host, *command);
}

void node_link_state::stop(const pool::stop_replica& what) {
  options_.send(
    options_.host,
    fabric::stop_replica{
      .epoch = what.epoch,
      .replica = what.replica,
      .generation = what.generation,
      .reason = what.reason,
    }
  );
}

void node_link_state::learn(const tables_changed& what) {
  tables_ = what;
  // From now on the tables speak for themselves: the same fact may come true a second time.
  std::erase_if(proposed_, [](const auto& one) { return one.second; });
  meet_pools();
  stop_strays();
  note_stack();
  tell_duty();
  want_artifacts();
  for (const auto& [manifest, report] : artifacts_) {
    if (report.state != fabric::artifact_state::verified)
      continue;
    for (auto& change :
         ledger::changes_for(*tables_.tables, {report.artifact, manifest, options_.host, true, {}}))
      record(std::move(change), "files verified on the host");
  }
}

/// Puts the host's stack on record, unless it is.
void node_link_state::note_stack() {
  auto pools = my_pools();
  if (!tables_.tables || !inventory_ || pools.empty())
    return;
  const auto& stack = inventory_->fingerprint;
  if (auto change = ledger::change_for(
        *tables_.tables, options_.host, pools.front(), stack.sum, stack.fields
      ))
    record(std::move(*change), "stack reported by the agent");
  for (const auto& [generation, report] : replicas_)
    if (report.adopted && !report.engine.empty())
      note_stack_of(report, pools.front());
}

/// Puts what an adopted server runs on on record, so that it can be qualified there.
void node_link_state::note_stack_of(const fabric::replica_report& adopted, const pool_id& pool) {
  const auto* known = ledger::find(tables_.tables->implementations, adopted.implementation);
  if (!known || adopted.phase >= replica_phase::gone)
    return;
  auto stack = stack_of(adopted);
  auto name = ledger::adopted_on(options_.host, known->what.artifact);
  if (auto change = ledger::change_for(*tables_.tables, name, pool, stack.sum, stack.fields))
    record(std::move(*change), "version reported by the adopted server");
}

/// The agent keeps what it was told beyond its session, so each one begins with how things are.
void node_link_state::tell_duty() {
  if (!tables_.tables || !inventory_ || !connected_)
    return;
  const auto& host = options_.host;
  auto why = ledger::why_kept(*tables_.tables, host);
  fabric::drain_host now{
    tables_.epoch, !why.empty(), why, ledger::decided_at(*tables_.tables, host)};
  if (std::exchange(told_, now) != now)
    options_.send(host, now);
}

/// Has the files of every artifact that could run here verified before it is to be launched.
void node_link_state::want_artifacts() {
  if (!tables_.tables || !connected_)
    return;
  for (const auto& id : my_pools()) {
    for (const auto& wanted : ledger::wanted_in(*tables_.tables, id)) {
      const auto* artifact = ledger::find(tables_.tables->artifacts, wanted.launch.artifact);
      if (artifact && artifact->what.kind != catalog::artifact_kind::adopted
          && !artifacts_.contains(wanted.launch.manifest)) {
        artifacts_[wanted.launch.manifest] = {.artifact = artifact->what.id};
        options_.send(
          options_.host,
          fabric::verify_artifact{.epoch = tables_.epoch, .artifact = manifest_of(artifact->what)}
        );
      }
    }
  }
}

void node_link_state::learn(const pools_known& what) {
  pools_ = what;
  meet_pools();
}

host_answer node_link_state::answer() const {
  host_answer what{
    options_.host,
    options_.session,
    connected_,
    inventory_.value_or(fabric::inventory{}),
    {},
    replicas_,
    events_};
  for (const auto& [family, one] : samples_) {
    auto since =
      std::chrono::duration_cast<std::chrono::milliseconds>(self_->clock().now() - one.at);
    for (auto sample : one.samples) {
      sample.age += since;
      what.samples.push_back(std::move(sample));
    }
  }
  return what;
}

void node_link_state::stop_strays() {
  for (const auto& [generation, report] : replicas_)
    if (is_stray(report))
      stop_stray(report);
}

/// What no pool of this host can know of has nobody else who would end it: its host left the pool,
/// or the pool is no longer declared.
bool node_link_state::is_stray(const fabric::replica_report& report) const {
  if (!tables_.tables || !inventory_ || !connected_ || report.phase >= replica_phase::stopping)
    return false;
  auto mine = ledger::pools_of(*tables_.tables, options_.host, families_);
  const auto* known = ledger::find(tables_.tables->implementations, report.implementation);
  return known ? std::ranges::find(mine, known->what.pool) == mine.end() : mine.empty();
}

void node_link_state::stop_stray(const fabric::replica_report& report) const {
  options_.send(
    options_.host,
    fabric::stop_replica{
      .epoch = tables_.epoch,
      .replica = report.replica,
      .generation = report.generation,
      .reason = "no pool of this host has it",
    }
  );
}

// -- pieces

std::vector<pool_id> node_link_state::my_pools() const {
  if (!tables_.tables)
    return {};
  auto mine = ledger::pools_of(*tables_.tables, options_.host, families_);
  std::erase_if(mine, [this](const auto& id) { return !pools_.pools.contains(id); });
  return mine;
}

void node_link_state::report_host(const pool_actor& to) const {
  if (!inventory_ || !connected_)
    return;
  pool::host_reported report{
    .host = options_.host,
    .session = options_.session,
    .memory_bytes = inventory_->host_memory_bytes,
    .fingerprint = inventory_->fingerprint.sum,
  };
  for (const auto& device : inventory_->devices) {
    if (device.family == catalog::family::cpu)
      continue;
    if (device.state == fabric::device_state::offered)
      report.devices.push_back(device.id);
    else if (device.state != fabric::device_state::withheld)
      report.sick[device.id] = device.why;
  }
  for (const auto& [manifest, artifact] : artifacts_)
    if (artifact.state == fabric::artifact_state::verified)
      report.verified.push_back(manifest);
  self_->send(to, pool::event{std::move(report)});
}

void node_link_state::tell_pools(const pool::event& what) {
  for (const auto& id : my_pools())
    self_->send(pools_.pools.at(id), what);
}

/// A pool that is new to this host gets everything that the agent said so far; one that it belongs
/// to no more hears that the host is gone, which is what becomes of a revoked host.
void node_link_state::meet_pools() {
  auto mine = my_pools();
  for (const auto& id : std::exchange(met_, {})) {
    if (std::ranges::find(mine, id) == mine.end())
      tell_lost(id, pool::host_loss::left);
    else
      met_.insert(id);
  }
  if (!inventory_ || !connected_)
    return;
  for (const auto& id : mine) {
    if (!met_.insert(id).second)
      continue;
    const auto& pool = pools_.pools.at(id);
    self_->send(pool, link_up{options_.host, node_link_actor{self_}});
    report_host(pool);
    for (auto [generation, report] : std::map{replicas_})
      hear(report);
  }
}

node_link_actor::behavior_type node_link_behavior(
  node_link_actor::stateful_pointer<node_link_state> self, node_link_options options
) {
  self->state.begin(std::move(options));
  return {
    [self](agent_said& what) { self->state.hear(what); },
    [self](const agent_lost& what) { self->state.lose(what); },
    [self](const pool::start_replica& what) { self->state.start(what); },
    [self](const pool::stop_replica& what) { self->state.stop(what); },
    [self](const tables_changed& what) { self->state.learn(what); },
    [self](const pools_known& what) { self->state.learn(what); },
    [self](host_question) { return self->state.answer(); },
  };
}

} // namespace assay
