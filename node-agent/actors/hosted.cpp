#include "node-agent/actors/hosted.hpp"

#include "node-agent/families/cpu.hpp"
#include "node-agent/host/artifact_check.hpp"
#include "src/base/log.hpp"
#include "src/base/overloaded.hpp"

#include <algorithm>

namespace assay::agent {

namespace {

/// A replica whose deeds are done on the pools. The shared pointer keeps it until the last deed is
/// over, also after its actor ended.
class hosted_replica : public replica_deeds {
public:
  hosted_replica(std::unique_ptr<replica> what, work_pool& quick, work_pool& slow)
    : replica_{std::move(what)}, quick_{quick}, slow_{slow} {}

  void launch(deed_answer answer) override {
    slow_.post([r = replica_, answer = std::move(answer)] { answer(r->launch()); });
  }
  void look(bool serving, deed_answer answer) override {
    quick_.post([r = replica_, serving, answer = std::move(answer)] { answer(r->look(serving)); });
  }
  void prove(deed_answer answer) override {
    slow_.post([r = replica_, answer = std::move(answer)] { answer(r->prove()); });
  }
  void stop() override { replica_->stop(); }
  void forget() override { replica_->forget(); }
  fabric::replica_report describe() const override { return replica_->describe(); }
  std::string engine_version() const override { return replica_->engine_version(); }
  const life::rules& rules() const override { return replica_->rules(); }

private:
  std::shared_ptr<replica> replica_;
  work_pool& quick_;
  work_pool& slow_;
};

fabric::artifact_report
check_and_report(const fabric::artifact_manifest& artifact, digest_cache& digests) {
  catalog::artifact declared;
  declared.id = artifact.id;
  declared.files = artifact.files;
  fabric::artifact_report report{artifact.id, catalog::manifest_digest(declared)};
  auto checked = check_artifact(artifact.location, artifact.files, digests);
  if (checked) {
    report.state = fabric::artifact_state::verified;
    report.checked_bytes = checked->checked_bytes;
    report.total_bytes = checked->total_bytes;
    return report;
  }
  report.state = checked.error().fault == artifact_fault::mismatched
                   ? fabric::artifact_state::mismatched
                   : fabric::artifact_state::unreadable;
  report.problem = to_text(checked.error().why);
  return report;
}

} // namespace

hosted::hosted(replica_surroundings& around, work_pool& quick, work_pool& slow)
  : around_{around}, quick_{quick}, slow_{slow} {}

void hosted::send_through(message_sender sender) {
  std::lock_guard guard{mutex_};
  sender_ = std::move(sender);
}

result<std::shared_ptr<replica_deeds>, problem>
hosted::make_replica(const order& what, artifact_answer answer) {
  auto made = replica::make(around_, what, std::move(answer));
  if (!made)
    return unexpected{made.error()};
  return std::shared_ptr<replica_deeds>{
    std::make_shared<hosted_replica>(std::move(*made), quick_, slow_)};
}

result<std::shared_ptr<replica_deeds>, problem>
hosted::take_over(const std::string& directory, artifact_answer answer) {
  auto taken = replica::take_over(around_, directory, std::move(answer));
  if (!taken)
    return unexpected{taken.error()};
  return std::shared_ptr<replica_deeds>{
    std::make_shared<hosted_replica>(std::move(*taken), quick_, slow_)};
}

void hosted::verify(const fabric::artifact_manifest& artifact, artifact_answer answer) {
  slow_.post([this, artifact, answer = std::move(answer)] {
    answer(check_and_report(artifact, *around_.digests));
    if (auto saved = around_.digests->save(); !saved)
      log::warn("digest_cache_not_saved", {{"why", to_text(saved.error())}});
  });
}

void hosted::watch(std::vector<std::shared_ptr<watched_family>> families) {
  families_ = std::move(families);
}

void hosted::forgive(wall_ms before) {
  for (const auto& one : families_)
    one->forgive(before);
}

bool hosted::send(const fabric::agent_message& message) {
  std::lock_guard guard{mutex_};
  return sender_ && sender_(message);
}

cpu_family::cpu_family(host_stack& stack, std::vector<std::string> runtimes, work_pool& pool)
  : stack_{stack}, runtimes_{std::move(runtimes)}, pool_{pool} {}

void cpu_family::sample(std::function<void(family_news)> answer) {
  pool_.post([answer = std::move(answer)] { answer({to_fabric(sample_cpu(wall_now())), {}, {}}); });
}

void cpu_family::discover(std::function<void(fabric::inventory)> answer) {
  pool_.post([this, answer = std::move(answer)] { answer(discover_now()); });
}

fabric::inventory cpu_family::discover_now() {
  fabric::inventory found;
  found.runtimes = runtimes_;
  found.fingerprint = stack_.collect();
  auto facts = discover_cpu();
  if (!facts) {
    log::error("family_without_devices", {{"family", "cpu"}, {"why", to_text(facts.error())}});
    return found;
  }
  found.cpus = facts->cpus;
  found.host_memory_bytes = facts->memory_bytes;
  return found;
}

accelerator_family::accelerator_family(std::shared_ptr<watched_family> family, host_stack& stack)
  : family_{std::move(family)}, stack_{stack} {}

void accelerator_family::sample(std::function<void(family_news)> answer) {
  thread_.post([this, answer = std::move(answer)] {
    auto state = family_->look();
    auto found = inventory_of(state);
    answer({to_fabric(state.samples), std::move(state.events), std::move(found)});
  });
}

void accelerator_family::discover(std::function<void(fabric::inventory)> answer) {
  // Each look says it already; this is what is known in between.
  answer(inventory_of(family_->known()));
}

void accelerator_family::look_now() {
  inventory_of(family_->look());
}

fabric::inventory accelerator_family::inventory_of(const family_state& state) {
  fabric::inventory found;
  found.devices = state.devices;
  found.fingerprint = stack_.learn(family_->family(), state.stack);
  return found;
}

std::vector<fabric::native_sample> to_fabric(const std::vector<telemetry::sample>& samples) {
  std::vector<fabric::native_sample> all;
  all.reserve(samples.size());
  for (const auto& one : samples)
    all.push_back(to_fabric(one));
  return all;
}

fabric::native_sample to_fabric(const telemetry::sample& sample) {
  fabric::native_sample result;
  result.family = catalog::parse_family(sample.family).value_or(catalog::family::plugin);
  result.name = sample.name;
  result.unit = sample.unit;
  result.device = sample.device;
  result.at = sample.taken;
  result.value = std::visit(
    overloaded{
      [](const std::string& text) -> fabric::native_value { return text; },
      [](const telemetry::unsupported&) -> fabric::native_value { return fabric::unsupported{}; },
      [](const telemetry::unavailable&) -> fabric::native_value { return fabric::unavailable{}; },
      [](const telemetry::failed& f) -> fabric::native_value {
        return fabric::failed{static_cast<std::int32_t>(f.code)};
      },
      [](auto number) -> fabric::native_value { return static_cast<double>(number); },
    },
    sample.reading
  );
  return result;
}

std::vector<std::filesystem::path> find_replicas(const std::filesystem::path& replicas) {
  std::vector<std::filesystem::path> result;
  std::error_code none;
  for (std::filesystem::directory_iterator entry{replicas, none}, end; !none && entry != end;
       entry.increment(none))
    if (std::filesystem::exists(entry->path() / "order.capnp", none))
      result.push_back(entry->path());
  std::sort(result.begin(), result.end());
  return result;
}

} // namespace assay::agent
