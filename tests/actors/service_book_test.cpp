// Three SERVICE BOOKs on one stage, with one ledger that whoever leads proposes to. What they say
// to each other goes through the wire's encoding, unless the way is cut.

#include "actors/service_book.hpp"
#include "src/base/peer_limits.hpp"
#include "src/wire/peer_codec.hpp"
#include "tests/support/fake_actors.hpp"
#include "tests/support/fake_ledger.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <span>

namespace assay {

namespace {

using namespace std::chrono_literals;
using ledger::serving_summary;

serving_summary hour_of(std::uint64_t node, const std::string& model = "m") {
  ledger::service_tally tally{"in-" + std::to_string(node), 7};
  routing::outcome o;
  o.decision = {"d"};
  o.model = {model};
  o.began = {wall_now().value - 1};
  tally.add({o});
  return tally.take_all().front();
}

struct scene {
  test::stage stage;
  test::fake_ledger ledger{stage};
  std::map<std::uint64_t, service_book_actor> books;
  std::set<std::pair<std::uint64_t, std::uint64_t>> cut; ///< From, to.
  const std::uint64_t before = ledger.world.t.head.seq;
  std::size_t told = 0; ///< Hours that went over the wire.

  scene() {
    for (std::uint64_t node : {1, 2, 3}) {
      ledger.world.t.head.members.push_back({.id = node, .name = "in-" + std::to_string(node)});
      books[node] = stage.system.spawn(
        service_book_behavior,
        service_book_options{
          ledger.actor,
          [this, node](auto to, const peers::message& what) { return carry(node, to, what); }}
      );
      ledger.tell(books[node]);
    }
    ledger.publish();
    stage.settle();
  }
  ~scene() {
    for (auto& [node, book] : books)
      stage.end(book);
  }

  peers::send_outcome carry(std::uint64_t from, std::uint64_t to, const peers::message& what) {
    told += std::holds_alternative<peers::service_told>(what) ? 1 : 0;
    if (cut.contains({from, to}))
      return peers::send_outcome::down;
    auto bytes = wire::encode(what);
    REQUIRE(bytes);
    auto there = wire::decode_peer_message(std::as_bytes(std::span{*bytes}));
    REQUIRE(there);
    caf::anon_send(books.at(to), peer_said{from, *std::move(there)});
    return peers::send_outcome::queued;
  }

  template <class Message>
  void tell(std::uint64_t node, Message what) {
    caf::anon_send(books.at(node), std::move(what));
    stage.settle();
  }
  void lead(std::uint64_t leader, std::uint64_t epoch) {
    for (auto& [node, book] : books)
      caf::anon_send(book, standing{node == leader, epoch, leader});
    stage.settle();
  }
  void counted(std::uint64_t node, std::vector<serving_summary> hours) {
    tell(node, service_counted{std::move(hours)});
  }
  /// In steps as short as those in which a book looks.
  void pass(caf::timespan time) {
    for (auto step = caf::timespan{limits::service_book_tick}; time.count() > 0; time -= step)
      stage.pass(step);
  }
  /// Ids: one that was proposed again got its first receipt.
  std::set<uuid> on_record() const {
    std::set<uuid> ids;
    for (const auto& one : ledger.taken)
      if (std::holds_alternative<serving_summary>(one.payload))
        ids.insert(one.record_id);
    CHECK(ledger.world.t.head.seq == before + ids.size());
    return ids;
  }

  /// None while it waits.
  std::optional<std::size_t> closed(std::uint64_t node, caf::timespan after) {
    std::optional<std::size_t> untold;
    auto pending = stage.self->request(books.at(node), caf::infinite, close_book{});
    stage.settle();
    pass(after);
    pending.receive(
      [&](const book_closed& what) { untold = what.untold; },
      [](const caf::error& why) { FAIL(to_string(why)); }
    );
    return untold;
  }
};

} // namespace

TEST_CASE("whoever leads puts its own hours on record, and those of others") {
  scene s;
  s.lead(1, 5);
  s.counted(1, {hour_of(1)});
  s.counted(2, {hour_of(2)});
  s.counted(3, {hour_of(3), hour_of(3, "n")});
  CHECK(s.on_record().size() == 4);
  CHECK(s.ledger.refused.empty());
  s.pass(10 * limits::service_tell_again);
  CHECK(s.told == 3); // Each was answered: nothing is said again.
  CHECK(s.on_record().size() == 4);
}

TEST_CASE("an hour waits for a leader, and counts once though its answer was lost") {
  scene s;
  s.counted(2, {hour_of(2)});
  CHECK(s.told == 0);
  s.cut.insert({1, 2});
  s.lead(1, 5);
  CHECK(s.on_record().size() == 1);
  CHECK(s.told == 1);
  s.pass(2 * limits::service_tell_again);
  CHECK(s.told >= 2);
  SECTION("when the way is mended") {
    s.cut.clear();
    s.pass(2 * limits::service_tell_again);
  }
  SECTION("when another one leads") {
    s.lead(3, 6);
  }
  SECTION("when it leads itself") {
    s.lead(2, 6);
  }
  CHECK(s.closed(2, limits::service_book_tick) == 0U);
  CHECK(s.on_record().size() == 1);
}

TEST_CASE("an hour under way when its leader is lost is told to the next one") {
  scene s;
  s.lead(1, 5);
  s.cut.insert({2, 1});
  s.counted(2, {hour_of(2)});
  CHECK(s.on_record().empty());
  s.lead(3, 6);
  CHECK(s.on_record().size() == 1);
}

TEST_CASE("nobody tells what another one's ingress served") {
  scene s;
  s.lead(1, 5);
  s.counted(2, {hour_of(3)});
  s.carry(
    2,
    1,
    peers::service_told{wire::encode_proposal(ledger::make_record(
      ledger::key_issued{{"k"}, sha256("k"), false, {}, {}}, {}, {"r", {}}, ledger::trust::claimed
    ))}
  );
  s.carry(2, 1, peers::service_told{"rubbish"});
  s.stage.settle();
  s.pass((limits::service_refusals + 1) * limits::service_tell_again);
  CHECK(s.on_record().empty());
  CHECK(s.ledger.taken.empty());
  CHECK(s.closed(2, limits::service_book_tick) == 0U); // Given up.
}

TEST_CASE("a book closes when all is on record") {
  scene s;
  s.lead(1, 5);
  s.ledger.is_held = true;
  s.counted(1, {hour_of(1)});
  auto pending = s.stage.self->request(s.books.at(1), caf::infinite, close_book{});
  s.stage.settle();
  CHECK_FALSE(s.stage.self->has_next_message());
  s.ledger.release();
  s.stage.settle();
  std::size_t untold = 1;
  pending.receive(
    [&](const book_closed& what) { untold = what.untold; },
    [](const caf::error& why) { FAIL(to_string(why)); }
  );
  CHECK(untold == 0);
}

TEST_CASE("a book that finds no leader says how many hours it did not tell") {
  scene s;
  s.counted(2, {hour_of(2)});
  CHECK(s.closed(2, limits::service_farewell + limits::service_book_tick) == 1U);
}

} // namespace assay
