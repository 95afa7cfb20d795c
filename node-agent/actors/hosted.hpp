#pragma once
// The real deeds behind the agent's actors: replicas of this machine, its CPU family, and the links
// to the coordinators. Blocking work goes to two pools, so that a check of 100 GB of weights never
// keeps a look at a replica waiting.

#include "node-agent/actors/deeds.hpp"
#include "node-agent/families/watched_family.hpp"
#include "node-agent/host/work_pool.hpp"
#include "node-agent/runtime/replica.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace assay::agent {

using message_sender = std::function<bool(const fabric::agent_message&)>;

class hosted : public host_deeds {
public:
  /// `around`, `quick` and `slow` outlive it and every replica made by it.
  hosted(replica_surroundings& around, work_pool& quick, work_pool& slow);

  /// Who takes messages; set before the first session.
  void send_through(message_sender sender);

  result<std::shared_ptr<replica_deeds>, problem>
  make_replica(const order& what, artifact_answer answer) override;
  result<std::shared_ptr<replica_deeds>, problem>
  take_over(const std::string& directory, artifact_answer answer) override;
  void verify(const fabric::artifact_manifest& artifact, artifact_answer answer) override;
  void forgive(wall_ms before) override;
  bool send(const fabric::agent_message& message) override;

  /// Who is to forgive; set before the first session.
  void watch(std::vector<std::shared_ptr<watched_family>> families);

private:
  replica_surroundings& around_;
  work_pool& quick_;
  work_pool& slow_;
  std::mutex mutex_;
  message_sender sender_;
  std::vector<std::shared_ptr<watched_family>> families_;
};

/// The family `cpu` of this machine.
class cpu_family : public family_deeds {
public:
  cpu_family(host_stack& stack, std::vector<std::string> runtimes, work_pool& pool);

  catalog::family family() const override { return catalog::family::cpu; }
  void sample(std::function<void(family_news)> answer) override;
  void discover(std::function<void(fabric::inventory)> answer) override;

  /// The same, on this thread: what the agent knows before it dials.
  fabric::inventory discover_now();

private:
  host_stack& stack_;
  std::vector<std::string> runtimes_;
  work_pool& pool_;
};

/// A family of accelerators: asked on a thread of its own, because its probe may not answer.
class accelerator_family : public family_deeds {
public:
  /// `stack` outlives it.
  accelerator_family(std::shared_ptr<watched_family> family, host_stack& stack);

  catalog::family family() const override { return family_->family(); }
  void sample(std::function<void(family_news)> answer) override;
  void discover(std::function<void(fabric::inventory)> answer) override;

  /// One look on this thread, so that it is known before the agent dials what there is.
  void look_now();

  /// Takes no more questions; true when the one that runs came to its end in time.
  bool finish(std::chrono::milliseconds patience) { return thread_.finish(patience); }

private:
  fabric::inventory inventory_of(const family_state& state);

  std::shared_ptr<watched_family> family_;
  host_stack& stack_;
  work_pool thread_{1};
};

/// A sample as the fabric carries it.
fabric::native_sample to_fabric(const telemetry::sample& sample);
std::vector<fabric::native_sample> to_fabric(const std::vector<telemetry::sample>& samples);

/// Folders of replicas that an earlier agent left, in the order of their names.
std::vector<std::filesystem::path> find_replicas(const std::filesystem::path& replicas);

} // namespace assay::agent
