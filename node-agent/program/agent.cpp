#include "node-agent/program/agent.hpp"

#include "node-agent/actors/hosted.hpp"
#include "node-agent/actors/probe.hpp"
#include "node-agent/actors/uplink.hpp"
#include "node-agent/host/own_address.hpp"
#include "node-agent/program/agent_lock.hpp"
#include "node-agent/program/control.hpp"
#include "node-agent/program/known_coordinators.hpp"
#include "node-agent/program/watching.hpp"
#include "node-agent/runtime/holder_files.hpp"
#include "node-agent/runtime/holder_link.hpp"
#include "src/base/log.hpp"
#include "src/fabric/curve_keys.hpp"
#include "src/fabric/uplink.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_actor.hpp>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto coordinator_key_file = "coordinator.pub";
constexpr std::size_t actor_threads = 2;
constexpr std::size_t messages_per_turn = 100; ///< Else one busy actor starves its neighbours.
constexpr auto work_patience = 3s;
constexpr std::size_t reasons_remembered = 64;

sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (auto signal : {SIGTERM, SIGINT, SIGUSR1})
    ::sigaddset(&set, signal);
  return set;
}

caf::actor_system_config& actor_configuration() {
  static caf::actor_system_config result;
  result.set("scheduler.policy", caf::atom("sharing"));
  result.set("scheduler.max-threads", actor_threads);
  result.set("scheduler.max-throughput", messages_per_turn);
  return result;
}

result<void, problem> make_folders(const agent_config& config) {
  std::error_code error;
  for (const auto& folder :
       {config.data / "agent/replicas", config.data / "agent/cache", config.keys}) {
    fs::create_directories(folder, error);
    if (error)
      return unexpected{problem{
        problem_kind::unavailable,
        "the folder cannot be made: " + error.message(),
        folder.native(),
        "check the owner of the data directory and its disk"}};
  }
  fs::permissions(config.data / "agent", fs::perms::owner_all, error);
  return {};
}

std::string boot_id() {
  auto text = read_small_file("/proc/sys/kernel/random/boot_id").value_or("unknown");
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

/// The key is that of the coordinator which the host joined at; others are learned with theirs.
coordinators configured_coordinators(const agent_config& config, const fabric::public_key& key) {
  coordinators all;
  for (const auto& address : config.coordinators)
    all.push_back({address, key});
  return all;
}

std::string addresses_of(const coordinators& all) {
  std::string text;
  for (const auto& one : all)
    text += (text.empty() ? "" : " ") + one.address;
  return text;
}

/// Everything that runs, in the order in which it may end: links, listeners, actors, workers.
class running_agent_parts {
public:
  explicit running_agent_parts(const agent_config& config)
    : config_{config}, digests_{config.data / "agent/digests.json"}, stack_{config.path, digests_},
      system_{actor_configuration()}, quick_{limits::agent_workers}, slow_{limits::agent_workers} {
    around_.replicas_directory = config.data / "agent/replicas";
    around_.path = config.path;
    around_.ports = config.ports;
    around_.address = [&config] {
      return config.address.empty() ? address_towards(config.coordinators) : config.address;
    };
    around_.bind = [this](const auto& profile, const auto& ids) {
      return bind_among(watched_, profile, ids);
    };
    around_.digests = &digests_;
    around_.stack = &stack_;
  }

  result<void, problem> start() {
    auto keys = fabric::read_or_make_key_pair(config_.keys, "agent");
    if (!keys)
      return unexpected{keys.error()};
    auto server = fabric::read_public_key(config_.keys / coordinator_key_file);
    if (!server) {
      auto why = server.error();
      why.next = "join this host with a token of `assay host token`: assay-agent join TOKEN";
      return unexpected{why};
    }
    start_actors();
    if (auto opened = open_listeners(); !opened)
      return opened;
    return dial(*keys, *server);
  }

  /// The replicas end first; true when all did in time.
  bool stop_replicas() {
    caf::scoped_actor self{system_};
    auto all_ended = false;
    self->request(uplink_, replicas_patience, stop_all{})
      .receive(
        [&](all_stopped) { all_ended = true; },
        [](const caf::error& why) {
          log::warn("replicas_not_stopped", {{"why", caf::to_string(why)}});
        }
      );
    return all_ended;
  }

  /// `code` is the process's, should its end come here.
  void end(int code) {
    around_.ending = true;
    hang_up();
    control_.reset();
    monitor_.reset();
    for (const auto& one : probes_)
      caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(uplink_, caf::exit_reason::user_shutdown);
    probes_.clear();
    uplink_ = uplink_actor();
    if (auto saved = digests_.save(); !saved)
      log::warn("digest_cache_not_saved", {{"why", to_text(saved.error())}});
    auto idle = quick_.finish(work_patience) && slow_.finish(work_patience);
    for (const auto& one : accelerators_)
      idle = one->finish(work_patience) && idle;
    log::info("agent_ended");
    // A proof waits for an engine for up to a minute; nothing of ours depends on its answer.
    if (!idle)
      std::_Exit(code);
  }

private:
  void start_actors() {
    auto host = std::make_shared<hosted>(around_, quick_, slow_);
    host->send_through([this](const fabric::agent_message& message) { return send(message); });
    std::vector<std::string> runtimes{};
    for (const auto& folder : config_.path)
      runtimes.push_back(folder.native());
    auto family = std::make_shared<cpu_family>(stack_, runtimes, quick_);
    watched_ = watched_families(config_, around_.replicas_directory);
    host->watch(watched_);
    uplink_ = system_.spawn(uplink, host);
    // Known before anybody asks: on which stack the replicas run, and which there are.
    for (const auto& one : watched_) {
      accelerators_.push_back(std::make_shared<accelerator_family>(one, stack_));
      accelerators_.back()->look_now();
    }
    caf::anon_send(uplink_, family_found{catalog::family::cpu, family->discover_now()});
    for (const auto& one : accelerators_)
      one->discover([this, &one](fabric::inventory found) {
        caf::anon_send(uplink_, family_found{one->family(), std::move(found)});
      });
    for (const auto& directory : find_replicas(around_.replicas_directory))
      caf::anon_send(uplink_, replica_found{directory.native()});
    probes_.push_back(system_.spawn(probe, family, uplink_));
    for (const auto& one : accelerators_)
      probes_.push_back(system_.spawn(probe, one, uplink_));
  }

  result<void, problem> open_listeners() {
    auto control = open_control(system_, uplink_, config_.data);
    if (!control)
      return unexpected{control.error()};
    control_ = std::move(*control);
    if (!config_.monitor)
      return {};
    auto monitor = open_monitor(system_, uplink_, *config_.monitor);
    if (!monitor)
      return unexpected{monitor.error()};
    monitor_ = std::move(*monitor);
    return {};
  }

  result<void, problem> dial(const fabric::key_pair& keys, const fabric::public_key& server) {
    fabric::uplink_options options;
    options.coordinators = configured_coordinators(config_, server);
    auto file = known_coordinators_path(config_.data);
    auto known = read_known_coordinators(file, options.coordinators);
    if (!known)
      log::warn("known_coordinators_damaged", {{"why", to_text(known.error())}});
    options.learned = known.value_or({});
    options.keys = keys;
    options.boot_id = boot_id();
    options.host_name = config_.host;
    options.agent_version = ASSAY_VERSION;
    memory_ = std::make_shared<coordinator_memory>(std::move(file), options.coordinators);
    // Held until the link is in hand: UPLINK may want to answer the first welcome sooner.
    std::lock_guard guard{link_mutex_};
    auto link = fabric::uplink::start(std::move(options), link_events());
    if (!link)
      return unexpected{link.error()};
    link_ = std::move(*link);
    return {};
  }

  fabric::uplink_events link_events() {
    fabric::uplink_events events;
    // What did not work since the last session, so that the same again and again is one line.
    auto said = std::make_shared<std::set<std::string>>();
    events.connected = [to = uplink_,
                        said](const fabric::welcome& welcome, const fabric::coordinator_at& by) {
      said->clear();
      caf::anon_send(to, session_began{by.address, welcome});
    };
    events.message = [to = uplink_](fabric::coordinator_message message) {
      caf::anon_send(to, coordinator_said{std::move(message)});
    };
    events.lost = [to = uplink_, said](const fabric::lost_link& why) {
      if (said->size() >= reasons_remembered)
        said->clear();
      if (said->insert(why.text).second)
        log::warn("coordinator_not_reached", {{"why", why.text}});
      caf::anon_send(to, session_lost{why.text});
    };
    events.learned = [this](const std::vector<fabric::coordinator_at>& all) {
      log::info("coordinators_learned", {{"coordinators", addresses_of(all)}});
      memory_->learn(all);
      quick_.post([memory = memory_] { memory->keep(); });
    };
    return events;
  }

  /// The link ends once the lock is free: an actor that sends waits for the lock alone.
  void hang_up() {
    std::unique_ptr<fabric::uplink> last;
    std::lock_guard guard{link_mutex_};
    last.swap(link_);
  }

  bool send(const fabric::agent_message& message) {
    std::lock_guard guard{link_mutex_};
    return link_ && link_->send(message);
  }

  const agent_config& config_;
  digest_cache digests_;
  host_stack stack_;
  replica_surroundings around_;
  caf::actor_system system_;
  work_pool quick_; ///< Its threads send to actors, so it ends before their system.
  work_pool slow_;
  uplink_actor uplink_;
  std::vector<probe_actor> probes_;
  std::vector<std::shared_ptr<watched_family>> watched_;
  std::vector<std::shared_ptr<accelerator_family>> accelerators_;
  std::unique_ptr<http::service_listener> control_;
  std::unique_ptr<http::service_listener> monitor_;
  std::shared_ptr<coordinator_memory> memory_;
  std::mutex link_mutex_;
  std::unique_ptr<fabric::uplink> link_;
};

} // namespace

int fail(const problem& why) {
  std::fprintf(stderr, "assay-agent: %s\n", to_text(why).c_str());
  return exit_code(why.kind);
}

int run_agent(const agent_config& config) {
  // Blocked before any thread starts, so that every thread inherits it and only we see the signal.
  auto signals = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  if (auto made = make_folders(config); !made)
    return fail(made.error());
  auto lock = agent_lock::take(config.data / "agent");
  if (!lock)
    return fail(lock.error());
  log::open("assay-agent");
  running_agent_parts parts{config};
  if (auto started = parts.start(); !started) {
    fail(started.error());
    parts.end(1);
    return 1;
  }
  log::info("agent_started", {{"host", config.host}, {"data", config.data.native()}});
  int signal = 0;
  ::sigwait(&signals, &signal);
  auto with_replicas = config.stop_replicas || signal == SIGUSR1;
  log::info(
    "agent_ends", {{"signal", std::to_string(signal)}, {"replicas", with_replicas ? "end" : "stay"}}
  );
  auto all_ended = !with_replicas || parts.stop_replicas();
  lock->ends_as_told();
  const auto code = all_ended ? 0 : 1;
  parts.end(code);
  return code;
}

int join_host(const join_command& command) {
  auto text = command.token;
  if (text == "-")
    std::getline(std::cin, text);
  auto token = fabric::parse_join_token(text);
  if (!token)
    return fail(token.error());
  agent_config config;
  config.data = command.data;
  config.keys = command.keys;
  config.host = command.host;
  config.path = command.path;
  config.coordinators = {token->coordinator};
  auto whole = complete(std::move(config));
  if (!whole)
    return fail(whole.error());
  if (auto made = make_folders(*whole); !made)
    return fail(made.error());
  auto keys = fabric::read_or_make_key_pair(whole->keys, "agent");
  if (!keys)
    return fail(keys.error());
  auto joined = fabric::join_cluster(*token, whole->host, keys->shared);
  if (!joined)
    return fail(joined.error());
  auto key = fabric::to_text(token->coordinator_key) + '\n';
  if (auto kept = replace_file(whole->keys / coordinator_key_file, key, 0644); !kept)
    return fail(kept.error());
  auto known = write_known_coordinators(
    known_coordinators_path(whole->data),
    configured_coordinators(*whole, token->coordinator_key),
    joined->coordinators
  );
  if (!known)
    return fail(known.error());
  auto written = joined_config_path(whole->data);
  if (auto kept = replace_file(written, joined_config_text(*whole), 0600); !kept)
    return fail(kept.error());
  std::printf(
    "Joined as %s. Start the agent (what it was told is in %s):\n  assay-agent run --data %s\n%s",
    joined->name.value.c_str(),
    written.c_str(),
    whole->data.c_str(),
    whole->path.empty()
      ? "Its runtimes are looked for in $PATH; for another folder add: --path DIR\n"
      : ""
  );
  return 0;
}

} // namespace assay::agent
