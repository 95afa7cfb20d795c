#pragma once
// The deeds of one replica, as blocking calls: launch, look, prove, stop, describe.
//
// A replica lives in its folder (docs/agent.md), so that one that an earlier agent started is taken
// over by opening the folder. Each deed answers with an event of the life (life.hpp) and decides
// nothing about it. `look`, `prove` and `describe` may be called from different threads; a deed is
// never called twice at once.

#include "node-agent/families/fingerprint.hpp"
#include "node-agent/families/watched_family.hpp"
#include "node-agent/host/digest_cache.hpp"
#include "node-agent/host/ports.hpp"
#include "node-agent/runtime/holder_link.hpp"
#include "node-agent/runtime/life.hpp"
#include "node-agent/runtime/prober.hpp"
#include "node-agent/runtime/replica_order.hpp"
#include "src/wire/fabric_messages.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <variant>

namespace assay::agent {

/// What all replicas of one agent share. Outlives them.
struct replica_surroundings {
  std::filesystem::path replicas_directory;
  std::vector<std::filesystem::path> path;
  port_range ports;
  /// Where replicas listen whose pool accepts clear traffic from other hosts. Asked at each start.
  std::function<std::string()> address = [] { return std::string{"127.0.0.1"}; };
  /// What a replica on these devices is told of them; refused where one was not given to us.
  using device_binder = std::function<result<
    device_binding_env,
    problem>(const catalog::runtime_profile&, const std::vector<std::string>&)>;
  device_binder bind = [](const auto& profile, const auto& ids) {
    return bind_among({}, profile, ids);
  };
  digest_cache* digests = nullptr;
  host_stack* stack = nullptr;
  std::filesystem::path holder_program = "/proc/self/exe";

  /// The agent ends: nothing new is begun.
  std::atomic<bool> ending = false;

  /// Ports given to replicas, so that two that start at once get different ones.
  std::mutex ports_mutex;
  std::set<std::uint16_t> ports_taken;
};

/// Called with progress of the artifact's check, from any thread.
using artifact_listener = std::function<void(const fabric::artifact_report&)>;

class replica {
public:
  /// A replica that is to be launched (or, when adopted, watched). Makes its folder.
  static result<std::unique_ptr<replica>, problem>
  make(replica_surroundings& around, replica_order order, artifact_listener listener = {});

  /// A replica that an earlier agent left in `directory`; a problem when the folder is damaged.
  static result<std::unique_ptr<replica>, problem> take_over(
    replica_surroundings& around,
    const std::filesystem::path& directory,
    artifact_listener listener = {}
  );

  ~replica();

  /// Verifies the artifact, finds a port, starts the holder and waits until the runtime runs. A
  /// replica that was taken over, and an adopted one, runs already; one that an earlier agent
  /// proved need only answer well once.
  life::event launch();

  /// First the holder, then the engine.
  life::event look(bool serving);
  life::event prove();

  /// Asks for the end; `look` sees it. Also ends a launch that is under way.
  void stop();

  /// Its end was reported: no later agent takes it over. Logs stay, of the newest few that ended.
  void forget();

  /// Everything but phase and reason.
  fabric::replica_report describe() const;
  std::string engine_version() const; ///< Empty: not known.
  const life::rules& rules() const { return rules_; }

  /// The last bytes of its logs.
  std::string log_tail(std::size_t bytes) const;
  const std::filesystem::path& directory() const { return directory_; }

private:
  replica(
    replica_surroundings& around,
    replica_order order,
    catalog::runtime_profile profile,
    artifact_listener listener
  );

  life::event launch_now();
  life::event resume();
  life::event look_now(bool serving);
  void ask_version();
  life::event watch(const fabric::adopt_replica& order);
  result<void, problem> verify_artifact();
  result<void, problem> start(const fabric::start_replica& order);
  result<void, problem> wait_for_runtime();
  result<void, problem> find_ports();
  void give_ports_back();
  void make_prober(std::map<std::string, std::string> slots);
  result<void, problem> save_endpoint() const;
  result<void, problem> load_endpoint();
  std::optional<life::event> look_at_process(bool& starting);
  life::event end_with(const exit_record& record);
  std::optional<holding> held() const;

  replica_surroundings& around_;
  replica_order order_;
  std::shared_ptr<const catalog::runtime_profile> profile_;
  artifact_listener listener_;
  life::rules rules_;
  std::filesystem::path directory_;
  bool taken_over_ = false;
  bool proven_ = false; ///< By an earlier agent.
  std::atomic<bool> stop_asked_ = false;
  std::atomic<bool> has_served_ = false;
  /// When an adopted server is asked for its version again.
  std::atomic<std::chrono::steady_clock::time_point> version_due_{};
  std::atomic<bool> launching_ = true; ///< Until `launch` has returned there is nothing to see.

  mutable std::mutex mutex_; ///< Guards what follows.
  std::uint16_t port_ = 0;
  std::map<std::string, std::uint16_t> more_ports_;
  std::string secret_;
  http::client_address address_;
  std::optional<process_ref> holder_;
  std::optional<holding> held_;
  std::optional<fabric::exit_report> exit_;
  std::string log_tail_;
  wall_ms started_at_;
  std::string engine_version_;
  std::string launch_text_;
  std::unique_ptr<prober> prober_;
};

/// The folder name of a replica: readable, unique by replica and generation.
std::string folder_name(const replica_id& replica, std::uint64_t generation);

} // namespace assay::agent
