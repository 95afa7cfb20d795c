#pragma once
// A ledger for actor tests: the real LEDGER in front of an engine that applies each proposal at
// once to tables in memory, by the product's own rules and through the product's own encoding.
//
// Nothing is replicated and nothing is kept. New tables are published after each answer, as the
// engine does it.

#include "actors/ledger.hpp"
#include "src/wire/record_codec.hpp"
#include "tests/support/stage.hpp"
#include "tests/unit/ledger/world.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace assay::test {

class fake_ledger {
public:
  explicit fake_ledger(stage& on, ledger::test::world start = ledger::test::world::site())
    : world{std::move(start)}, stage_{on} {
    // Actors compare with the real time, and the site was declared at a time of its own.
    world.now = wall_now();
    world.t.head.stamped_at = std::min(world.t.head.stamped_at, world.now);
    actor = on.system.spawn(
      ledger_behavior,
      proposer{[this](std::string bytes, bool, std::function<void(store::answer)> done) {
        waiting_.push_back({std::move(bytes), std::move(done)});
        if (!is_held)
          release();
      }}
    );
    publish();
  }
  ~fake_ledger() { stage_.end(actor); }

  /// Sends the present tables to whoever listens.
  void publish() {
    auto now = std::make_shared<const ledger::tables>(world.t);
    caf::anon_send(actor, tables_changed{std::move(now), 1});
  }

  /// Somebody else's record.
  void must(ledger::payload p, ledger::trust believed = ledger::trust::measured) {
    world.must(std::move(p), believed);
    publish();
    stage_.settle();
  }

  /// `who` hears of every state from now on.
  template <class Actor>
  void tell(const Actor& who) {
    caf::anon_send(actor, listen_to_tables{who});
    stage_.settle();
  }

  /// Answers what waits.
  void release() {
    while (!waiting_.empty()) {
      auto next = std::move(waiting_.front());
      waiting_.pop_front();
      if (down.empty())
        next.done(apply(next.bytes));
      else
        next.done(unexpected{problem{problem_kind::unavailable, down, {}, {}}});
      publish();
    }
  }

  /// How many records of this payload were taken.
  template <class Payload>
  std::vector<Payload> all() const {
    std::vector<Payload> found;
    for (const auto& one : taken)
      if (const auto* it = std::get_if<Payload>(&one.payload))
        found.push_back(*it);
    return found;
  }

  std::size_t waiting() const { return waiting_.size(); }

  ledger::test::world world;
  ledger_actor actor;
  bool is_held = false;              ///< Proposals wait for `release`.
  std::string down;                  ///< Why no proposal is taken; empty: they are.
  std::vector<ledger::record> taken; ///< From proposals, in order.
  std::vector<std::string> refused;  ///< Codes, in order.

private:
  struct proposal {
    std::string bytes;
    std::function<void(store::answer)> done;
  };

  store::answer apply(const std::string& bytes) {
    auto entry = wire::decode_proposal(bytes);
    REQUIRE(entry);
    auto verdict = world.send({.entries = {*entry}});
    if (const auto* no = std::get_if<ledger::refusal>(&verdict)) {
      refused.push_back(no->code);
      return unexpected{problem{problem_kind::refused, no->text, {}, {}}};
    }
    if (const auto* record = std::get_if<ledger::record>(&entry->what))
      taken.push_back(*record);
    return store::receipt{.seq = std::get<ledger::receipt>(verdict).seq};
  }

  stage& stage_;
  std::deque<proposal> waiting_;
};

} // namespace assay::test
