// What an agent's word puts on record: each fact once, and an offered server's declarations.

#include "actors/node_link.hpp"
#include "src/base/log.hpp"
#include "src/ledger/observed.hpp"
#include "src/wire/record_codec.hpp"

#include <algorithm>
#include <utility>

namespace assay {

namespace {

problem still_asked() {
  return {
    problem_kind::unavailable,
    "the ledger has not answered in time",
    "",
    "assay get implementations shows what was taken; adopting again goes on from there"};
}

} // namespace

void node_link_state::record(
  ledger::payload what, const std::string& why, ledger::trust believed, recorded done
) {
  auto proposal = ledger::make_record(
    std::move(what),
    {options_.host.value, ledger::authentication::curve},
    {"observed", why},
    believed
  );
  // All but the record's id: it differs each time, the fact does not.
  auto fact = proposal;
  fact.record_id = {};
  auto key = sha256(wire::encode(fact));
  auto tell = [done = std::move(done)](const result<void, problem>& how) {
    if (done)
      done(how);
  };
  if (auto [at, is_new] = proposed_.try_emplace(key, false); !is_new)
    return tell(at->second ? result<void, problem>{} : unexpected{still_asked()});
  self_->request(options_.ledger, limits::proposal_patience, propose{std::move(proposal)})
    .then(
      [this, key, tell](const proposed& answered) {
        if (answered.answer) {
          proposed_[key] = true; // The tables that hold it are on their way.
          return tell({});
        }
        proposed_.erase(key);
        log::warn("observation_not_recorded", {{"why", to_text(answered.answer.error())}});
        tell(unexpected{answered.answer.error()});
      },
      [this, key, tell](const caf::error&) {
        // Not answered in time: the next report proposes it again.
        proposed_.erase(key);
        tell(unexpected{still_asked()});
      }
    );
}

/// Declared by records in the host's name; the pool then has it watched like any replica.
void node_link_state::hear(const fabric::adopt_offer& what) {
  auto pools = my_pools();
  if (!tables_.tables || pools.empty())
    return conclude(
      what,
      unexpected{problem{
        problem_kind::unavailable,
        "the host is in no pool yet",
        what.url,
        "declare a pool of the host's family; then adopt again"}}
    );
  ledger::adoption offered{
    options_.host, pools.front(), what.url, {what.model}, what.profile, what.project};
  auto declarations = ledger::declarations_for(*tables_.tables, offered);
  if (!declarations)
    return conclude(what, unexpected{declarations.error()});
  auto under_way = std::make_shared<adoption_under_way>();
  under_way->offer = what;
  under_way->as = ledger::adopted_as(offered);
  std::ranges::move(*declarations, std::back_inserter(under_way->left));
  declare_next(under_way);
}

void node_link_state::declare_next(const std::shared_ptr<adoption_under_way>& of) {
  if (of->left.empty())
    return conclude(of->offer, of->as);
  auto next = std::move(of->left.front());
  of->left.pop_front();
  record(
    std::move(next),
    "assay-agent adopt " + of->offer.url,
    ledger::trust::claimed,
    [this, of](const result<void, problem>& done) {
      if (done)
        return declare_next(of);
      conclude(of->offer, unexpected{done.error()});
    }
  );
}

void node_link_state::conclude(
  const fabric::adopt_offer& of, const result<implementation_id, problem>& taken
) {
  fabric::adopt_outcome outcome{.number = of.number};
  if (taken) {
    outcome.implementation = *taken;
  } else {
    outcome.what = taken.error().what;
    outcome.next = taken.error().next;
  }
  log::info(
    taken ? "adoption_taken" : "adoption_refused",
    {{"host", options_.host.value},
     {"url", of.url},
     {"as", outcome.implementation.value},
     {"why", outcome.what},
     {"next", outcome.next}}
  );
  options_.send(options_.host, std::move(outcome));
}

} // namespace assay
