#pragma once
// Several assayd in one test, as far as serving goes: each has a real INGRESS and real SERVICE
// LINKS, the leader a real SUPERVISOR with its POOL COORDINATORs. What they say to each other goes
// through the wire's encoding and arrives at once, unless the way is cut.

#include "actors/ingress.hpp"
#include "actors/service_links.hpp"
#include "actors/supervisor.hpp"
#include "src/base/limits.hpp"
#include "src/wire/peer_codec.hpp"
#include "tests/support/fake_ledger.hpp"

#include <map>
#include <set>

namespace assay::test {

using ticket_answer = std::variant<pool::admit_ticket, pool::refuse_ticket>;

struct assayd {
  std::uint64_t node = 0;
  std::shared_ptr<pool::endpoint_registry> counters = std::make_shared<pool::endpoint_registry>();
  std::shared_ptr<const routing::routing_snapshot> snapshot;
  std::vector<ticket_answer> answers;
  ingress_actor ingress;
  service_links_actor service;
  supervisor_actor supervisor; ///< While it leads.

  ingress_id name() const { return {"in-" + std::to_string(node)}; }
};

class serving_group {
public:
  static constexpr std::uint32_t slots = 4;
  inline static const pool_id pool{"cpu-a"};
  inline static const host_id host{"h1"};
  inline static const pool::endpoint_key endpoint{"10.0.0.7:7200", (1ULL << 40) + 1};

  serving_group() {
    for (auto node : {1, 2, 3})
      make(static_cast<std::uint64_t>(node));
    for (auto from : {1, 2, 3})
      for (auto to : {1, 2, 3})
        if (from != to)
          caf::anon_send(at(from).service, peer_up{static_cast<std::uint64_t>(to)});
    stage.settle();
  }

  ~serving_group() {
    for (auto& [node, one] : all_) {
      if (one.supervisor)
        stage.end(one.supervisor);
      stage.end(one.service);
      stage.end(one.ingress);
    }
  }

  assayd& at(std::uint64_t node) { return all_.at(node); }

  // -- who leads

  /// Everybody hears who leads; whoever led before ends its pools.
  void lead(std::uint64_t node, std::uint64_t epoch) {
    stand_still(epoch);
    make_supervisor(node, epoch);
    for (auto& [id, one] : all_)
      caf::anon_send(one.service, standing{id == node, epoch, node});
    stage.settle();
  }

  /// The next epoch has begun and nobody leads it yet.
  void stand_still(std::uint64_t epoch) {
    for (auto& [id, one] : all_) {
      caf::anon_send(one.service, standing{false, epoch, 0});
      if (auto old = std::exchange(one.supervisor, {}))
        stage.end(old);
    }
    stage.settle();
  }

  void make_supervisor(std::uint64_t node, std::uint64_t epoch) {
    supervisor_options options{
      .ledger = ledger.actor,
      .ingress = at(node).ingress,
      .pool_listeners = {},
      .send = [](const host_id&, const fabric::coordinator_message&) {},
      .stop_process = [this](const std::string& why) { stopped.push_back(why); },
      .epoch = epoch,
      .service = at(node).service,
      .ingresses =
        [this] {
          std::vector<ingress_id> names;
          for (const auto& [id, one] : all_)
            names.push_back(one.name());
          return names;
        },
    };
    at(node).supervisor = stage.system.spawn(supervisor_behavior, std::move(options));
    ledger.tell(at(node).supervisor);
  }

  // -- the pool at whoever leads

  pool_actor coordinator(std::uint64_t node) {
    return stage.ask<parts_answer>(at(node).supervisor, parts_question{}).pools.at(pool);
  }

  /// The host's agent is there, and what runs on it is ready.
  void agent_comes(std::uint64_t leader) {
    pool::host_reported there{.host = host, .session = 1};
    there.verified = {manifest_digest(ledger::test::artifact_a())};
    there.running.emplace({endpoint.generation});
    pool::replica_reported runs{
      .replica = {"m/cpu-a/a/1@h1"},
      .host = host,
      .session = 1,
      .implementation = ledger::test::impl_a,
      .generation = endpoint.generation,
      .phase = pool::phase::ready,
      .address = endpoint.address,
      .secret = "s3cret",
      .fingerprint = {},
      .slots = slots,
      .devices = {},
      .launch = {},
      .reason = {}};
    auto to = coordinator(leader);
    stage.self->send(to, pool::event{there});
    stage.self->send(to, pool::event{runs});
    stage.settle();
  }

  /// The leader's own word on the replica.
  pool::replica_view replica(std::uint64_t leader) {
    auto view = stage.ask<pool_changed>(coordinator(leader), pool_question{}).view;
    REQUIRE(view->replicas.size() == 1);
    return view->replicas[0];
  }

  // -- what an ingress believes

  std::uint32_t credits(std::uint64_t node) {
    auto counters = at(node).counters->find(endpoint);
    auto granted = counters ? counters->granted() : pool::grant{};
    return granted.until > now() ? granted.credits : 0;
  }
  std::uint32_t all_credits() { return credits(1) + credits(2) + credits(3); }

  bool has_endpoint(std::uint64_t node) {
    const auto* found = at(node).snapshot ? at(node).snapshot->find_endpoint(endpoint) : nullptr;
    return found && found->takes_traffic && found->secret == "s3cret";
  }

  /// As an HTTP thread would.
  pool::reservation use(std::uint64_t node) {
    return pool::reservation::take(at(node).counters->obtain(endpoint), {.now = now()});
  }

  void want(std::uint64_t node, std::uint64_t number, const implementation_id& what) {
    ticket_wanted wanted;
    wanted.ticket.ticket = number;
    wanted.ticket.acceptable = {what};
    wanted.ticket.deadline = now() + std::chrono::seconds{30};
    wanted.answer = [this, node](ticket_answer one) { at(node).answers.push_back(one); };
    caf::anon_send(at(node).ingress, std::move(wanted));
    stage.settle();
  }

  // -- the ways between them

  void cut(std::uint64_t from, std::uint64_t to) {
    cut_.insert({from, to});
    caf::anon_send(at(from).service, peer_down{to});
    stage.settle();
  }
  void mend(std::uint64_t from, std::uint64_t to) {
    cut_.erase({from, to});
    caf::anon_send(at(from).service, peer_up{to});
    stage.settle();
  }

  /// In the name of `from`, whatever it would say itself.
  void say(std::uint64_t from, std::uint64_t to, peers::message what) {
    caf::anon_send(at(to).service, peer_said{from, std::move(what)});
    stage.settle();
  }

  service_answer service(std::uint64_t node) {
    return stage.ask<service_answer>(at(node).service, service_question{});
  }

  /// In steps as short as those in which anything happens by itself. At none of them do the
  /// ingresses together believe in more than the replica has.
  void pass(caf::timespan time) {
    for (auto step = caf::timespan{limits::usage_report_every}; time.count() > 0; time -= step) {
      stage.pass(step);
      CHECK(all_credits() <= slots);
    }
  }
  steady_time now() { return stage.system.clock().now(); }

  test::stage stage;
  fake_ledger ledger{stage};
  std::vector<std::string> stopped; ///< Why a process was to end.

private:
  void make(std::uint64_t node) {
    auto& one = all_[node];
    one.node = node;
    one.ingress = stage.system.spawn(
      ingress_behavior,
      ingress_options{
        one.name(),
        one.counters,
        [&one](std::shared_ptr<const routing::routing_snapshot> next) { one.snapshot = next; },
        [](const std::vector<routing::outcome>&) {}}
    );
    ledger.tell(one.ingress);
    one.service = stage.system.spawn(
      service_links_behavior,
      service_links_options{
        .node = node,
        .name = one.name(),
        .boot = 1,
        .ingress = one.ingress,
        .send = [this, node](
                  std::uint64_t to, const peers::message& what
                ) { return carry(node, to, what); },
        .stop_process = [this](const std::string& why) { stopped.push_back(why); }}
    );
  }

  peers::send_outcome carry(std::uint64_t from, std::uint64_t to, const peers::message& what) {
    if (cut_.contains({from, to}))
      return peers::send_outcome::down;
    auto bytes = wire::encode(what);
    if (!bytes)
      return peers::send_outcome::invalid;
    auto there = wire::decode_peer_message(std::as_bytes(std::span{*bytes}));
    if (!there)
      return peers::send_outcome::invalid;
    caf::anon_send(at(to).service, peer_said{from, *std::move(there)});
    return peers::send_outcome::queued;
  }

  std::map<std::uint64_t, assayd> all_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> cut_;
};

} // namespace assay::test
