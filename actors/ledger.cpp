#include "actors/ledger.hpp"

#include "src/wire/record_codec.hpp"

#include <caf/send.hpp>

namespace assay {

std::uint64_t ledger_state::keep(promise p) {
  waiting_.emplace(++asked_, std::move(p));
  return asked_;
}

void ledger_state::answer(proposal_answered what) {
  auto found = waiting_.extract(what.number);
  if (found)
    found.mapped().deliver(proposed{std::move(what.answer)});
}

void ledger_state::publish(ledger_actor::pointer self, const tables_changed& what) {
  newest_ = what;
  for (const auto& listener : listeners_)
    self->send(listener, what);
}

/// Who listens ends with the term that it was made for.
void ledger_state::begin(ledger_actor::pointer self) {
  self->set_down_handler([this](const caf::down_msg& down) {
    std::erase_if(listeners_, [&](const auto& one) { return one.address() == down.source; });
  });
}

void ledger_state::add(ledger_actor::pointer self, listen_to_tables what) {
  self->monitor(what.who);
  if (newest_.tables)
    self->send(what.who, newest_);
  listeners_.push_back(std::move(what.who));
}

ledger_actor::behavior_type
ledger_behavior(ledger_actor::stateful_pointer<ledger_state> self, proposer put) {
  self->state.begin(self);
  auto ask = [self, put](const propose& what) {
    auto promise = self->make_response_promise<proposed>();
    auto number = self->state.keep(promise);
    auto bytes = std::visit([](const auto& one) { return wire::encode_proposal(one); }, what.what);
    auto me = ledger_actor{self};
    put(std::move(bytes), what.time_driven, [me, number](store::answer answer) {
      caf::anon_send(me, proposal_answered{number, std::move(answer)});
    });
    return promise;
  };
  return {
    ask,
    [self](proposal_answered& what) { self->state.answer(std::move(what)); },
    [self](const tables_changed& what) { self->state.publish(self, what); },
    [self](listen_to_tables& what) { self->state.add(self, std::move(what)); },
  };
}

} // namespace assay
