#include "actors/service_links.hpp"

#include "actors/ingress_link.hpp"
#include "actors/pool_link.hpp"
#include "src/base/log.hpp"
#include "src/base/overloaded.hpp"
#include "src/base/peer_limits.hpp"

#include <algorithm>

namespace assay {

void service_links_state::begin(service_links_options options) {
  options_ = std::move(options);
  self_->set_down_handler([this](const caf::down_msg& down) {
    auto who = watched_.extract(down.source);
    // We end links ourselves when another takes their place; any other end is a bug.
    if (who && down.reason != caf::exit_reason::user_shutdown)
      options_.stop_process(who.mapped() + " ended by itself: " + caf::to_string(down.reason));
  });
  self_->set_exit_handler([this](const caf::exit_msg& exit) {
    end_pool_links();
    end_ingress_links();
    self_->quit(exit.reason);
  });
  self_->delayed_send(self_, limits::service_hello_every, tick{});
}

template <class Handle>
void service_links_state::watch(const Handle& who, std::string called) {
  watched_[who.address()] = std::move(called);
  self_->monitor(who);
}

template <class Handle>
void service_links_state::end(const Handle& who) {
  self_->send_exit(who, caf::exit_reason::user_shutdown);
}

void service_links_state::end_pool_links() {
  for (const auto& [id, link] : pool_links_)
    end(link);
  pool_links_.clear();
}

void service_links_state::end_ingress_links() {
  for (const auto& [node, one] : ingress_links_)
    end(one.link);
  ingress_links_.clear();
}

// -- who leads

void service_links_state::learn(const standing& what) {
  if (what.epoch < standing_.epoch || what == standing_)
    return;
  // INGRESS LINKs belong to the pools of one epoch. POOL LINKs stay in their places until others
  // are there to take them.
  if (!what.leads || what.epoch != standing_.epoch)
    end_ingress_links();
  standing_ = what;
  has_pools_ = false;
  take_local_pools();
  greet();
}

void service_links_state::note(const peer_up& what) {
  up_.insert(what.node);
  if (auto found = ingress_links_.find(what.node); found != ingress_links_.end())
    self_->send(found->second.link, reached{true});
  // What the old connection held is lost, so that our pools have to begin anew.
  if (what.node == standing_.leader)
    has_pools_ = has_pools_ && standing_.leads;
  greet();
}

void service_links_state::note(const peer_down& what) {
  up_.erase(what.node);
  if (auto found = ingress_links_.find(what.node); found != ingress_links_.end())
    self_->send(found->second.link, reached{false});
}

void service_links_state::pass() {
  greet();
  self_->delayed_send(self_, limits::service_hello_every, tick{});
}

template <class Word>
bool service_links_state::is_from_leader(std::uint64_t node, const Word& what) {
  auto is_late = what.epoch < standing_.epoch;
  auto is_leader = !standing_.leads && node == standing_.leader && what.epoch == standing_.epoch;
  counters_.late += is_late ? 1 : 0;
  counters_.misplaced += !is_late && !is_leader ? 1 : 0;
  return is_leader;
}

template <class Word>
bool service_links_state::is_to_leader(const Word& what) {
  auto is_late = what.epoch < standing_.epoch;
  auto is_ours = standing_.leads && what.epoch == standing_.epoch;
  counters_.late += is_late ? 1 : 0;
  counters_.misplaced += !is_late && !is_ours ? 1 : 0;
  return is_ours;
}

void service_links_state::hear(const peer_said& what) {
  auto node = what.node;
  auto to_ingress = [&](const auto& word) {
    if (is_to_leader(word))
      hand_over(node, word);
  };
  auto to_pool = [&](const auto& word) {
    if (is_from_leader(node, word))
      pass_on(word.pool, word);
  };
  std::visit(
    overloaded{
      [&](const peers::ingress_hello& word) { return welcome(node, word); },
      [&](const peers::ingress_report& word) {
        note_routes(node, word);
        to_ingress(word);
      },
      [&](const peers::ticket_ask& word) { return to_ingress(word); },
      [&](const peers::ticket_withdraw& word) { return to_ingress(word); },
      [&](const peers::pools_now& word) {
        if (is_from_leader(node, word))
          take(word);
      },
      [&](const peers::pool_state& word) {
        if (is_from_leader(node, word))
          pass_on(word.view.pool, word);
      },
      [&](const peers::lease& word) { return to_pool(word); },
      [&](const peers::ticket_admit& word) { return to_pool(word); },
      [&](const peers::ticket_refuse& word) { return to_pool(word); },
      [&](const auto&) { ++counters_.unknown; }, // Of another lane: not for us.
    },
    what.what
  );
}

// -- following

/// Until the leader's pools are here. The leader may not know yet that it is one.
void service_links_state::greet() {
  auto leader = standing_.leader;
  if (standing_.leads || has_pools_ || leader == options_.node || !up_.contains(leader))
    return;
  options_.send(leader, peers::ingress_hello{standing_.epoch, options_.name, options_.boot});
}

/// New links even for pools that had one: INGRESS then asks again what may have been lost.
void service_links_state::take(const peers::pools_now& what) {
  auto before = std::exchange(pool_links_, {});
  pools_known known;
  for (const auto& id : what.pools) {
    auto say = [send = options_.send, to = standing_.leader](const peers::message& word) {
      return send(to, word);
    };
    pool_link_options options{id, what.epoch, options_.name, options_.ingress, std::move(say)};
    auto link = self_->spawn(pool_link_behavior, std::move(options));
    watch(link, "POOL LINK of " + id.value);
    known.pools[id] = link;
    pool_links_[id] = std::move(link);
  }
  has_pools_ = true;
  self_->send(options_.ingress, std::move(known));
  for (const auto& [id, link] : before)
    end(link);
}

template <class Word>
void service_links_state::pass_on(const pool_id& pool, const Word& what) {
  if (auto found = pool_links_.find(pool); has_pools_ && found != pool_links_.end())
    self_->send(found->second, what);
  else
    ++counters_.unknown;
}

// -- leading

void service_links_state::learn(const local_pools& what) {
  if (local_ && what.epoch < local_->epoch)
    return;
  local_ = what;
  take_local_pools();
}

void service_links_state::take_local_pools() {
  if (!standing_.leads || !local_ || local_->epoch != standing_.epoch)
    return;
  has_pools_ = true;
  self_->send(options_.ingress, pools_known{local_->pools});
  end_pool_links();
  for (const auto& [node, one] : ingress_links_)
    self_->send(one.link, pools_known{local_->pools});
}

/// By us, by another process, or this one has said another name.
bool service_links_state::is_taken(std::uint64_t by, const ingress_id& wanted) const {
  return wanted == options_.name || std::ranges::any_of(ingress_links_, [&](const auto& one) {
           return (one.second.name == wanted) != (one.first == by);
         });
}

void service_links_state::welcome(std::uint64_t node, const peers::ingress_hello& what) {
  if (!is_to_leader(what))
    return;
  if (is_taken(node, what.ingress)) {
    ++counters_.conflicting;
    log::warn(
      "ingress_name_conflict",
      {{"node", std::to_string(node)},
       {"ingress", what.ingress.value},
       {"next", "it gets no pools; give each assayd an ingress name of its own"}}
    );
    return;
  }
  auto found = ingress_links_.find(node);
  if (found == ingress_links_.end())
    return make_link(node, what);
  auto restarted = std::exchange(found->second.boot, what.boot) != what.boot;
  if (restarted)
    found->second.seq.reset();
  self_->send(found->second.link, begin_anew{restarted});
}

void service_links_state::make_link(std::uint64_t node, const peers::ingress_hello& what) {
  auto say = [send = options_.send, node](const peers::message& word) { return send(node, word); };
  ingress_link_options options{what.ingress, what.epoch, std::move(say), up_.contains(node)};
  auto link = self_->spawn(ingress_link_behavior, std::move(options));
  watch(link, "INGRESS LINK of " + what.ingress.value);
  if (has_pools_)
    self_->send(link, pools_known{local_->pools});
  ingress_links_[node] = {what.ingress, what.boot, std::move(link), {}, self_->clock().now()};
}

void service_links_state::note_routes(std::uint64_t node, const peers::ingress_report& what) {
  auto found = ingress_links_.find(node);
  if (found == ingress_links_.end() || !standing_.leads || what.epoch != standing_.epoch)
    return;
  found->second.seq = what.seq;
  found->second.heard_at = self_->clock().now();
}

template <class Word>
void service_links_state::hand_over(std::uint64_t node, const Word& what) {
  if (auto found = ingress_links_.find(node); found != ingress_links_.end())
    self_->send(found->second.link, what);
  else
    ++counters_.unknown;
}

service_answer service_links_state::look() const {
  auto answer = counters_;
  answer.now = standing_;
  answer.has_pools = has_pools_;
  answer.ingresses = ingress_links_.size();
  return answer;
}

routes_answer service_links_state::routes() const {
  routes_answer answer;
  for (const auto& [node, one] : ingress_links_)
    answer.ingresses.push_back({node, one.name.value, one.seq, one.heard_at});
  return answer;
}

service_links_actor::behavior_type service_links_behavior(
  service_links_actor::stateful_pointer<service_links_state> self, service_links_options options
) {
  self->state.begin(std::move(options));
  return {
    [self](const standing& what) { self->state.learn(what); },
    [self](const peer_up& what) { self->state.note(what); },
    [self](const peer_down& what) { self->state.note(what); },
    [self](const peer_said& what) { self->state.hear(what); },
    [self](const local_pools& what) { self->state.learn(what); },
    [self](service_question) { return self->state.look(); },
    [self](routes_question) { return self->state.routes(); },
    [self](tick) { self->state.pass(); },
  };
}

} // namespace assay
