// Our own keys, as the ledger names them: the next ones take their place when a record says so.
//
// The others know a named key `limits::key_change_grace` later, and so do we, so that both meet
// again at once. Who was cut off before it heard of the record tries the next keys by itself: the
// others let in no other ones. All of it is the leadership's thread's, or before that begins.

#include "src/app/node_whole.hpp"
#include "src/app/proposing.hpp"
#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"

#include <algorithm>

namespace assay::app {

void node::whole::keep_keys() {
  if (!group)
    return;
  const auto tables = tables_of(*engine->current());
  const auto& members = tables->head.members;
  auto me = std::ranges::find(members, place->node, &ledger::member::id);
  auto next = keys->waiting();
  auto now = std::chrono::steady_clock::now();
  auto is_named =
    next && me != members.end() && *next == public_halves{me->signing_public, me->curve_public};
  if (!is_named)
    key_change.named_since = {};
  if (is_named)
    take_next_keys(now);
  else if (next)
    try_next_keys(now);
  if (now >= key_change.not_before)
    carry_out_keys(now);
}

void node::whole::take_next_keys(steady_time now) {
  auto is_running = hub != nullptr; // At the start nobody speaks with the old ones any more.
  if (key_change.named_since == steady_time{})
    key_change.named_since = now;
  if (is_running && now - key_change.named_since < limits::key_change_grace)
    return;
  key_change.named_since = now;
  if (auto done = keys->adopt(); !done)
    return log::error("keys_not_changed", {{"why", to_text(done.error())}});
  key_change = {};
  key_change.is_links_due = true;
  key_change.is_hub_due = is_running;
  log::info("keys_changed", {{"curve", keys->in_use().curve}});
}

/// The record may have been made while we were away.
void node::whole::try_next_keys(steady_time now) {
  auto seen = group->seen();
  auto is_heard = std::ranges::any_of(seen, [](const auto& one) { return one.second.is_up; });
  if (is_heard || key_change.unheard_since == steady_time{})
    key_change.unheard_since = now;
  if (now - key_change.unheard_since < limits::key_change_patience)
    return;
  key_change.unheard_since = now;
  key_change.speaks_next = !key_change.speaks_next;
  key_change.is_links_due = true;
}

void node::whole::carry_out_keys(steady_time now) {
  auto due = std::exchange(key_change.is_links_due, false);
  auto next = key_change.speaks_next ? keys->next_curve() : std::nullopt;
  if (due)
    if (auto done = group->change_keys(next ? *next : keys->curve()); !done) {
      log::warn("links_deaf", {{"why", to_text(done.error())}});
      key_change.is_links_due = true;
      key_change.not_before = now + limits::key_change_grace;
    }
  if (std::exchange(key_change.is_hub_due, false))
    if (auto done = hub->change_keys(keys->curve()); !done) {
      log::warn("hub_deaf", {{"why", to_text(done.error())}});
      key_change.is_hub_due = true;
      key_change.not_before = now + limits::key_change_grace;
    }
}

} // namespace assay::app
