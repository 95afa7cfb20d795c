// One assayd among the others: what they say, who leads, and what that changes here.

#include "actors/service_links.hpp"
#include "src/app/admin/admin.hpp"
#include "src/app/allow_list.hpp"
#include "src/app/node_whole.hpp"
#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"
#include "src/ledger/schema.hpp"
#include "src/wire/record_codec.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <cstdlib>

namespace assay::app {

namespace {

void stop_process(const std::string& why) {
  log::error("stopping", {{"why", why}});
  std::_Exit(4);
}

bool is_of_service(const peers::message& said) {
  return std::holds_alternative<peers::service_told>(said)
         || std::holds_alternative<peers::service_kept>(said);
}

} // namespace

// -- what other members say. Links' thread: must not block.

void node::whole::hear(std::uint64_t node, peers::message said) {
  std::scoped_lock lock{bound_mutex};
  if (!is_bound)
    return;
  if (is_of_service(said))
    return caf::anon_send(book, peer_said{node, std::move(said)});
  if (peers::lane_of(said) == peers::lane::service)
    return caf::anon_send(service, peer_said{node, std::move(said)});
  // What a coordinator says of who asked is believed, what a separate ingress says is not; one of
  // ours says nothing of the kind.
  if (auto* ask = std::get_if<peers::admin_ask>(&said); ask && votes(node))
    forwarding->hear(node, std::move(*ask));
  if (auto* answer = std::get_if<peers::admin_answer>(&said))
    forwarding->hear(node, std::move(*answer));
  // Blobs hold what was asked and answered, so only coordinators get them.
  if (auto blob = app::blob_keeper::word_in(said); blob && votes(node))
    blob_keeper->hear(node, *std::move(blob));
}

/// A separate ingress keeps no blobs: it reads none, and no record waits for it.
void node::whole::start_blob_keeper() {
  blob_keeper = std::make_unique<app::blob_keeper>(blob_keeper_options{
    .blobs = blobs.get(),
    .standing = [this] { return blob_standing(); },
    .tell = [this](
              auto to, const peers::message& what
            ) { return group ? group->tell(to, what) : peers::send_outcome::down; },
    .fetches_all = group && how.is_coordinator,
    .reads_again = how.is_coordinator,
  });
}

blobs::standing node::whole::blob_standing() const {
  auto now = engine->status();
  blobs::standing out{.self = now.server_id};
  for (const auto& m : now.members)
    if (m.role == consensus::member_role::voter)
      out.voters.insert(m.id);
  for (const auto& m : tables_of(*engine->current())->head.members)
    if (m.voter && m.id != now.server_id)
      out.others.push_back(m.id);
  auto leader = std::ranges::find(out.others, now.leader_id);
  if (leader != out.others.end())
    std::iter_swap(out.others.begin(), leader);
  return out;
}

bool node::whole::votes(std::uint64_t node) const {
  const auto& members = tables_of(*engine->current())->head.members;
  auto at = std::ranges::find(members, node, &ledger::member::id);
  return at != members.end() && at->voter;
}

void node::whole::note_reach(std::uint64_t node, peers::lane lane, bool is_up) {
  std::scoped_lock lock{bound_mutex};
  if (!is_bound)
    return;
  if (lane == peers::lane::service && is_up)
    return caf::anon_send(service, peer_up{node});
  if (lane == peers::lane::service)
    return caf::anon_send(service, peer_down{node});
  if (lane != peers::lane::bulk)
    return;
  if (is_up) {
    forwarding->reached(node);
    blob_keeper->reached(node);
  } else {
    forwarding->lost(node);
    blob_keeper->lost(node);
  }
}

// -- leading and following

/// To agents, SERVICE LINKS and SERVICE BOOK, when it changed.
void node::whole::tell_standing(const store::engine_status& now) {
  auto lead = parts.lead.get();
  auto leads = lead != nullptr && lead->term == now.term;
  assay::standing next{leads, now.term, leads ? now.server_id : now.leader_id};
  if (!leads && next.leader == now.server_id)
    next.leader = 0; // It leads and has not begun yet.
  if (next == told)
    return;
  told = next;
  hub->set_standing(standing());
  if (service)
    caf::anon_send(service, next);
  caf::anon_send(book, next);
}

std::vector<ingress_id> node::whole::ingresses() const {
  std::vector<ingress_id> all;
  for (const auto& m : tables_of(*engine->current())->head.members)
    if (!m.ingress.empty())
      all.push_back({m.name});
  return all;
}

void node::whole::watch_leadership() {
  leadership.emplace(
    *engine,
    leadership_hooks{
      .lead = [this](auto term) { lead(term); },
      .follow = [this] { follow(); },
      .look =
        [this](const store::engine_status& now) {
          if (now.leader_id != 0)
            had_leader = true;
          if (group) {
            keep_keys();
            group->learn(*tables_of(*engine->current()));
            group->compare_clocks(now);
            group->compare_disks(now, !scrub->damage().empty());
            group->watch_room(*tables_of(*engine->current()), now);
            group->step(*tables_of(*engine->current()), now);
          }
          agree_on_version(now);
          scrub->look(now, std::chrono::steady_clock::now());
          space->look();
          tell_standing(now);
        },
    }
  );
}

/// The newest schema that every member's program knows, once they all do.
void node::whole::agree_on_version(const store::engine_status& now) {
  auto at = std::chrono::steady_clock::now();
  if (!now.is_leader || at < next_agreement)
    return;
  next_agreement = at + limits::group_change_retry;
  // A standalone has no other program to wait for.
  auto known = group ? group->versions()
                     : std::map<std::uint64_t, std::uint32_t>{
                       {now.server_id, std::uint32_t{ledger::known_schema()}}};
  auto due = ledger::due_version(*tables_of(*engine->current()), known);
  if (!due)
    return;
  log::info("schema_version_proposed", {{"version", std::to_string(due->version)}});
  auto record = ledger::make_record(
    *due,
    {how.name, ledger::authentication::process},
    {"every member knows it", {}},
    ledger::trust::measured
  );
  engine->propose({wire::encode_proposal(record), false}, [](const store::answer& said) {
    if (!said)
      log::warn("schema_version_refused", {{"why", to_text(said.error())}});
  });
}

void node::whole::lead(std::uint64_t term) {
  if (auto done = issue_own_keys(*engine, secrets, how.name); !done)
    log::warn("own_keys_not_issued", {{"why", to_text(done.error())}});
  leading_options options{
    .term = term,
    .node = engine->status().server_id,
    .ledger = parts.ledger,
    .router = parts.router,
    .service = service,
    .ingresses = [this] { return ingresses(); },
    .errands = errands.get(),
    .send = [this](
              const host_id& host, const fabric::coordinator_message& what
            ) { hub->send(host, what); },
    .stop_process = stop_process,
  };
  parts.lead.set(std::make_shared<leading>(*actors, options));
  hub->set_standing(standing());
  // The epoch is new, even where the tables are not.
  on_view(engine->current());
}

void node::whole::follow() {
  parts.lead.set(nullptr);
  hub->set_standing(standing());
}

/// Where the pools of others are, or whose ingresses come to ours.
void node::whole::spawn_service_links() {
  service = actors->spawn(
    service_links_behavior,
    service_links_options{
      .node = place->node,
      .name = ingress_name(),
      .boot = boot,
      .ingress = parts.router,
      .send = [this](auto to, const peers::message& what) { return group->tell(to, what); },
      .stop_process = stop_process,
    }
  );
}

/// The ingress that EVALUATOR and DISPATCHER ask: our own, or one that can be reached.
std::optional<http::client_address> node::whole::door() const {
  if (ingress)
    return http::client_address{reachable(how.ingress.host), ingress->port(), {}};
  for (const auto& m : tables_of(*engine->current())->head.members)
    if (!m.ingress.empty() && group && group->is_reached(m.id))
      if (auto address = http::parse_client_address(m.ingress))
        return *address;
  return {};
}

} // namespace assay::app
