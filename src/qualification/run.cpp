#include "src/qualification/run.hpp"

#include "src/base/overloaded.hpp"
#include "src/qualification/checks.hpp"
#include "src/qualification/evidence.hpp"
#include "src/qualification/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay::qualification {

namespace {

constexpr std::chrono::milliseconds first_delay{500};

tally tally_of(const run_state& run) {
  tally t;
  std::set<std::string> answers;
  for (const auto& item : run.items) {
    ++t.answered;
    t.points_possible += item.points;
    answers.insert(normalise(item.answer));
    if (!item.right)
      continue;
    ++t.right;
    t.points += item.points;
  }
  t.distinct_answers = static_cast<std::uint32_t>(answers.size());
  return t;
}

/// Ends the run: the last line of the evidence, the evidence, the verdict.
void finish(run_step& s, verdict v) {
  auto& run = s.next;
  run.stage = stage::over;
  run.open.reset();
  run.exchanges.clear();
  run.evidence += evidence_verdict(v, run.envelope);
  s.effects.push_back(store_evidence{std::move(run.evidence)});
  run.evidence.clear();
  s.effects.push_back(decided{std::move(v), run.envelope, run.checks});
}

void finish_early(run_step& s, outcome o, std::string why) {
  verdict v;
  v.outcome = o;
  v.counts = tally_of(s.next);
  v.reasons.push_back(std::move(why));
  finish(s, std::move(v));
}

void send_ask(run_step& s, ask a, std::string purpose) {
  auto& run = s.next;
  a.number = run.next_ask++;
  a.path = path_of(run.suite.task);
  a.purpose = std::move(purpose);
  if (a.deadline == std::chrono::milliseconds{})
    a.deadline = run.suite.deadline;
  run.open = a;
  run.tries = 1;
  s.effects.push_back(send{std::move(a)});
}

// -- contract stage -------------------------------------------------------------------------------

void close_check(run_step& s, check_result found) {
  auto& run = s.next;
  run.evidence += evidence_check(found);
  run.checks.push_back(found);
  run.exchanges.clear();
  ++run.at;
  s.effects.push_back(progress{
    stage::contract,
    run.at,
    run.suite.checks.size(),
    fmt::format("{} {}", name(found.kind), name(found.outcome)),
  });
}

/// Goes on with the contract stage; false when the run ended or an ask is out.
bool go_on_with_contract(run_step& s) {
  auto& run = s.next;
  while (run.at < run.suite.checks.size()) {
    const auto kind = run.suite.checks[run.at];
    auto next = next_of(kind, run, run.exchanges);
    if (auto* a = std::get_if<ask>(&next)) {
      send_ask(s, std::move(*a), fmt::format("contract/{}", name(kind)));
      return false;
    }
    auto found = std::get<check_result>(std::move(next));
    close_check(s, found);
    if (found.outcome != outcome::pass) {
      finish_early(
        s, found.outcome, fmt::format("contract check {}: {}", name(found.kind), found.why)
      );
      return false;
    }
  }
  run.stage = stage::task;
  run.at = 0;
  return true;
}

// -- task stage -----------------------------------------------------------------------------------

void close_item(run_step& s, const exchange& e) {
  auto& run = s.next;
  const auto& item = run.suite.items[run.at];
  const auto read = qualification::read(run.suite.task, e);
  item_result found{item.id, {}, false, {}, item.points};
  if (read) {
    const auto m = score(item.scorer, read->text);
    found.answer = read->text;
    found.right = m.right;
    found.why = m.why;
  } else {
    found.why =
      read.error(); // The engine answered, and not as promised: that is wrong, not silent.
  }
  run.evidence += evidence_item(found);
  run.items.push_back(found);
  run.exchanges.clear();
  ++run.at;
  s.effects.push_back(progress{
    stage::task,
    run.at,
    run.suite.items.size(),
    fmt::format("{} {}", found.id, found.right ? "right" : "wrong"),
  });
}

void go_on_with_items(run_step& s) {
  auto& run = s.next;
  if (!run.exchanges.empty()) {
    const auto last = run.exchanges.back();
    close_item(s, last);
  }
  if (run.at == run.suite.items.size()) {
    finish(s, judge(tally_of(run), run.policy));
    return;
  }
  const auto& item = run.suite.items[run.at];
  ask a;
  a.body = compose_body(run.suite.task, run.subject.model, item.messages, item.sampling);
  a.max_tokens = item.sampling.max_tokens;
  send_ask(s, std::move(a), "item/" + item.id);
}

void go_on(run_step& s) {
  if (s.next.stage == stage::contract && !go_on_with_contract(s))
    return;
  go_on_with_items(s);
}

// -- events ---------------------------------------------------------------------------------------

void take_answer(run_step& s, const answer& got) {
  auto& run = s.next;
  exchange e{std::move(*run.open), got};
  run.open.reset();
  run.evidence += evidence_line(e);
  if (run.stage == stage::contract && got.status == 200)
    if (const auto read = qualification::read(run.suite.task, e))
      grow(run.envelope, run.subject, e, *read);
  run.exchanges.push_back(std::move(e));
  go_on(s);
}

/// Not evidence: the same ask again after a growing pause, a few times.
void try_again(run_step& s, const std::string& why) {
  auto& run = s.next;
  run.evidence += evidence_silence(*run.open, why);
  if (run.tries > run.suite.retries) {
    finish_early(
      s,
      outcome::inconclusive,
      fmt::format("{} was not answered in {} tries: {}", run.open->purpose, run.tries, why)
    );
    return;
  }
  auto again = *run.open;
  again.number = run.next_ask++;
  run.open = again;
  s.effects.push_back(send{std::move(again), first_delay * (1U << (run.tries - 1))});
  ++run.tries;
}

void on(run_step& s, const begin&) {
  auto& run = s.next;
  if (run.open || run.next_ask != 1)
    return;
  run.evidence = evidence_head(run);
  go_on(s);
}

void on(run_step& s, const answered& e) {
  auto& run = s.next;
  if (!run.open || run.open->number != e.ask)
    return;
  if (!is_unavailable(e.answer.status) || run.open->silence_is_answer) {
    take_answer(s, e.answer);
    return;
  }
  const auto message = read_error(e.answer.body);
  try_again(s, fmt::format("status {}: {}", e.answer.status, message ? *message : message.error()));
}

void on(run_step& s, const not_answered& e) {
  auto& run = s.next;
  if (!run.open || run.open->number != e.ask)
    return;
  if (run.open->silence_is_answer)
    take_answer(s, {});
  else
    try_again(s, e.why);
}

void on(run_step& s, const stop& e) {
  if (s.next.open)
    s.effects.push_back(give_up_ask{s.next.open->number});
  finish_early(s, outcome::inconclusive, "the run was stopped: " + e.why);
}

problem refuse(std::string what, std::string next) {
  return {problem_kind::refused, std::move(what), {}, std::move(next)};
}

} // namespace

contract::request_limits
tighter(const contract::request_limits& a, const contract::request_limits& b) {
  const auto least = [](auto x, auto y) { return x == 0 ? y : (y == 0 ? x : std::min(x, y)); };
  return {
    least(a.context_tokens, b.context_tokens),
    least(a.input_tokens, b.input_tokens),
    least(a.output_tokens, b.output_tokens),
    least(a.body_bytes, b.body_bytes),
  };
}

result<run_state, problem>
prepare(subject who, qualification::suite suite, catalog::policy policy) {
  const auto& id = who.implementation.value;
  if (suite.task != who.promises.task)
    return unexpected{refuse(
      fmt::format(
        "suite {} asks for {} and {} serves {}",
        suite.name.value,
        contract::name(suite.task),
        id,
        contract::name(who.promises.task)
      ),
      "name a policy whose suite has the model's task"
    )};
  const bool asks_input =
    std::find(suite.checks.begin(), suite.checks.end(), check_kind::input_limit)
    != suite.checks.end();
  if (asks_input && input_edge(who.limits) == 0)
    return unexpected{refuse(
      fmt::format("{} declares no input limit, and suite {} tests it", id, suite.name.value),
      "declare `limits: {context-tokens: N}` or `limits: {input-tokens: N}` and apply again"
    )};
  const auto items = static_cast<std::uint32_t>(suite.items.size());
  if (items < policy.items_at_least || fewest_right(items, policy) > items)
    return unexpected{refuse(
      fmt::format(
        "suite {} has {} items, too few for policy {} to pass anything",
        suite.name.value,
        items,
        policy.name.value
      ),
      fmt::format(
        "use a suite with at least {} items, or lower the policy's bound", policy.items_at_least
      )
    )};
  run_state run;
  run.subject = std::move(who);
  run.suite = std::move(suite);
  run.policy = std::move(policy);
  return run;
}

run_step step(run_state state, const run_event& what) {
  run_step s{std::move(state), {}};
  if (s.next.stage == stage::over)
    return s;
  std::visit([&](const auto& event) { on(s, event); }, what);
  return s;
}

} // namespace assay::qualification
