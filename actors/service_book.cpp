#include "actors/service_book.hpp"

#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"
#include "src/wire/record_codec.hpp"

namespace assay {

namespace {

/// A rule forbids it; anything else may pass when it is said again.
bool is_refused(const store::answer& answer) {
  return !answer
         && (answer.error().kind == problem_kind::refused || answer.error().kind == problem_kind::invalid);
}

std::optional<ledger::serving_summary> hour_in(const std::string& proposal) {
  auto entry = wire::decode_proposal(proposal);
  const auto* record = entry ? std::get_if<ledger::record>(&entry->what) : nullptr;
  const auto* hour = record ? std::get_if<ledger::serving_summary>(&record->payload) : nullptr;
  return hour ? std::optional{*hour} : std::nullopt;
}

} // namespace

void service_book_state::begin(service_book_options options) {
  options_ = std::move(options);
  self_->delayed_send(self_, limits::service_book_tick, tick{});
}

// -- our own hours

void service_book_state::add(service_counted& what) {
  auto before = backlog_.left_out();
  backlog_.add(std::move(what.hours));
  if (auto lost = backlog_.left_out() - before; lost > 0)
    log::warn(
      "service_left_out",
      {{"hours", std::to_string(lost)}, {"why", "too many wait to be on record"}}
    );
  tell();
}

void service_book_state::learn(const standing& what) {
  if (what.epoch < standing_.epoch || what == standing_)
    return;
  standing_ = what;
  backlog_.say_all_again();
  tell();
}

void service_book_state::learn(const tables_changed& what) {
  tables_ = what.tables;
}

void service_book_state::tell() {
  if (!standing_.leads && standing_.leader == 0)
    return;
  for (const auto& hour : backlog_.due(self_->clock().now())) {
    auto record = ledger::record_of(hour);
    if (!standing_.leads) {
      // One that does not arrive is said again.
      options_.send(standing_.leader, peers::service_told{wire::encode_proposal(record)});
      continue;
    }
    put(hour, [this, id = record.record_id](const store::answer& answer) {
      if (answer)
        settle(id);
      else if (is_refused(answer))
        refuse(id, to_text(answer.error()));
    });
  }
}

void service_book_state::put(const ledger::serving_summary& hour, verdict then) {
  self_
    ->request(options_.ledger, limits::proposal_patience, propose{ledger::record_of(hour), false})
    .then(
      [then](const proposed& done) { then(done.answer); },
      [](const caf::error& why) {
        // Whether it is on record is unknown; it is said again.
        log::warn("service_not_answered", {{"why", caf::to_string(why)}});
      }
    );
}

void service_book_state::hear(const peers::service_kept& what) {
  if (what.why.empty())
    settle(what.record);
  else
    refuse(what.record, what.why);
}

void service_book_state::settle(const uuid& record) {
  backlog_.settle(record);
  tell();
  answer_closing();
}

void service_book_state::refuse(const uuid& record, const std::string& why) {
  if (backlog_.refuse(record, self_->clock().now()))
    log::error("service_refused", {{"record", to_text(record)}, {"why", why}});
  answer_closing();
}

// -- the hours of others, while we lead

void service_book_state::hear(const peer_said& what) {
  if (const auto* kept = std::get_if<peers::service_kept>(&what.what))
    return hear(*kept);
  if (const auto* told = std::get_if<peers::service_told>(&what.what))
    hear(what.node, *told);
}

void service_book_state::hear(std::uint64_t node, const peers::service_told& what) {
  if (!standing_.leads || !tables_)
    return; // It says it again, to whoever leads then.
  auto hour = hour_in(what.proposal);
  auto why = hour ? ledger::not_its_own(tables_->head, node, *hour) : "it is no hour of service";
  if (!why.empty()) {
    log::warn("service_not_taken", {{"node", std::to_string(node)}, {"why", why}});
    if (hour)
      options_.send(node, peers::service_kept{ledger::id_of(*hour), why});
    return;
  }
  put(*hour, [this, node, id = ledger::id_of(*hour)](const store::answer& answer) {
    if (answer)
      options_.send(node, peers::service_kept{id, {}});
    else if (is_refused(answer))
      options_.send(node, peers::service_kept{id, to_text(answer.error())});
  });
}

// -- the end

void service_book_state::close(promise answer) {
  closing_ = std::move(answer);
  close_by_ = self_->clock().now() + limits::service_farewell;
  answer_closing();
}

void service_book_state::answer_closing() {
  if (!closing_ || (backlog_.size() > 0 && self_->clock().now() < close_by_))
    return;
  std::exchange(closing_, {})->deliver(book_closed{backlog_.size()});
}

void service_book_state::pass() {
  tell();
  answer_closing();
  self_->delayed_send(self_, limits::service_book_tick, tick{});
}

service_book_actor::behavior_type service_book_behavior(
  service_book_actor::stateful_pointer<service_book_state> self, service_book_options options
) {
  self->state.begin(std::move(options));
  return {
    [self](service_counted& what) { self->state.add(what); },
    [self](const standing& what) { self->state.learn(what); },
    [self](const tables_changed& what) { self->state.learn(what); },
    [self](const peer_said& what) { self->state.hear(what); },
    [self](close_book) {
      auto answer = self->make_response_promise<book_closed>();
      self->state.close(answer);
      return answer;
    },
    [self](tick) { self->state.pass(); },
  };
}

} // namespace assay
