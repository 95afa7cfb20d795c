#include "actors/ingress.hpp"
#include "actors/ledger.hpp"
#include "actors/service_book.hpp"
#include "src/app/admin/admin.hpp"
#include "src/app/allow_list.hpp"
#include "src/app/member_address.hpp"
#include "src/app/node_whole.hpp"
#include "src/app/proposing.hpp"
#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/base/loopback.hpp"
#include "src/ledger/schema.hpp"
#include "src/store/ledger_machine.hpp"

#include <caf/send.hpp>

#include <csignal>

namespace assay::app {

// -- starting

store::engine_options node::whole::engine_options() {
  store::engine_options options;
  options.map_bytes = std::uint64_t{how.map_mib} << 20;
  options.on_view = [this](const store::view_ptr& view) { on_view(view); };
  if (!place)
    return options;
  options.server_id = place->node;
  options.address = member_addresses(how).peers;
  options.peers = group.get();
  return options;
}

/// A member never founds: its cluster goes on without it, and would have a twin.
problem lost_ledger(const app::place& was, const std::filesystem::path& data) {
  return {
    problem_kind::refused,
    "this is member " + std::to_string(was.node) + " ('" + was.name + "') of cluster '"
      + was.cluster_name + "', and its ledger is gone",
    data.string(),
    "see that the disk is mounted; if it is lost, remove this member (assay cluster remove "
      + was.name + " on another one), empty the directory and join anew"};
}

result<void, problem> node::whole::open_ledger() {
  auto opened = store::data_directory::open(how.data);
  if (!opened)
    return unexpected{opened.error()};
  directory.emplace(std::move(*opened));
  auto is_new = !store::ledger_engine::is_bootstrapped(*directory);
  if (is_new && place)
    return unexpected{lost_ledger(*place, how.data)};
  auto loaded = load_secrets(*directory, is_new);
  if (!loaded)
    return unexpected{loaded.error()};
  secrets = std::move(*loaded);
  auto keys_opened = own_keys::open(*directory, secrets);
  if (!keys_opened)
    return unexpected{keys_opened.error()};
  keys = std::move(*keys_opened);
  if (is_new)
    if (auto done = store::ledger_engine::bootstrap(*directory, engine_options()); !done)
      return done;
  auto disk = store::ledger_engine::disk_of(*directory);
  if (!disk)
    return unexpected{disk.error()};
  if (place)
    group = std::make_unique<app::group>(group_options{
      .listen = text_of(how.peers),
      .keys = keys->curve(),
      .self = {place->cluster, place->node, *disk, ledger::known_schema()},
      .first_peers = place->first_peers,
      .other = [this](auto node, peers::message said) { hear(node, std::move(said)); },
      .reach = [this](auto node, auto lane, bool is_up) { note_reach(node, lane, is_up); },
      .clock = clock,
    });
  auto machine = std::make_unique<store::ledger_machine>(keys->signing(), how.name);
  auto engine_opened = store::ledger_engine::open(*directory, std::move(machine), engine_options());
  if (!engine_opened)
    return unexpected{engine_opened.error()};
  engine = std::move(*engine_opened);
  scrub.emplace(*engine, [this](auto node) { return group && group->is_sound(node); });
  space.emplace(*engine);
  if (auto done = found(*disk); !done)
    return done;
  auto blobs_opened = store::blob_store::open(directory->blobs());
  if (!blobs_opened)
    return unexpected{blobs_opened.error()};
  blobs = std::move(*blobs_opened);
  return {};
}

/// A group of one has nobody to learn from: what is not on record yet is put there now.
result<void, problem> node::whole::found(const std::string& disk) {
  auto now = engine->status();
  auto is_alone = now.role == consensus::member_role::voter && now.members.size() == 1;
  if (!is_alone)
    return {};
  founder by{place ? place->cluster : new_uuid7(), place ? place->cluster_name : "standalone", {}};
  if (auto known = tables_of(*engine->current())->head.cluster; known && !place)
    by.cluster = *known;
  by.me = member_of(how, secrets, disk);
  if (place)
    by.me.id = place->node;
  return found_cluster(*engine, by);
}

void node::whole::spawn_actors() {
  actors = std::make_unique<caf::actor_system>(config);
  parts.ledger =
    actors->spawn(ledger_behavior, [this](std::string bytes, bool time_driven, auto done) {
      engine->propose({std::move(bytes), time_driven}, std::move(done));
    });
  book = actors->spawn(
    service_book_behavior,
    service_book_options{
      .ledger = parts.ledger,
      .send = [this](
                auto to, const peers::message& what
              ) { return group ? group->tell(to, what) : peers::send_outcome::down; },
    }
  );
  parts.router = actors->spawn(
    ingress_behavior,
    assay::ingress_options{
      .name = ingress_name(),
      .counters = counters,
      .post =
        [this](auto snapshot) {
          if (ingress)
            ingress->post_snapshot(std::move(snapshot));
        },
      .count = [this](const auto& all) { metrics.count(all); },
      .serves = how.has_ingress,
      .boot = boot,
      .loopback = own_loopback(),
      .tell = [this](auto hours) { caf::anon_send(book, service_counted{std::move(hours)}); },
      .clock = clock,
    }
  );
}

/// Engine's applier thread: must not block.
void node::whole::on_view(const store::view_ptr& view) {
  std::scoped_lock lock{bound_mutex};
  if (!is_bound)
    return;
  auto tables = tables_of(*view);
  if (auto lead = parts.lead.get())
    caf::anon_send(parts.ledger, tables_changed{tables, lead->term});
  else
    caf::anon_send(parts.ledger, tables_changed{tables, engine->status().term});
  if (hub) {
    hub->replace_allow_list(allow_list_of(*tables, wall_now()));
    hub->set_standing(standing());
  }
  if (group)
    group->learn(*tables);
  blob_keeper->learn(std::move(tables));
  leadership->nudge();
}

result<void, problem> node::whole::start() {
  if (how.standalone)
    before = read_endpoints(how.data);
  if (auto done = open_monitor(); !done)
    return done;
  if (auto done = open_ledger(); !done)
    return done;
  keep_keys(); // A change of them that was cut.
  spawn_actors();
  if (auto done = start_ingress(); !done)
    return done;
  start_blob_keeper();
  errands = std::make_unique<app::errands>(
    [this] { return door(); },
    errand_keys{secrets.evaluator_key, secrets.dispatcher_key},
    *blobs,
    *blob_keeper
  );
  if (group)
    spawn_service_links();
  fill_parts();
  watch_leadership();
  if (auto done = start_hub(); !done)
    return done;
  {
    std::scoped_lock lock{bound_mutex};
    is_bound = true;
  }
  // Only now, so that whoever is spoken of hears it.
  if (group)
    if (auto done = group->start(*engine); !done)
      return done;
  on_view(engine->current());
  leadership->pass();
  leadership->begin();
  if (auto done = open_admin(); !done)
    return done;
  if (how.standalone)
    if (auto done = start_standalone(); !done)
      return done;
  life = stage::serving;
  log::info(
    "ready", {{"ingress", parts.base_url}, {"agents", hub->address()}, {"data", how.data.string()}}
  );
  return {};
}

result<std::unique_ptr<node>, problem> node::start(settings how, std::optional<place> where) {
  // A client that leaves in the middle of a write is no reason to end; children reap themselves.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_IGN);
  // From here on its end is `stop`, even when it did not start whole: actors end when told to.
  std::unique_ptr<node> made{new node{std::make_unique<whole>(std::move(how), std::move(where))}};
  if (auto done = made->whole_->start(); !done)
    return unexpected{done.error()};
  return made;
}

/// What agents are told: whom to follow, and who may lead next. A standalone's agent knows.
fabric::standing node::whole::standing() const {
  auto lead = parts.lead.get();
  fabric::standing out{.leads = lead != nullptr, .epoch = lead ? lead->term : 0};
  if (!group)
    return out;
  auto leader = engine->status().leader_id;
  for (const auto& m : tables_of(*engine->current())->head.members) {
    auto key = fabric::parse_public_key(m.curve_public);
    if (!key || m.agents.empty())
      continue;
    out.coordinators.push_back({m.agents, *key});
    if (!lead && m.id == leader)
      out.leader = out.coordinators.back();
  }
  return out;
}

void node::whole::fill_parts() {
  parts.settings = how;
  parts.data = how.data;
  parts.keys = keys.get();
  parts.engine = engine.get();
  parts.scrub = &*scrub;
  parts.space = &*space;
  parts.blobs = blobs.get();
  parts.blob_keeper = blob_keeper.get();
  parts.ingress = ingress.get();
  parts.metrics = &metrics;
  parts.counters = counters;
  parts.actors = actors.get();
  parts.group = group.get();
  if (group)
    forwarding = std::make_unique<app::forwarding>(forwarding_options{
      .tell = [this](auto to, const auto& what) { return group->tell(to, what); },
      .serve = [this](
                 const auto& request, const auto& author
               ) { return admin::serve_as(parts, request, author); },
    });
  parts.forwarding = forwarding.get();
  caf::anon_send(parts.ledger, listen_to_tables{tables_listener{parts.router}});
  caf::anon_send(parts.ledger, listen_to_tables{tables_listener{book}});
}

node::node(std::unique_ptr<whole> all) : whole_{std::move(all)} {}

node::~node() {
  if (whole_)
    whole_->stop();
}

} // namespace assay::app
