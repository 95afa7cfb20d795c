#include "src/ledger/who_served.hpp"

#include "src/ledger/host_duty.hpp"
#include "src/ledger/service.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace assay::ledger {

namespace {

constexpr auto all_seqs = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t waivers_most = 16;   ///< Of one implementation, newest first.
constexpr std::size_t qualified_most = 64; ///< Qualifications looked at until one holds.
constexpr std::size_t service_most = 1'024;

/// The state that the event leads to: it follows from the event alone.
qualification::state state_after(qualification::event e) {
  for (auto from : qualification::states)
    if (auto to = qualification::next(from, e))
      return *to;
  return qualification::first_state;
}

/// What a record says about a qualification's state.
struct said_of_qualification {
  qualification_id id;
  std::optional<qualification::state> state; ///< None: one more stack, which changes no state.
  const qualification_decided* verdict = nullptr;
};

std::optional<said_of_qualification> said_of(const payload& p) {
  if (auto* opened = std::get_if<qualification_opened>(&p))
    return said_of_qualification{opened->id, qualification::first_state, nullptr};
  if (auto* decided = std::get_if<qualification_decided>(&p))
    return said_of_qualification{decided->id, state_after(decided->verdict), decided};
  if (auto* changed = std::get_if<qualification_changed>(&p))
    return said_of_qualification{changed->id, state_after(changed->event), nullptr};
  if (auto* extended = std::get_if<qualification_extended>(&p))
    return said_of_qualification{extended->id, {}, nullptr};
  return {};
}

/// Puts one answer together. Each part returns why it could not be read, if it could not.
class inquiry {
public:
  inquiry(const chronicle& c, const model_id& route, wall_ms at, bool indexed)
    : chronicle_{c}, tables_{c.now()}, indexed_{indexed} {
    answer_.route = route;
    answer_.at = at;
    answer_.cluster = tables_.head.cluster.value_or(uuid{});
    answer_.as_of_seq = tables_.head.seq;
    answer_.as_of_chain = tables_.head.chain;
  }

  result<served, problem> run() {
    auto last = last_record_at(chronicle_, answer_.at);
    if (!last)
      return unexpected{last.error()};
    last_ = *last;
    // The tables' own time moves with entries that are no records; exports do not have those.
    auto newest = chronicle_.stamped_at(tables_.head.seq);
    if (!newest)
      return unexpected{newest.error()};
    answer_.as_of = *newest;
    for (auto part :
         {&inquiry::find_change,
          &inquiry::find_next,
          &inquiry::find_move,
          &inquiry::find_carriers,
          &inquiry::find_service,
          &inquiry::find_kept_hosts})
      if (auto done = (this->*part)(); !done)
        return unexpected{done.error()};
    find_way_back();
    return std::move(answer_);
  }

private:
  using done = result<void, problem>;
  using found = result<std::optional<kept_record>, problem>;

  record_walk changes(std::uint64_t from, direction where) const {
    return {
      chronicle_,
      subject_of(indexed_ ? indexes::route_change : "route", answer_.route.value),
      from,
      where};
  }
  record_walk of_implementation(std::string_view index, const implementation_id& id) const {
    return {
      chronicle_,
      subject_of(indexed_ ? index : "implementation", id.value),
      last_,
      direction::older};
  }
  record_walk of(std::string_view kind, std::string_view name) const {
    return {chronicle_, subject_of(kind, name), last_, direction::older};
  }

  done find_change() {
    auto r = first_of<move_route_changed>(changes(last_, direction::older));
    if (!r)
      return unexpected{r.error()};
    if (!*r)
      return unexpected{nothing_yet()};
    const auto& p = std::get<move_route_changed>((*r)->record.payload);
    answer_.generation = p.generation;
    answer_.carried = p.carried;
    answer_.event = p.event;
    answer_.guards = p.guards;
    answer_.changed = cite(**r);
    answer_.move = p.id;
    return {};
  }

  problem nothing_yet() const {
    auto generation = tables_.routes->at(answer_.route).route.generation;
    return {
      problem_kind::not_found,
      "route \"" + answer_.route.value + "\" carried nothing yet at " + time_text(answer_.at),
      {},
      "it is at generation " + std::to_string(generation)
        + " now; assay history ROUTE shows since when"};
  }

  done find_next() {
    auto r = first_of<move_route_changed>(changes(last_ + 1, direction::newer));
    if (!r)
      return unexpected{r.error()};
    if (*r && (*r)->stamp.seq <= tables_.head.seq)
      answer_.until = cite(**r);
    return {};
  }

  done find_move() {
    // Its first records: read from that end.
    record_walk records{chronicle_, subject_of("move", answer_.move.value), 1, direction::newer};
    auto asked = first_of<move_proposed>(records);
    if (!asked)
      return unexpected{asked.error()};
    auto authorised = first_of<move_authorised>(records);
    if (!authorised)
      return unexpected{authorised.error()};
    if (*asked) {
      const auto& p = std::get<move_proposed>((*asked)->record.payload);
      answer_.proposed = cite(**asked);
      answer_.cause = p.cause;
      answer_.inverse_of = p.inverse_of;
      answer_.policy = p.policy;
      answer_.guarded = p.guarded;
      answer_.undo.plan = p.inverse;
    }
    if (*authorised) {
      answer_.authorised = cite(**authorised);
      authorisation_ = std::get<move_authorised>((*authorised)->record.payload);
    }
    return {};
  }

  done find_carriers() {
    for (const auto& id : moves::carriers(answer_.carried)) {
      carrier one{id, {}, {}};
      if (auto d = find_qualifications(one); !d)
        return d;
      if (auto d = find_waivers(one); !d)
        return d;
      answer_.carriers.push_back(std::move(one));
    }
    return {};
  }

  /// Those that the move was authorised by, and the newest that holds if it is another.
  done find_qualifications(carrier& to) {
    for (const auto& id : authorisation_.qualifications) {
      auto* row = find(tables_.qualifications, id);
      if (!row || row->implementation != to.implementation)
        continue;
      auto q = qualification_at(*row);
      if (!q)
        return unexpected{q.error()};
      q->authorised = true;
      to.qualifications.push_back(*std::move(q));
    }
    if (std::ranges::any_of(to.qualifications, &cited_qualification::holds))
      return {};
    return find_holding(to);
  }

  /// The newest that holds, of those that are not named yet.
  done find_holding(carrier& to) {
    std::set<qualification_id> seen;
    for (const auto& q : to.qualifications)
      seen.insert(q.id);
    auto records = of_implementation(indexes::qualification_of, to.implementation);
    while (seen.size() < qualified_most) {
      auto one = records.step();
      if (!one)
        return unexpected{one.error()};
      if (!*one)
        return {};
      auto said = said_of((*one)->record.payload);
      auto* row =
        said && seen.insert(said->id).second ? find(tables_.qualifications, said->id) : nullptr;
      if (!row)
        continue;
      auto q = qualification_at(*row);
      if (!q)
        return unexpected{q.error()};
      if (q->holds) {
        to.qualifications.push_back(*std::move(q));
        return {};
      }
    }
    return {};
  }

  result<cited_qualification, problem> qualification_at(const qualification_row& row) {
    cited_qualification q;
    q.id = row.id;
    q.policy = row.policy.name;
    q.policy_record = row.policy_record;
    q.suite = row.suite;
    q.manifest = row.manifest;
    q.profile = row.profile;
    auto records = of("qualification", row.id.value);
    while (!q.verdict) {
      auto one = records.step();
      if (!one)
        return unexpected{one.error()};
      if (!*one)
        break;
      auto said = said_of((*one)->record.payload);
      if (!said || !said->state || said->id != row.id)
        continue;
      if (q.since.seq == 0) {
        q.state = *said->state;
        q.since = cite(**one);
      }
      if (said->verdict && *said->state == qualification::state::qualified)
        add_verdict(q, **one, *said->verdict, row);
    }
    q.holds = q.state == qualification::state::qualified && q.expires_at > answer_.at;
    return q;
  }

  void add_verdict(
    cited_qualification& to,
    const kept_record& r,
    const qualification_decided& said,
    const qualification_row& row
  ) const {
    to.verdict = cite(r);
    to.expires_at = said.expires_at;
    if (said.expires_at == wall_ms{})
      to.expires_at = {
        r.stamp.stamped_at.value + std::chrono::milliseconds{row.policy.valid_for}.count()};
    for (const auto& id : said.runs)
      if (auto* run = find(tables_.runs, id))
        to.runs.push_back(
          {id,
           run->seq,
           run->record,
           run->run.stage,
           run->run.items,
           run->run.passed,
           run->run.host,
           run->run.fingerprint,
           run->run.blobs}
        );
  }

  /// Those that the move was authorised by, and those of the newest that hold.
  done find_waivers(carrier& to) {
    for (const auto& id : authorisation_.waivers) {
      auto* row = find(tables_.waivers, id);
      if (!row || row->waiver.implementation != to.implementation)
        continue;
      auto granted = first_of<waiver>(of("waiver", id));
      if (!granted)
        return unexpected{granted.error()};
      if (*granted)
        if (auto d = add_waiver(to, **granted, true); !d)
          return d;
    }
    auto records = of_implementation(indexes::waiver_of, to.implementation);
    for (std::size_t looked_at = 0; looked_at < waivers_most;) {
      auto one = records.step();
      if (!one)
        return unexpected{one.error()};
      if (!*one)
        return {};
      auto* w = std::get_if<waiver>(&(*one)->record.payload);
      if (!w)
        continue;
      ++looked_at;
      if (std::ranges::find(authorisation_.waivers, w->id) == authorisation_.waivers.end())
        if (auto d = add_waiver(to, **one, false); !d)
          return d;
    }
    return {};
  }

  done add_waiver(carrier& to, const kept_record& granted, bool authorised) {
    const auto& w = std::get<waiver>(granted.record.payload);
    auto ended = first_of<waiver_ended>(of("waiver", w.id));
    if (!ended)
      return unexpected{ended.error()};
    cited_waiver cited{w.id, authorised, false, w.gates, w.expires_at, cite(granted), {}};
    if (*ended)
      cited.ended = cite(**ended);
    cited.holds = !cited.ended && w.expires_at > answer_.at;
    if (cited.authorised || cited.holds)
      to.waivers.push_back(std::move(cited));
    return {};
  }

  done find_service() {
    auto hour = service_hour_name(answer_.route, hour_of(answer_.at));
    auto seqs =
      chronicle_.about(subject_of("service_hour", hour), 0, direction::newer, service_most);
    if (!seqs)
      return unexpected{seqs.error()};
    for (auto seq : *seqs) {
      if (seq > tables_.head.seq)
        break;
      auto record = chronicle_.record_at(seq);
      if (!record)
        return unexpected{record.error()};
      if (auto* s = std::get_if<serving_summary>(&record->record.payload))
        answer_.service.push_back({*s, cite(*record)});
    }
    return {};
  }

  done find_kept_hosts() {
    std::set<pool_id> pools;
    for (const auto& one : answer_.carriers)
      if (auto* row = find(tables_.implementations, one.implementation))
        pools.insert(row->what.pool);
    auto kept = standings_at(chronicle_, last_, pools);
    if (!kept)
      return unexpected{kept.error()};
    answer_.kept_hosts = *std::move(kept);
    return {};
  }

  void find_way_back() {
    auto& undo = answer_.undo;
    auto* row = find(tables_.moves, answer_.move);
    auto* route = find(tables_.routes, answer_.route);
    if (!row || !route)
      return;
    undo.changes_since = route->route.generation - answer_.generation;
    if (route->by != answer_.move) {
      undo.first = {route->by};
      undo.command = "assay reverse " + route->by.value;
      undo.why =
        "the route was changed "
        + (undo.changes_since == 1 ? "once" : std::to_string(undo.changes_since) + " times")
        + " since, last by move " + route->by.value
        + "; later moves are reversed first, the last one before the others, down to "
        + answer_.move.value;
      return;
    }
    if (undo.plan.irreversible) {
      undo.why = "the move was declared irreversible: " + undo.plan.note;
      return;
    }
    if (row->state != moves::state::committed && !moves::is_open(row->state)) {
      undo.why = "the move is " + std::string{moves::name(row->state)}
                 + ": what it changed was taken back; it left nothing to undo";
      return;
    }
    undo.command = "assay reverse " + answer_.move.value;
    undo.why = "each implementation of the way back is checked again before it carries anything";
  }

  const chronicle& chronicle_;
  const tables& tables_;
  bool indexed_;
  std::uint64_t last_ = 0; ///< The newest record of the instant.
  move_authorised authorisation_;
  served answer_;
};

} // namespace

result<served, problem> who_served(const chronicle& c, const model_id& route, wall_ms at) {
  if (!find(c.now().routes, route))
    return unexpected{no_route(c.now(), route)};
  auto indexed = has_indexes(c);
  if (!indexed)
    return unexpected{indexed.error()};
  return inquiry{c, route, at, *indexed}.run();
}

} // namespace assay::ledger
