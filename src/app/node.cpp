#include "src/app/node.hpp"

#include "actors/dispatcher.hpp"
#include "actors/evaluator.hpp"
#include "actors/ingress.hpp"
#include "actors/job_queue.hpp"
#include "actors/ledger.hpp"
#include "actors/mover.hpp"
#include "actors/supervisor.hpp"
#include "src/app/admin/admin.hpp"
#include "src/app/agent_keeper.hpp"
#include "src/app/allow_list.hpp"
#include "src/app/errands.hpp"
#include "src/app/founding.hpp"
#include "src/app/joining.hpp"
#include "src/app/monitor.hpp"
#include "src/app/parts.hpp"
#include "src/app/proposing.hpp"
#include "src/app/standalone.hpp"
#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/store/ledger_machine.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/send.hpp>

#include <csignal>
#include <mutex>

namespace assay::app {

namespace {

constexpr auto member_name = "local";

struct actor_config : caf::actor_system_config {
  actor_config() {
    // A thousand messages of one actor must not keep the others waiting, and idle workers must not
    // poll.
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-throughput", std::size_t{100});
    set("scheduler.max-threads", std::size_t{2});
  }
};

/// An IPv6 address stands in brackets before its port (RFC 3986).
std::string text_of(const std::string& host, std::uint16_t port) {
  auto shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return shown + ":" + std::to_string(port);
}

std::string text_of(const listen_address& a) {
  return text_of(a.host, a.port);
}

/// The address that local clients use: an ingress on all interfaces is reached on loopback.
std::string reachable(const std::string& host) {
  return host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host;
}

/// The port of the run before, if it is still to be had; else any free one.
std::uint16_t port_again(const std::string& before) {
  auto parsed = http::parse_client_address(before);
  return parsed ? parsed->port : std::uint16_t{0};
}

} // namespace

struct node::whole {
  explicit whole(settings s) : how{std::move(s)}, directory{} {}

  settings how;
  std::optional<store::data_directory> directory;
  own_secrets secrets;
  app::metrics metrics;
  std::unique_ptr<store::ledger_engine> engine;
  std::unique_ptr<store::blob_store> blobs;
  std::shared_ptr<pool::endpoint_registry> counters = std::make_shared<pool::endpoint_registry>();
  actor_config config;
  std::unique_ptr<caf::actor_system> actors;
  std::unique_ptr<app::errands> errands;
  std::unique_ptr<http::ingress_server> ingress;
  std::unique_ptr<fabric::hub> hub;
  app::parts parts;
  dispatcher_actor dispatcher;
  std::unique_ptr<http::service_listener> admin;
  std::unique_ptr<http::service_listener> monitor;
  std::optional<endpoints> before;
  std::optional<agent_keeper> keeper;

  // The engine and the HTTP threads run before and after the actors do.
  std::mutex bound_mutex;
  bool is_bound = false;
  std::atomic<bool> is_ready = false;

  result<void, problem> start();
  result<void, problem> open_ledger();
  result<void, problem> start_ingress();
  void spawn_actors();
  void spawn_workers(); ///< What needs the ingress's address, and what listens to pools.
  void fill_parts();
  result<void, problem> start_hub();
  result<void, problem> start_listeners();
  result<void, problem> start_standalone();
  void on_view(const store::view_ptr& view);
  http::ingress_hooks hooks();
  void stop();
  void end_actors();
};

// -- starting

result<void, problem> node::whole::open_ledger() {
  auto opened = store::data_directory::open(how.data);
  if (!opened)
    return unexpected{opened.error()};
  directory.emplace(std::move(*opened));
  auto is_new = !store::ledger_engine::is_bootstrapped(*directory);
  auto loaded = load_secrets(*directory, is_new);
  if (!loaded)
    return unexpected{loaded.error()};
  secrets = std::move(*loaded);
  store::engine_options options;
  options.on_view = [this](const store::view_ptr& view) { on_view(view); };
  if (is_new)
    if (auto done = store::ledger_engine::bootstrap(*directory, options); !done)
      return done;
  auto machine = std::make_unique<store::ledger_machine>(secrets.signing, member_name);
  auto engine_opened =
    store::ledger_engine::open(*directory, std::move(machine), std::move(options));
  if (!engine_opened)
    return unexpected{engine_opened.error()};
  engine = std::move(*engine_opened);
  if (auto done = found_cluster(*engine, secrets); !done)
    return done;
  auto blobs_opened = store::blob_store::open(directory->blobs());
  if (!blobs_opened)
    return unexpected{blobs_opened.error()};
  blobs = std::move(*blobs_opened);
  return {};
}

http::ingress_hooks node::whole::hooks() {
  // Called on HTTP threads, which start after the actors and stop before them.
  auto& router = parts.router;
  return {
    .on_outcomes = [&router](std::vector<routing::outcome> all
                   ) { caf::anon_send(router, outcomes{std::move(all)}); },
    .ask_ticket =
      [&router](http::ticket_request request, http::ticket_completion done) {
        ticket_wanted wanted{
          .ticket =
            {.ticket = request.number,
             .traffic = request.traffic,
             .project = request.project,
             .acceptable = request.acceptable,
             .excluded = request.excluded,
             .deadline = request.deadline},
          .answer =
            [done](std::variant<pool::admit_ticket, pool::refuse_ticket> answer) {
              if (const auto* admitted = std::get_if<pool::admit_ticket>(&answer))
                return done(http::ticket_admitted{admitted->endpoint});
              const auto& refused = std::get<pool::refuse_ticket>(answer);
              done(http::ticket_refused{refused.why, refused.retry_after});
            },
        };
        caf::anon_send(router, std::move(wanted));
      },
    .withdraw_ticket = [&router](std::uint64_t number
                       ) { caf::anon_send(router, ticket_dropped{number}); },
    .settle_ticket = [&router](std::uint64_t number
                     ) { caf::anon_send(router, ticket_settled{number}); },
  };
}

result<void, problem> node::whole::start_ingress() {
  http::ingress_options options;
  options.id = {"ingress-1"};
  options.boot = static_cast<std::uint64_t>(wall_now().value);
  options.address = how.ingress.host;
  options.port = how.ingress.port;
  options.threads = how.ingress_threads;
  options.plaintext_accepted = how.plaintext_accepted;
  if (before && how.ingress.port == 0)
    options.port = port_again(before->ingress);
  ingress = std::make_unique<http::ingress_server>(options, hooks());
  auto started = ingress->start();
  if (!started && how.ingress.port == 0 && options.port != 0) {
    // Somebody took the port of the run before: any other one will do.
    log::warn("ingress_port_changed", {{"why", to_text(started.error())}});
    options.port = 0;
    ingress = std::make_unique<http::ingress_server>(options, hooks());
    started = ingress->start();
  }
  if (!started)
    return started;
  how.ingress.port = ingress->port();
  parts.base_url = "http://" + text_of(reachable(how.ingress.host), ingress->port()) + "/v1";
  return {};
}

void node::whole::spawn_actors() {
  actors = std::make_unique<caf::actor_system>(config);
  parts.ledger =
    actors->spawn(ledger_behavior, [this](std::string bytes, bool time_driven, auto done) {
      engine->propose({std::move(bytes), time_driven}, std::move(done));
    });
  parts.router = actors->spawn(
    ingress_behavior,
    assay::ingress_options{
      .name = {"ingress-1"},
      .counters = counters,
      .post = [this](auto snapshot) { ingress->post_snapshot(std::move(snapshot)); },
      .count = [this](const auto& all) { metrics.count(all); },
    }
  );
}

result<void, problem> node::whole::start_hub() {
  auto read = read_now(*engine);
  if (!read)
    return unexpected{read.error()};
  fabric::hub_options options;
  options.keys = secrets.curve;
  options.allow_list = allow_list_of(*read->tables, wall_now());
  options.epoch = engine->status().term;
  if (before && how.agents.port == 0)
    how.agents.port = port_again(before->agents);
  auto supervisor = parts.supervisor;
  fabric::hub_events events{
    .peer_up =
      [supervisor](const host_id& host, const fabric::hello& hello) {
        caf::anon_send(supervisor, agent_up{host, hello});
      },
    .message =
      [supervisor](const host_id& host, fabric::agent_message what) {
        caf::anon_send(supervisor, from_agent{host, std::move(what)});
      },
    .peer_down =
      [supervisor](const host_id& host, fabric::down_reason why) {
        caf::anon_send(supervisor, agent_down{host, std::string{fabric::name(why)}});
      },
    .join =
      [this](const fabric::join_request& request) {
        // Not before all is tied together, and not while it is being taken down.
        std::scoped_lock lock{bound_mutex};
        if (is_bound)
          answer_join(*engine, *hub, request);
      },
  };
  options.listen = text_of(how.agents);
  auto started = fabric::hub::start(options, events);
  if (!started && how.standalone && how.agents.port != 0) {
    log::warn("agents_port_changed", {{"why", to_text(started.error())}});
    options.listen = text_of(how.agents.host, 0);
    started = fabric::hub::start(options, events);
  }
  if (!started)
    return unexpected{started.error()};
  std::scoped_lock lock{bound_mutex};
  hub = std::move(*started);
  parts.hub = hub.get();
  parts.hub_key = secrets.curve.shared;
  return {};
}

result<void, problem> node::whole::start_listeners() {
  http::service_options socket;
  socket.unix_path = (directory->run() / "admin.sock").string();
  socket.threads = 4;
  socket.body_bytes = limits::job_bytes + (1 << 20);
  auto opened =
    http::service_listener::open(std::move(socket), [this](const http::service_request& request) {
      return admin::serve(parts, request);
    });
  if (!opened)
    return unexpected{opened.error()};
  admin = std::move(*opened);
  http::service_options tcp;
  tcp.host = how.monitor.host;
  tcp.port = how.monitor.port;
  auto monitoring =
    http::service_listener::open(std::move(tcp), [this](const http::service_request& request) {
      return serve_monitor(parts, is_ready.load(), request);
    });
  if (!monitoring)
    return unexpected{monitoring.error()};
  monitor = std::move(*monitoring);
  how.monitor.port = monitor->port();
  return {};
}

result<void, problem> node::whole::start_standalone() {
  auto agent = prepare_agent_keys(how.data, secrets.curve.shared);
  if (!agent)
    return unexpected{agent.error()};
  if (auto done = admit_host(*engine, std::string{local_host_name}, agent->shared); !done)
    return done;
  endpoints now{
    text_of(how.ingress),
    text_of(how.monitor),
    hub->address(),
    (directory->run() / "admin.sock").string()};
  if (auto done = write_endpoints(how.data, now); !done)
    return done;
  if (auto key = read_tryout_key(how.data))
    if (auto done = write_env(how.data, parts.base_url, *key); !done)
      return done;
  if (before && before->agents != now.agents)
    if (auto done = stop_agent(how.data); !done)
      return done;
  auto start = [data = how.data, to = hub->address(), path = how.runtime_path] {
    return start_agent(data, to, path);
  };
  auto started = start();
  if (!started)
    return unexpected{started.error()};
  keeper.emplace(how.data / "agent" / "lock", *started, std::move(start));
  return {};
}

/// Engine's applier thread: must not block.
void node::whole::on_view(const store::view_ptr& view) {
  std::scoped_lock lock{bound_mutex};
  if (!is_bound)
    return;
  auto tables = tables_of(*view);
  // The term that we lead in, as the hub tells agents: the newest entry may be of an earlier one.
  caf::anon_send(parts.ledger, tables_changed{tables, engine->status().term});
  if (hub)
    hub->replace_allow_list(allow_list_of(*tables, wall_now()));
}

result<void, problem> node::whole::start() {
  if (how.standalone)
    before = read_endpoints(how.data);
  if (auto done = open_ledger(); !done)
    return done;
  spawn_actors();
  if (auto done = start_ingress(); !done)
    return done;
  spawn_workers();
  fill_parts();
  if (auto done = start_hub(); !done)
    return done;
  {
    std::scoped_lock lock{bound_mutex};
    is_bound = true;
  }
  on_view(engine->current());
  if (auto done = start_listeners(); !done)
    return done;
  if (how.standalone)
    if (auto done = start_standalone(); !done)
      return done;
  is_ready = true;
  log::info(
    "ready", {{"ingress", parts.base_url}, {"agents", hub->address()}, {"data", how.data.string()}}
  );
  return {};
}

result<std::unique_ptr<node>, problem> node::start(settings how) {
  // A client that leaves in the middle of a write is no reason to end; children reap themselves.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_IGN);
  // From here on its end is `stop`, even when it did not start whole: actors end when told to.
  std::unique_ptr<node> made{new node{std::make_unique<whole>(std::move(how))}};
  if (auto done = made->whole_->start(); !done)
    return unexpected{done.error()};
  return made;
}

void node::whole::spawn_workers() {
  http::client_address door{reachable(how.ingress.host), ingress->port(), {}};
  errands = std::make_unique<app::errands>(
    door, errand_keys{secrets.evaluator_key, secrets.dispatcher_key}, *blobs
  );
  auto& deeds = *errands;
  auto keep = [&deeds](std::string bytes, auto done) {
    deeds.keep(std::move(bytes), std::move(done));
  };
  parts.evaluator = actors->spawn(
    evaluator_behavior,
    evaluator_options{
      .ledger = parts.ledger,
      .ask = [&deeds](
               const auto& what, const auto& where, auto done
             ) { deeds.evaluate(what, where, std::move(done)); },
      .keep = keep,
    }
  );
  parts.mover = actors->spawn(mover_behavior, mover_options{parts.ledger, parts.router});
  dispatcher = actors->spawn(
    dispatcher_behavior,
    dispatcher_options{
      .ledger = parts.ledger,
      .ask = [&deeds](const auto& what, auto done) { deeds.request(what, std::move(done)); },
      .read = [&deeds](const auto& blob, auto done) { deeds.read(blob, std::move(done)); },
      .keep = keep,
    }
  );
  parts.jobs = actors->spawn(job_queue_behavior, job_queue_options{parts.ledger, dispatcher});
  supervisor_options options{
    .ledger = parts.ledger,
    .ingress = parts.router,
    .pool_listeners = {parts.evaluator, parts.mover, parts.jobs},
    .send = [this](
              const host_id& host, const fabric::coordinator_message& what
            ) { hub->send(host, what); },
    .stop_process =
      [](const std::string& why) {
        log::error("stopping", {{"why", why}});
        std::_Exit(4);
      },
  };
  parts.supervisor = actors->spawn(supervisor_behavior, std::move(options));
}

void node::whole::fill_parts() {
  parts.settings = how;
  parts.data = how.data;
  parts.engine = engine.get();
  parts.blobs = blobs.get();
  parts.ingress = ingress.get();
  parts.metrics = &metrics;
  parts.counters = counters;
  parts.actors = actors.get();
  for (const tables_listener& who :
       {tables_listener{parts.router},
        tables_listener{parts.supervisor},
        tables_listener{parts.evaluator},
        tables_listener{parts.mover},
        tables_listener{dispatcher},
        tables_listener{parts.jobs}})
    caf::anon_send(parts.ledger, listen_to_tables{who});
}

// -- stopping

/// From the outside in: nobody is answered by something that is gone already.
void node::whole::stop() {
  is_ready = false;
  keeper.reset();
  admin.reset();
  monitor.reset();
  if (ingress)
    ingress->stop(limits::drain);
  {
    std::scoped_lock lock{bound_mutex};
    is_bound = false;
  }
  // Actors call errands, hub and engine until they have ended; the engine's last answers call the
  // hub.
  if (actors)
    end_actors();
  errands.reset();
  engine.reset();
  hub.reset();
  ingress.reset();
  actors.reset();
}

void node::whole::end_actors() {
  auto end = [](auto& who) {
    if (who)
      caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
    who = nullptr;
  };
  end(parts.supervisor);
  end(parts.jobs);
  end(dispatcher);
  end(parts.mover);
  end(parts.evaluator);
  end(parts.router);
  end(parts.ledger);
  actors->await_all_actors_done();
}

node::node(std::unique_ptr<whole> all) : whole_{std::move(all)} {}

node::~node() {
  if (whole_)
    whole_->stop();
}

} // namespace assay::app
