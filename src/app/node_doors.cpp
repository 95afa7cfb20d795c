// The doors of one assayd: the ingress that applications ask, the hub that agents dial, the admin
// socket and the monitor; and for a standalone the files that say where they are.

#include "src/app/admin/admin.hpp"
#include "src/app/ingress_hooks.hpp"
#include "src/app/member_address.hpp"
#include "src/app/node_whole.hpp"
#include "src/base/limits.hpp"
#include "src/base/log.hpp"

#include <caf/send.hpp>

namespace assay::app {

namespace {

/// The port of the run before, if it is still to be had; else any free one.
std::uint16_t port_again(const std::string& before) {
  auto parsed = http::parse_client_address(before);
  return parsed ? parsed->port : std::uint16_t{0};
}

} // namespace

result<void, problem> node::whole::start_ingress() {
  if (!how.has_ingress)
    return {};
  http::ingress_options options;
  options.id = ingress_name();
  options.boot = boot;
  options.address = how.ingress.host;
  options.port = how.ingress.port;
  options.threads = how.ingress_threads;
  static_cast<http::relay_limits&>(options.limits) = how.relay;
  options.plaintext_accepted = how.plaintext_accepted;
  options.clock = clock;
  if (before && how.ingress.port == 0)
    options.port = port_again(before->ingress);
  ingress = std::make_unique<http::ingress_server>(options, hooks_to(parts.router));
  auto started = ingress->start();
  if (!started && how.ingress.port == 0 && options.port != 0) {
    // Somebody took the port of the run before: any other one will do.
    log::warn("ingress_port_changed", {{"why", to_text(started.error())}});
    options.port = 0;
    ingress = std::make_unique<http::ingress_server>(options, hooks_to(parts.router));
    started = ingress->start();
  }
  if (!started)
    return unexpected{at_key(started.error(), "ingress.listen")};
  how.ingress.port = ingress->port();
  parts.base_url = "http://" + text_of(reachable(how.ingress.host), ingress->port()) + "/v1";
  return {};
}

result<void, problem> node::whole::start_hub() {
  fabric::hub_options options;
  options.keys = keys->curve();
  options.standing = standing();
  if (before && how.agents.port == 0)
    how.agents.port = port_again(before->agents);
  // Whoever leads here hears of agents; while nobody does, none has a session.
  auto tell = [this](auto what) {
    if (auto lead = parts.lead.get())
      caf::anon_send(lead->supervisor, std::move(what));
  };
  fabric::hub_events events{
    .peer_up =
      [tell](const host_id& host, const fabric::hello& hello) {
        tell(agent_up{host, hello});
      },
    .message =
      [tell](const host_id& host, fabric::agent_message what) {
        tell(from_agent{host, std::move(what)});
      },
    .peer_down =
      [tell](const host_id& host, fabric::down_reason why) {
        tell(agent_down{host, std::string{fabric::name(why)}});
      },
    .join =
      [this](const fabric::join_request& request) {
        // Not before all is tied together, and not while it is being taken down.
        std::scoped_lock lock{bound_mutex};
        if (is_bound)
          joins->answer(*hub, request);
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
    return unexpected{at_key(started.error(), "agents.listen")};
  std::scoped_lock lock{bound_mutex};
  hub = std::move(*started);
  joins.emplace(*engine);
  parts.hub = hub.get();
  return {};
}

result<void, problem> node::whole::open_admin() {
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
  return {};
}

/// First of all: a start may take its time, and whoever watches has to see that it lives.
result<void, problem> node::whole::open_monitor() {
  http::service_options tcp;
  tcp.host = how.monitor.host;
  tcp.port = how.monitor.port;
  auto monitoring =
    http::service_listener::open(std::move(tcp), [this](const http::service_request& request) {
      return serve_monitor(parts, {life.load(), had_leader.load()}, request);
    });
  if (!monitoring)
    return unexpected{at_key(monitoring.error(), "monitor.listen")};
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

} // namespace assay::app
