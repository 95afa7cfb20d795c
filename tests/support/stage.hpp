#pragma once
// A stage runs real actors under a scheduler and a clock that only move when the test says so.

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <utility>

namespace assay::test {

class stage {
public:
  stage() : system{config()}, self{system} {}

  /// Delivers messages until no mailbox holds one. Fires no timer.
  void settle() {
    while (scheduler().try_run_once()) {
    }
  }

  /// Moves the clock, fires the timers that came due, and settles.
  void pass(caf::timespan time) {
    scheduler().advance_time(time);
    settle();
  }

  /// Sends `message` to `actor` and returns the reply; fails the test on an error.
  template <class Reply, class Actor, class Message>
  Reply ask(const Actor& actor, Message message) {
    std::optional<Reply> result; // Some replies have no empty value.
    auto pending = self->request(actor, caf::infinite, std::move(message));
    settle();
    pending.receive(
      [&](Reply& reply) { result.emplace(std::move(reply)); },
      [](const caf::error& why) { FAIL(to_string(why)); }
    );
    REQUIRE(result);
    return *std::move(result);
  }

  /// Ends an actor with its timers: one that is pending would block the end of the test.
  template <class Actor>
  void end(const Actor& actor) {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    settle();
  }

private:
  static caf::actor_system_config& config() {
    static caf::actor_system_config result;
    result.set("scheduler.policy", caf::atom("testing"));
    return result;
  }

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }

public:
  caf::actor_system system;
  caf::scoped_actor self;
};

} // namespace assay::test
