// LEDGER on a stage: its engine is a function, answered by the test.

#include "tests/support/fake_ledger.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

namespace {

struct scene {
  test::stage stage;
  std::vector<std::function<void(store::answer)>> asked;
  std::shared_ptr<int> heard = std::make_shared<int>(0);
  ledger_actor ledger = stage.system.spawn(
    ledger_behavior, proposer{[this](std::string, bool, std::function<void(store::answer)> done) {
      asked.push_back(std::move(done));
    }}
  );
  tables_listener listener = stage.system.spawn(
    [](tables_listener::pointer, std::shared_ptr<int> count) -> tables_listener::behavior_type {
      return {[count](const tables_changed&) { ++*count; }};
    },
    heard
  );

  ~scene() {
    stage.end(ledger);
    stage.end(listener);
  }

  template <class Message>
  void tell(Message what) {
    stage.self->send(ledger, std::move(what));
    stage.settle();
  }
};

propose something() {
  return {ledger::make_record(ledger::key_revoked{{"k"}, ""}, {"t", {}}), false};
}

} // namespace

TEST_CASE("a proposal is answered once, by its own answer, whatever the order") {
  scene s;
  auto first = s.stage.self->request(s.ledger, caf::infinite, something());
  auto second = s.stage.self->request(s.ledger, caf::infinite, something());
  s.stage.settle();
  REQUIRE(s.asked.size() == 2);
  s.asked[1](store::receipt{.seq = 2});
  s.asked[0](store::receipt{.seq = 1});
  s.asked[0](store::receipt{.seq = 9}); // An engine that answers again is not heard.
  s.stage.settle();
  auto fail = [](const caf::error& why) { FAIL(to_string(why)); };
  first.receive([](const proposed& done) { CHECK(done.answer->seq == 1); }, fail);
  second.receive([](const proposed& done) { CHECK(done.answer->seq == 2); }, fail);
  CHECK_FALSE(s.stage.self->has_next_message());
}

TEST_CASE("who listens hears the present state at once, and each later one once") {
  scene s;
  s.tell(listen_to_tables{s.listener});
  CHECK(*s.heard == 0);
  s.tell(tables_changed{std::make_shared<const ledger::tables>(), 1});
  CHECK(*s.heard == 1);
  s.tell(listen_to_tables{s.listener});
  CHECK(*s.heard == 2);
}

} // namespace assay
