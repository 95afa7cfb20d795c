#include "actors/ingress.hpp"

#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/ledger/serving.hpp"

#include <algorithm>

namespace assay {

namespace {

/// Hosts whose agents do not report to their pools.
std::set<host_id> silent_in(const std::map<pool_id, std::shared_ptr<const pool::pool_view>>& views
) {
  std::set<host_id> silent;
  for (const auto& [id, view] : views)
    for (const auto& host : view->hosts)
      if (!host.connected)
        silent.insert(host.id);
  return silent;
}

void tell_ruling(
  const pool::endpoint_key& where, pool::standing before, const pool::admission& what
) {
  auto is_news = pool::is_out(what.standing) || pool::is_out(before);
  if (!is_news)
    return;
  log::warn(
    "replica_standing",
    {{"endpoint", where.address},
     {"generation", std::to_string(where.generation)},
     {"was", std::string{name(before)}},
     {"is", std::string{name(what.standing)}},
     {"left_out", what.tokens == pool::no_limit ? "no" : "yes"}}
  );
}

} // namespace

void ingress_state::begin(ingress_options options) {
  options_ = std::move(options);
  tally_.emplace(options_.name.value, options_.boot);
  self_->delayed_send(self_, limits::usage_report_every, tick{});
}

// -- the snapshot

void ingress_state::learn(const tables_changed& what) {
  tables_ = what;
  rebuild();
}

void ingress_state::learn(const pool_changed& what) {
  const auto& id = what.view->pool;
  auto& mine = continued_[id];
  if (!mine.learn(what.view, self_->clock().now()))
    return; // Of a coordinator that another one has followed.
  views_[id] = mine.shown();
  rebuild();
}

void ingress_state::learn(const pools_known& what) {
  auto before = std::exchange(pools_, what);
  forget_gone_pools();
  for (const auto& [id, pool] : pools_.pools) {
    auto known = before.pools.find(id);
    if (known != before.pools.end() && known->second == pool)
      report(id);
    else
      meet(id);
  }
  rebuild();
}

/// It numbers its grants anew, knows of us what we report, and has none of our tickets.
void ingress_state::meet(const pool_id& id) {
  const auto& pool = pools_.pools.at(id);
  self_->send(pool, ingress_up{options_.name, ingress_actor{self_}});
  if (auto view = views_.find(id); view != views_.end())
    for (const auto& replica : view->second->replicas)
      grants_.erase(replica.key());
  report(id);
  for (const auto& [number, one] : tickets_)
    if (one.asked.contains(id))
      self_->send(pool, pool::event{one.ticket});
}

/// A pool that is gone answers nothing any more: who waits for it alone is turned away.
void ingress_state::forget_gone_pools() {
  auto is_gone = [this](const pool_id& id) { return !pools_.pools.contains(id); };
  std::erase_if(continued_, [&](const auto& one) { return is_gone(one.first); });
  std::erase_if(views_, [&](const auto& one) { return is_gone(one.first); });
  std::erase_if(settled_, [&](const auto& one) { return is_gone(one.first); });
  std::erase_if(admitted_by_, [&](const auto& one) { return is_gone(one.second); });
  std::vector<std::uint64_t> hopeless;
  for (auto& [number, ticket] : tickets_)
    if (std::erase_if(ticket.asked, is_gone) > 0 && ticket.asked.empty())
      hopeless.push_back(number);
  for (auto number : hopeless)
    turn_away(number);
}

void ingress_state::rebuild() {
  if (!tables_.tables)
    return;
  auto clock_error = options_.clock->error_ms();
  snapshot_ = ledger::build_snapshot(
    ++generation_,
    {*tables_.tables, views_, *options_.counters, rates_, options_.clock->now(), options_.loopback},
    snapshot_.get()
  );
  dirty_ = false;
  built_at_error_ = clock_error;
  rule();
  options_.post(snapshot_);
}

/// HTTP threads see a ruling at once: it lies beside the counters, not in their snapshot.
void ingress_state::rule() {
  if (!snapshot_)
    return;
  auto all = routing::patients_in(*snapshot_, silent_in(views_));
  auto rulings = health_.rule(all, self_->clock().now());
  for (std::size_t n = 0; n < all.size(); ++n) {
    auto counters = options_.counters->obtain(all[n].key);
    const auto& what = rulings[n].what;
    auto before = counters->ruled();
    if (before.standing != what.standing || before.is_spared != what.is_spared)
      tell_ruling(all[n].key, before.standing, what);
    counters->rule(what, all[n].tokens);
  }
}

void ingress_state::take(const outcomes& what) {
  auto now = self_->clock().now();
  auto is_due = false;
  for (const auto& one : what.all) {
    for (const auto& failed : one.failed_attempts)
      is_due |= health_.learn(failed.endpoint, failed.how, failed.retry_after, now);
    if (!one.endpoint.address.empty())
      is_due |= health_.learn(one.endpoint, one.how, one.retry_after, now);
    if (auto lesson = routing::lesson_of(one)) {
      rates_.learn(one.endpoint, *lesson, now);
      dirty_ = true;
    }
  }
  if (is_due)
    rule();
  options_.count(what.all);
  tally_->add(what.all);
  // Somebody waits: what was just freed is theirs, and must be known at once.
  if (!tickets_.empty())
    for (const auto& [id, pool] : pools_.pools)
      report(id);
}

// -- leases

void ingress_state::accept(const pool::grant_lease& what) {
  if (!pools_.pools.contains(sender()))
    return; // Of a coordinator that another one has followed.
  options_.counters->obtain(what.endpoint)->accept(what.grant);
  grants_[what.endpoint] = what.number;
}

/// What this ingress holds and uses in that pool. The report also renews the leases.
void ingress_state::report(const pool_id& to) {
  auto pool = pools_.pools.find(to);
  auto view = views_.find(to);
  if (pool == pools_.pools.end() || !options_.serves)
    return;
  pool::ingress_reported report{
    .ingress = options_.name, .holdings = {}, .settled = {}, .seq = routed_by()};
  for (const auto& usage : options_.counters->usages()) {
    auto is_theirs =
      view != views_.end() && std::ranges::any_of(view->second->replicas, [&](const auto& r) {
        return r.key() == usage.key;
      });
    if (is_theirs)
      report.holdings.push_back(
        {usage.key, usage.credits, usage.in_flight, usage.finished, grants_[usage.key]}
      );
  }
  report.settled = std::move(settled_[to]);
  settled_.erase(to);
  self_->send(pool->second, pool::event{std::move(report)});
}

void ingress_state::pass() {
  for (auto& [id, pool] : continued_)
    if (pool.pass(self_->clock().now())) {
      views_[id] = pool.shown();
      dirty_ = true;
    }
  for (const auto& [id, pool] : pools_.pools)
    report(id);
  if (dirty_ || built_at_error_ != options_.clock->error_ms())
    rebuild();
  else
    rule();
  std::vector<pool::endpoint_key> known;
  for (const auto& [id, view] : views_)
    for (const auto& replica : view->replicas)
      known.push_back(replica.key());
  options_.counters->retain(known);
  std::erase_if(grants_, [&](const auto& one) {
    return std::ranges::find(known, one.first) == known.end();
  });
  rates_.sweep(self_->clock().now());
  if (auto over = tally_->take_closed(options_.clock->now()); !over.empty())
    options_.tell(std::move(over));
  self_->delayed_send(self_, limits::usage_report_every, tick{});
}

// -- tickets

/// Asks every pool that could serve the request; the first that admits it gets it.
void ingress_state::ask(ticket_wanted& what) {
  auto number = what.ticket.ticket;
  what.ticket.ingress = options_.name;
  auto& ticket = tickets_[number];
  ticket.ticket = std::move(what.ticket);
  ticket.answer = std::move(what.answer);
  ticket.asked.clear();
  for (const auto& id : ticket.ticket.acceptable) {
    auto at = snapshot_ ? snapshot_->find_implementation(id.value) : routing::none;
    if (at == routing::none)
      continue;
    const auto& pool = snapshot_->implementations()[at].pool;
    auto to = pools_.pools.find(pool);
    if (to != pools_.pools.end() && ticket.asked.insert(pool).second)
      self_->send(to->second, pool::event{ticket.ticket});
  }
  // Asked again, because the credit that was promised could not be taken: whoever promised it and
  // is not asked now would keep it.
  if (auto by = admitted_by_.extract(number); by && !ticket.asked.contains(by.mapped()))
    withdraw(by.mapped(), number);
  if (ticket.asked.empty())
    turn_away(number);
}

void ingress_state::turn_away(std::uint64_t number) {
  auto found = tickets_.extract(number);
  found.mapped().answer(pool::refuse_ticket{
    .ingress = options_.name, .ticket = number, .why = pool::ticket_refusal::no_replica});
}

void ingress_state::withdraw(const pool_id& at, std::uint64_t number) {
  if (auto pool = pools_.pools.find(at); pool != pools_.pools.end())
    self_->send(pool->second, pool::event{pool::ticket_withdrawn{options_.name, number}});
}

void ingress_state::drop(const ticket_dropped& what) {
  if (auto found = tickets_.extract(what.ticket))
    for (const auto& id : found.mapped().asked)
      withdraw(id, what.ticket);
  if (auto by = admitted_by_.extract(what.ticket))
    withdraw(by.mapped(), what.ticket);
}

void ingress_state::admit(const pool::admit_ticket& what) {
  auto mine = sender();
  if (!pools_.pools.contains(mine))
    return;
  auto found = tickets_.extract(what.ticket);
  // Admitted by two pools, or after the client left: the credit goes back at once.
  if (!found)
    return withdraw(mine, what.ticket);
  for (const auto& id : found.mapped().asked)
    if (id != mine)
      withdraw(id, what.ticket);
  admitted_by_[what.ticket] = mine;
  found.mapped().answer(what);
}

void ingress_state::refuse(const pool::refuse_ticket& what) {
  auto found = tickets_.find(what.ticket);
  if (found == tickets_.end())
    return;
  // Of several pools that were asked, the last one to refuse is the answer.
  auto& ticket = found->second;
  if (ticket.asked.erase(sender()) == 0 || !ticket.asked.empty())
    return;
  auto answer = std::move(ticket.answer);
  tickets_.erase(found);
  answer(what);
}

void ingress_state::settle(const ticket_settled& what) {
  if (auto by = admitted_by_.extract(what.ticket))
    settled_[by.mapped()].push_back(what.ticket);
}

/// The pool whose word is being handled. An endpoint would not do: a pool admits to a replica
/// before the view that shows its address is here.
pool_id ingress_state::sender() const {
  for (const auto& [id, pool] : pools_.pools)
    if (pool == self_->current_sender())
      return id;
  return {};
}

// -- questions

explain_answer ingress_state::explain(const explain_question& what) const {
  auto refused = [](std::string text, std::string next) {
    return explain_answer{
      unexpected{problem{problem_kind::not_found, std::move(text), {}, std::move(next)}}};
  };
  if (!snapshot_ || snapshot_->find_model(what.model) == routing::none)
    return refused("there is no model '" + what.model + "'", "assay get models lists them");
  const routing::key* asker = nullptr;
  for (const auto& key : snapshot_->keys())
    if (key.id.value == what.key || (what.key.empty() && key.traffic == contract::traffic_class::interactive))
      asker = asker ? asker : &key;
  if (!asker)
    return refused(
      what.key.empty() ? "there is no interactive key yet" : "there is no key '" + what.key + "'",
      "declare one: key: NAME"
    );
  const auto& model = snapshot_->models()[snapshot_->find_model(what.model)];
  auto shape = routing::asked_by(model, what.shape, what.operation);
  routing::query query{
    .model = what.model,
    .caller = routing::caller_of(*snapshot_, *asker),
    .shape = shape,
    .now = self_->clock().now(),
    .wall = options_.clock->now(),
  };
  return {routing::explain(*snapshot_, query)};
}

routes_answer ingress_state::routes() const {
  ledger::ingress_runs mine{.name = options_.name.value, .seq = routed_by()};
  mine.heard_at = self_->clock().now();
  return {{mine}, snapshot_ ? routing::out_of_reach(*snapshot_) : std::vector<std::string>{}};
}

/// Posted snapshots reach every HTTP thread in order; what was posted last is what they run or are
/// about to.
std::uint64_t ingress_state::routed_by() const {
  return tables_.tables && snapshot_ ? tables_.tables->head.seq : 0;
}

service_ended ingress_state::end_service() {
  options_.tell(tally_->take_all());
  return {};
}

ingress_actor::behavior_type
ingress_behavior(ingress_actor::stateful_pointer<ingress_state> self, ingress_options options) {
  self->state.begin(std::move(options));
  return {
    [self](const tables_changed& what) { self->state.learn(what); },
    [self](const pool_changed& what) { self->state.learn(what); },
    [self](const pools_known& what) { self->state.learn(what); },
    [self](const pool::grant_lease& what) { self->state.accept(what); },
    [self](const pool::admit_ticket& what) { self->state.admit(what); },
    [self](const pool::refuse_ticket& what) { self->state.refuse(what); },
    [self](const outcomes& what) { self->state.take(what); },
    [self](ticket_wanted& what) { self->state.ask(what); },
    [self](const ticket_dropped& what) { self->state.drop(what); },
    [self](const ticket_settled& what) { self->state.settle(what); },
    [self](const explain_question& what) { return self->state.explain(what); },
    [self](routes_question) { return self->state.routes(); },
    [self](assay::end_service) { return self->state.end_service(); },
    [self](tick) { self->state.pass(); },
  };
}

} // namespace assay
