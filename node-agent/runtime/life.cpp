#include "node-agent/runtime/life.hpp"

#include "src/base/overloaded.hpp"

namespace assay::agent::life {

namespace {

std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

step stay(state same) {
  return {std::move(same), {}};
}

step move_to(state next) {
  return {std::move(next), {report{}}};
}

step suspect_because(steady_time now, std::string why) {
  return move_to(suspect{now, 0, std::move(why)});
}

/// Stops a runtime of ours that does not work; somebody else's stays suspect.
step give_up(const rules& rules, const state& current, std::string why) {
  if (!rules.ours)
    return stay(current);
  return {stopping{std::move(why), true}, {stop_runtime{}, report{}}};
}

step stop(const rules& rules, std::string why) {
  if (!rules.ours)
    return move_to(gone{std::move(why), false});
  return {stopping{std::move(why), false}, {stop_runtime{}, report{}}};
}

step begin_proof(steady_time since) {
  return {proving{since}, {prove{}, report{}}};
}

std::string stranger_text(const sighted& e) {
  return "the port is not this replica's: " + e.detail;
}

std::string unknown_text(const sighted& e) {
  return "an answer that the profile does not classify: " + e.detail;
}

step see_while_loading(const rules& rules, loading s, const sighted& e) {
  switch (e.verdict) {
  case verdict::good:
    if (++s.good >= rules.ready_times)
      return begin_proof(s.since);
    return stay(s);
  case verdict::stranger:
    return give_up(rules, s, stranger_text(e));
  case verdict::unclassified:
    return suspect_because(e.now, unknown_text(e));
  case verdict::loading:
  case verdict::saturated:
  case verdict::unreachable:
    s.good = 0;
    return stay(s);
  }
  return stay(s);
}

/// A serving replica: `Same` is its state, `Other` what it becomes when load changes.
template <class Same, class Other>
step see_while_serving(const rules& rules, Same s, const sighted& e, verdict same, verdict other) {
  if (e.verdict == same)
    return stay(Same{});
  if (e.verdict == other)
    return move_to(Other{});
  if (e.verdict == verdict::stranger)
    return give_up(rules, s, stranger_text(e));
  if (e.verdict == verdict::loading)
    return suspect_because(e.now, "it loads again: " + e.detail);
  // A busy server that gets on is never doubted for a shallow probe alone.
  if (e.progressed)
    return stay(Same{});
  if (++s.bad < rules.live_failures)
    return stay(s);
  return suspect_because(
    e.now, e.verdict == verdict::unreachable ? "it does not answer: " + e.detail : unknown_text(e)
  );
}

step see_while_suspect(const rules& rules, suspect s, const sighted& e) {
  if (e.verdict == verdict::stranger)
    return give_up(rules, s, stranger_text(e));
  if (e.progressed)
    s.since = e.now;
  if (e.verdict == verdict::loading)
    return move_to(loading{e.now, 0});
  s.good = e.verdict == verdict::good || e.verdict == verdict::saturated ? s.good + 1 : 0;
  return s.good >= rules.ready_times ? begin_proof(e.now) : stay(s);
}

step tick_limit(
  const rules& rules,
  const state& current,
  steady_time since,
  steady_time now,
  std::chrono::milliseconds limit,
  std::string_view what
) {
  if (now - since < limit)
    return stay(current);
  return give_up(rules, current, std::string{what} + " for " + seconds_text(limit));
}

/// The runtime has ended. Unless a stop was asked for, that is a failure.
step end(const state& current, const ended& e) {
  if (std::holds_alternative<gone>(current))
    return stay(current);
  const auto* s = std::get_if<stopping>(&current);
  if (!s)
    return move_to(gone{e.meaning, true});
  return move_to(gone{s->failed ? s->why + "; " + e.meaning : s->why, s->failed});
}

/// A runtime that serves or may soon: asked to stop, it drains first.
step drain(const rules& rules, const stop_asked& e) {
  if (e.grace <= std::chrono::milliseconds{0} || !rules.ours)
    return stop(rules, e.why);
  return move_to(draining{e.now + e.grace, e.why});
}

} // namespace

step advance(const rules& rules, const state& current, const event& what) {
  if (const auto* e = std::get_if<ended>(&what))
    return end(current, *e);
  return std::visit(
    overloaded{
      // Nothing follows the end, and nothing but the end follows an order to stop.
      [](const gone& s, const auto&) { return stay(s); },
      [](const stopping& s, const launch_failed& e) {
        return move_to(gone{e.why, s.failed});
      },
      [](const stopping& s, const auto&) { return stay(s); },

      [&](const absent&, const ticked&) {
        return rules.found ? step{starting{}, {launch{}}} : step{starting{}, {launch{}, report{}}};
      },
      [](const absent&, const stop_asked& e) {
        return move_to(gone{e.why, false});
      },
      [](const absent& s, const auto&) { return stay(s); },

      [](const starting&, const launched& e) {
        return e.proven ? move_to(ready{}) : move_to(loading{e.now, 0});
      },
      [](const starting&, const launch_failed& e) {
        return move_to(gone{e.why, true});
      },
      [&](const starting&, const stop_asked& e) { return stop(rules, e.why); },

      [&](const loading& s, const sighted& e) { return see_while_loading(rules, s, e); },
      [&](const loading& s, const ticked& e) {
        return tick_limit(rules, s, s.since, e.now, rules.cold_start, "it has not become ready");
      },
      [&](const loading&, const stop_asked& e) { return stop(rules, e.why); },

      [](const proving&, const proved&) { return move_to(ready{}); },
      [](const proving&, const proof_failed& e) {
        return suspect_because(e.now, "the proof failed: " + e.why);
      },
      [&](const proving& s, const sighted& e) {
        return e.verdict == verdict::stranger ? give_up(rules, s, stranger_text(e)) : stay(s);
      },
      [&](const proving& s, const ticked& e) {
        return tick_limit(rules, s, s.since, e.now, rules.cold_start, "it has not become ready");
      },
      [&](const proving&, const stop_asked& e) { return stop(rules, e.why); },

      [&](const ready& s, const sighted& e) {
        return see_while_serving<ready, saturated>(rules, s, e, verdict::good, verdict::saturated);
      },
      [&](const ready&, const stop_asked& e) { return drain(rules, e); },

      [&](const saturated& s, const sighted& e) {
        return see_while_serving<saturated, ready>(rules, s, e, verdict::saturated, verdict::good);
      },
      [&](const saturated&, const stop_asked& e) { return drain(rules, e); },

      [&](const suspect& s, const sighted& e) { return see_while_suspect(rules, s, e); },
      [&](const suspect& s, const ticked& e) {
        return tick_limit(rules, s, s.since, e.now, rules.suspicion, "suspect (" + s.why + ")");
      },
      [&](const suspect&, const stop_asked& e) { return drain(rules, e); },

      [&](const draining& s, const sighted& e) {
        return e.running && *e.running == 0 ? stop(rules, s.why) : stay(s);
      },
      [&](const draining& s, const ticked& e) {
        return e.now >= s.until ? stop(rules, s.why) : stay(s);
      },

      [](const auto& s, const auto&) { return stay(s); },
    },
    current,
    what
  );
}

replica_phase phase_of(const state& s) {
  return std::visit(
    overloaded{
      [](const absent&) { return replica_phase::absent; },
      [](const starting&) { return replica_phase::starting; },
      [](const loading&) { return replica_phase::loading; },
      [](const proving&) { return replica_phase::proving; },
      [](const ready&) { return replica_phase::ready; },
      [](const saturated&) { return replica_phase::saturated; },
      [](const suspect&) { return replica_phase::suspect; },
      [](const draining&) { return replica_phase::draining; },
      [](const stopping&) { return replica_phase::stopping; },
      [](const gone& g) { return g.failed ? replica_phase::failed : replica_phase::gone; },
    },
    s
  );
}

std::string_view name(replica_phase phase) {
  static constexpr std::string_view names[] = {
    "absent",
    "starting",
    "loading",
    "proving",
    "ready",
    "saturated",
    "suspect",
    "draining",
    "stopping",
    "gone",
    "failed"};
  return names[static_cast<std::size_t>(phase)];
}

std::string reason_of(const state& s) {
  return std::visit(
    overloaded{
      [](const suspect& x) { return x.why; },
      [](const draining& x) { return x.why; },
      [](const stopping& x) { return x.why; },
      [](const gone& x) { return x.why; },
      [](const auto&) { return std::string{}; },
    },
    s
  );
}

bool is_told(const rules& rules, const state& s) {
  return !rules.found || phase_of(s) > replica_phase::starting;
}

bool is_observed(const state& s) {
  auto phase = phase_of(s);
  return phase >= replica_phase::loading && phase <= replica_phase::draining;
}

} // namespace assay::agent::life
