// The whole way of a large state: from one member's desk, over what may be lost, into another's
// state environment.

#include "src/store/state_desk.hpp"
#include "src/store/state_fetch.hpp"
#include "tests/unit/store/notes.hpp"

namespace assay::store {

using namespace test;

namespace {

constexpr std::uint64_t map_bytes = 64 << 20;

/// Hands out the pages that the desk sends, one for each request.
class counter : public peer_sender {
public:
  void send(consensus::message) override {}
  void send(state_request) override {}
  void send(state_page what) override {
    std::lock_guard hold{mutex_};
    pages_.push_back(std::move(what));
    more_.notify_one();
  }
  state_page next() {
    std::unique_lock hold{mutex_};
    more_.wait(hold, [&] { return !pages_.empty(); });
    auto out = std::move(pages_.front());
    pages_.pop_front();
    return out;
  }

private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<state_page> pages_;
};

struct world {
  scratch place;
  std::unique_ptr<state_store> state = state_store::open(place.path(), map_bytes).value();
  counter out;

  world() {
    state_store::row_changes rows;
    for (int i = 1'000; i < 3'000; ++i)
      rows.emplace(std::to_string(i), std::string(700, static_cast<char>('a' + i % 26)));
    REQUIRE_FALSE(state->write(rows, 50, 2));
  }
};

state_request request(std::uint64_t attempt, std::string after, std::uint64_t at_least = 50) {
  return {7, 1, attempt, at_least, std::move(after)};
}

} // namespace

TEST_CASE("a large state arrives in pages of one moment, although it goes on and pages are lost") {
  world of;
  state_desk desk{*of.state, of.out};
  const auto before = of.state->rows({.prefix = {}, .from = {}, .count = 10'000}).value();
  scratch elsewhere;
  auto taker = state_store::open(elsewhere.path(), map_bytes).value();
  state_fetch fetch{{50, 2, 1, {{1, "1"}, {7, "7"}}}, 7, 0, [] { return nullptr; }};
  std::uint64_t now = 0;
  int pages = 0;
  for (bool is_over = false; !is_over;) {
    now = std::max(now, fetch.wake_up_ms());
    desk.ask(*fetch.due(now, 1));
    auto page = of.out.next();
    if (++pages % 2 == 0)
      continue; // Lost: it is asked for again.
    REQUIRE_FALSE(of.state->write({{"1500", "changed " + std::to_string(pages)}}, 51, 2));
    const auto believed = fetch.take(std::move(page), now);
    REQUIRE(believed);
    if (believed->is_first)
      REQUIRE_FALSE(taker->clear_incoming());
    REQUIRE_FALSE(taker->write_incoming(believed->rows));
    is_over = believed->end.has_value();
    if (is_over)
      REQUIRE_FALSE(taker->adopt_incoming(believed->end->index, believed->end->term));
    fetch.stored(true, now);
  }
  CHECK(pages >= 5);
  CHECK(taker->rows({.prefix = {}, .from = {}, .count = 10'000}).value() == before);
  CHECK(taker->load_mark()->index == 50);
}

TEST_CASE("the same question has the same answer, after the last page too") {
  world of;
  state_desk desk{*of.state, of.out};
  auto what = request(3, "");
  for (bool is_last = false; !is_last;) {
    desk.ask(what);
    const auto page = of.out.next();
    desk.ask(what);
    CHECK(of.out.next() == page);
    is_last = page.is_last;
    what.after = page.rows.back().key;
  }
}

TEST_CASE("a state that is too old, or an attempt that nobody knows, is refused") {
  world of;
  state_desk desk{*of.state, of.out};
  desk.ask(request(3, "", 50));
  CHECK_FALSE(of.out.next().is_refused);
  desk.ask(request(4, "", 51));
  CHECK(of.out.next().is_refused);
  desk.ask(request(5, "1200"));
  CHECK(of.out.next().is_refused);
  desk.ask(request(6, ""));
  CHECK_FALSE(of.out.next().is_refused);
  desk.ask(request(6, "1001")); // No page ended there.
  CHECK(of.out.next().is_refused);
}

} // namespace assay::store
