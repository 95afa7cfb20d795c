// The middle of an exchange: the decision, if need be after waiting for a turn.

#include "src/http/exchange.hpp"

namespace assay::http {

using contract::failure;

routing::query exchange::query() const {
  routing::query q{
    .model = scan_.model,
    .caller = caller_,
    .shape = scan_.shape,
    .tried = tried_,
    .chance = chance_,
    .patience = lane_.options().limits.queue_wait,
    .now = now(),
    .wall = lane_.options().clock->now(),
  };
  if (!pin_.empty())
    q.pin = routing::pin{pin_, pin_fingerprint_};
  return q;
}

task<bool> exchange::decide() {
  if (client_.has_left())
    co_return false;
  chance_ = lane_.random();
  decision_ = routing::route(*snapshot_, query());
  if (decision_.outcome == routing::outcome_kind::needs_ticket) {
    bool has_turn = co_await wait_for_turn();
    if (!has_turn) {
      remember();
      co_return false;
    }
  }
  remember();
  if (decision_.outcome != routing::outcome_kind::chosen)
    co_return take_refusal();
  chosen();
  co_return true;
}

void exchange::remember() {
  position_ = lane_.ring.push(decision_.trace, snapshot_->names());
  outcome_.decision = lane_.id_of(position_);
  if (decision_.model)
    outcome_.model = decision_.model->id;
  outcome_.route_generation = decision_.trace.route;
}

bool exchange::take_refusal() {
  refusal_ = {
    decision_.failure,
    routing::refusal_text(*snapshot_, query(), decision_),
    {},
    decision_.retry_after_seconds,
    {}};
  auto about_model = decision_.failure == failure::model_not_found
                     || decision_.failure == failure::model_not_allowed;
  if (about_model)
    refusal_.param = "model";
  return false;
}

/// Takes over the endpoint of `decision_`.
void exchange::chosen() {
  const auto& endpoint = *decision_.endpoint;
  endpoint_ = endpoint.counters;
  outcome_.implementation = decision_.implementation->id;
  outcome_.pool = decision_.implementation->pool;
  outcome_.endpoint = endpoint_->key();
  outcome_.in_flight = endpoint_->in_flight();
  metadata_ = {
    decision_.implementation->id.value,
    decision_.implementation->pool.value,
    outcome_.decision.value,
    decision_.trace.route};
}

/// Another endpoint than those that were tried. False: there is none now.
bool exchange::choose_again(attempt_end end) {
  tried_.push_back(endpoint_->key());
  auto again = routing::route(*snapshot_, query());
  if (again.outcome != routing::outcome_kind::chosen)
    return false;
  note_attempt(end);
  decision_ = std::move(again);
  ++outcome_.retries;
  decision_.trace.retries = static_cast<std::uint16_t>(outcome_.retries);
  lane_.ring.amend(position_, decision_.trace);
  chosen();
  return true;
}

/// Asks the queue until a credit is taken, the queue refuses, the limit passes or the client goes.
task<bool> exchange::wait_for_turn() {
  auto& common = lane_.common();
  if (!common.hooks.ask_ticket)
    co_return fail(failure::no_capacity, "every replica of this model is busy; try again");
  ticket_ = common.next_ticket.fetch_add(1, std::memory_order_relaxed);
  auto began = now();
  auto deadline = std::min(until_, began + common.options.limits.queue_wait);
  for (;;) {
    client_.expect_ticket(ticket_);
    common.hooks.ask_ticket(
      {ticket_,
       caller_.traffic,
       outcome_.project,
       routing::acceptable_ids(*snapshot_, decision_),
       routing::excluded_endpoints(*snapshot_, query(), decision_),
       deadline},
      [owner = lane_.weak_from_this(),
       client = client_.weak_from_this(),
       number = ticket_](ticket_answer answer) {
        if (auto alive = owner.lock())
          alive->post([client, number, answer = std::move(answer)] {
            if (auto waiting = client.lock())
              waiting->answer_ticket(number, answer);
          });
      }
    );
    client_.enter(wait::turn, deadline);
    co_await client_.until_woken();
    outcome_.queued = std::chrono::duration_cast<std::chrono::microseconds>(now() - began);
    auto answer = client_.take_ticket();
    if (client_.gone() || client_.take_late() || !answer) {
      client_.expect_ticket(0);
      if (common.hooks.withdraw_ticket)
        common.hooks.withdraw_ticket(ticket_);
      if (!client_.gone())
        fail(failure::no_capacity, "no replica of this model came free in time; try again");
      co_return false;
    }
    if (const auto* refused = std::get_if<ticket_refused>(&*answer))
      co_return refuse_ticket(*refused);
    bool settled = claim(std::get<ticket_admitted>(*answer).endpoint);
    if (settled)
      co_return refusal_.message.empty();
  }
}

bool exchange::refuse_ticket(const ticket_refused& why) {
  client_.expect_ticket(0);
  switch (why.why) {
  case pool::ticket_refusal::queue_full:
    fail(failure::no_capacity, "every replica is busy and the queue is full; try again later");
    break;
  case pool::ticket_refusal::waited_too_long:
    fail(failure::no_capacity, "no replica of this model came free in time; try again");
    break;
  case pool::ticket_refusal::no_replica:
    fail(failure::no_capacity, "no replica of this model is ready; try again later");
    break;
  }
  refusal_.retry_after_seconds = static_cast<std::uint32_t>(why.retry_after.count());
  return false;
}

/// The snapshot may be newer than the one that was asked first, and the key may be gone. True: the
/// ticket is used up, one way or the other; false: ask again.
bool exchange::claim(const pool::endpoint_key& where) {
  auto& hooks = lane_.common().hooks;
  auto before = snapshot_;
  if (auto bad = identify()) {
    refusal_ = *std::move(bad);
    snapshot_ = std::move(before); // `decision_` still points into it.
  } else {
    decision_ = routing::claim(*snapshot_, query(), where);
    if (decision_.outcome == routing::outcome_kind::needs_ticket)
      return false;
  }
  client_.expect_ticket(0);
  auto& tell = refusal_.message.empty() && decision_.outcome == routing::outcome_kind::chosen
                 ? hooks.settle_ticket
                 : hooks.withdraw_ticket;
  if (tell)
    tell(ticket_);
  return true;
}

} // namespace assay::http
