#include "src/base/limits.hpp"
#include "src/store/applier.hpp"
#include "tests/unit/store/notes.hpp"

#include <atomic>
#include <cerrno>
#include <thread>

namespace assay::store {

using namespace test;

namespace {

/// Collects what the engine would have died of, and the faults it is to meet.
struct faults {
  std::atomic<int> log = 0, state = 0;
  std::promise<std::string> died;

  engine_options options() {
    engine_options out;
    out.fault = [this](commit_point where) {
      return where == commit_point::log ? log.load() : state.load();
    };
    out.stop_process = [this](const std::string& why) { died.set_value(why); };
    return out;
  }
};

} // namespace

TEST_CASE("a note that was answered is in the view behind a barrier, and after a restart") {
  scratch place;
  auto directory = open_directory(place.path());
  {
    auto engine = open_engine(directory);
    CHECK(take(*engine, "a=1").seq == 1);
    CHECK(take(*engine, "b=2").seq == 2);
    auto view = barrier(*engine);
    REQUIRE(view);
    CHECK(notes_of(*view) == notes{{"a", {1, "1"}}, {"b", {2, "2"}}});
    CHECK((*view)->seq == 2);
  }
  auto engine = open_engine(directory);
  CHECK(notes_of(engine->current()) == notes{{"a", {1, "1"}}, {"b", {2, "2"}}});
  CHECK(engine->current()->seq == 2);
  CHECK(take(*engine, "c=3").seq == 3);
}

TEST_CASE("proposing the same note again gives its first receipt") {
  scratch place;
  auto directory = open_directory(place.path());
  auto engine = open_engine(directory);
  auto first = take(*engine, "a=1");
  auto again = take(*engine, "a=1");
  CHECK(again.seq == first.seq);
  CHECK(again.is_repeated);
  auto other = ask(*engine, "a=2").get();
  REQUIRE_FALSE(other);
  CHECK(other.error().kind == problem_kind::refused);
  CHECK(barrier(*engine).value()->seq == 1);
}

TEST_CASE("stamps grow although the wall clock stands still or goes back") {
  scratch place;
  auto directory = open_directory(place.path());
  std::atomic<std::int64_t> wall = 1'000'000;
  engine_options options;
  options.wall = [&] { return wall_ms{wall}; };
  options.boot = [] { return std::chrono::milliseconds{0}; };
  {
    auto engine = open_engine(directory, options);
    CHECK(take(*engine, "a=1").stamped_at == wall_ms{1'000'000});
    CHECK(take(*engine, "b=1").stamped_at == wall_ms{1'000'001});
    wall = 999'000;
    CHECK(take(*engine, "c=1").stamped_at == wall_ms{1'000'002});
  }
  auto engine = open_engine(directory, options);
  CHECK(take(*engine, "d=1").stamped_at == wall_ms{1'000'003});
}

TEST_CASE("after a jump of the wall clock time-driven proposals stop until somebody accepts it") {
  scratch place;
  auto directory = open_directory(place.path());
  std::atomic<std::int64_t> wall = 1'000'000;
  engine_options options;
  options.wall = [&] { return wall_ms{wall}; };
  options.boot = [] { return std::chrono::milliseconds{0}; };
  auto engine = open_engine(directory, options);
  CHECK(ask(*engine, "a=1", true).get());
  wall += 5'001;
  take(*engine, "b=1");
  auto refused = ask(*engine, "c=1", true).get();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::refused);
  CHECK(refused.error().what.find("5001 ms forward") != std::string::npos);
  engine->trust_clock();
  take(*engine, "d=1");
  CHECK(ask(*engine, "c=1", true).get());
}

TEST_CASE("views come in order and none is older than its predecessor") {
  scratch place;
  auto directory = open_directory(place.path());
  std::vector<std::uint64_t> seen;
  engine_options options;
  options.on_view = [&](view_ptr v) { seen.push_back(v->index); };
  {
    auto engine = open_engine(directory, options);
    for (int i = 0; i < 20; ++i) {
      take(*engine, "n" + std::to_string(i) + "=x");
      REQUIRE(barrier(*engine));
    }
  }
  CHECK(seen.size() >= 20);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
}

TEST_CASE("many proposers at once: each gets one answer, sequence numbers are dense") {
  scratch place;
  auto directory = open_directory(place.path());
  auto engine = open_engine(directory);
  constexpr int threads = 8, each = 50;
  std::vector<std::thread> proposers;
  std::atomic<int> answered = 0;
  for (int t = 0; t < threads; ++t)
    proposers.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        auto got = ask(*engine, std::to_string(t) + "-" + std::to_string(i) + "=x").get();
        answered += got.has_value() ? 1 : 0;
        if (i % 10 == 0)
          (void)engine->status();
      }
    });
  for (auto& t : proposers)
    t.join();
  CHECK(answered == threads * each);
  auto view = barrier(*engine);
  REQUIRE(view);
  CHECK((*view)->seq == threads * each);
  CHECK(notes_of(*view).size() == threads * each);
  CHECK(engine->status().waiting == 0);
}

TEST_CASE("a proposal is taken at the size limit and refused one byte above") {
  scratch place;
  auto directory = open_directory(place.path());
  auto engine = open_engine(directory);
  auto largest = "a=" + std::string(limits::proposal_bytes - 2, 'x');
  CHECK(ask(*engine, largest).get());
  auto refused = ask(*engine, largest + "x").get();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::invalid);
}

TEST_CASE("with all places taken the next proposal is refused at the door") {
  scratch place;
  auto directory = open_directory(place.path());
  std::promise<void> hold;
  auto held = hold.get_future().share();
  engine_options options;
  std::atomic<bool> is_holding = false;
  options.fault = [&](commit_point where) {
    if (where == commit_point::log && is_holding)
      held.wait();
    return 0;
  };
  auto engine = open_engine(directory, options);
  is_holding = true;
  std::vector<std::future<answer>> taken;
  for (std::size_t i = 0; i < limits::proposals_waiting; ++i)
    taken.push_back(ask(*engine, "n" + std::to_string(i) + "=x"));
  auto refused = ask(*engine, "late=x").get();
  hold.set_value();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::unavailable);
  for (auto& t : taken)
    CHECK(t.get());
}

TEST_CASE("a second bootstrap is refused, and opening an empty directory says what to do") {
  scratch place;
  auto directory = open_directory(place.path());
  engine_options options;
  options.map_bytes = 64 << 20;
  auto none = ledger_engine::open(directory, std::make_unique<note_machine>(), options);
  REQUIRE_FALSE(none);
  CHECK(none.error().kind == problem_kind::not_found);
  REQUIRE(ledger_engine::bootstrap(directory, options));
  auto twice = ledger_engine::bootstrap(directory, options);
  REQUIRE_FALSE(twice);
  CHECK(twice.error().kind == problem_kind::refused);
}

TEST_CASE("the log is compacted behind the state, and a restart goes on from there") {
  scratch place;
  auto directory = open_directory(place.path());
  engine_options options;
  options.trailing = 40;
  std::uint64_t seq = 0;
  for (int start = 0; start < 3; ++start) {
    auto engine = open_engine(directory, options);
    for (int i = 0; i < 100; ++i) {
      seq = take(*engine, std::to_string(start) + "-" + std::to_string(i) + "=x").seq;
      if (i % 10 == 9)
        REQUIRE(barrier(*engine));
    }
    // Compaction follows a state commit by one round of the writer.
    while (engine->status().first_index + 3 * options.trailing < engine->status().last_index)
      take(*engine, "0-0=x");
    CHECK(engine->status().first_index > 1);
    CHECK(engine->status().first_index <= engine->status().durable_index);
  }
  auto engine = open_engine(directory, options);
  CHECK(notes_of(engine->current()).size() == 300);
  CHECK(seq == 300);
}

TEST_CASE("entries that the state never got are applied again from the log") {
  scratch place;
  auto directory = open_directory(place.path());
  {
    faults broken;
    auto engine = open_engine(directory, broken.options());
    take(*engine, "before=1");
    REQUIRE(barrier(*engine));
    broken.state = EDQUOT; // No state transaction passes from here on.
    CHECK(take(*engine, "after=2").seq == 2);
    auto refused = barrier(*engine);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == problem_kind::exhausted);
    CHECK(notes_of(engine->current()).size() == 1);
  }
  auto engine = open_engine(directory);
  CHECK(notes_of(engine->current()) == notes{{"before", {1, "1"}}, {"after", {2, "2"}}});
}

TEST_CASE("whoever has the engine of a sole voter sees at once that it leads a group of one") {
  scratch place;
  auto directory = open_directory(place.path());
  for (int start = 0; start < 2; ++start) {
    auto engine = open_engine(directory);
    auto now = engine->status();
    REQUIRE(now.members.size() == 1);
    CHECK(now.role == consensus::member_role::voter);
    CHECK(now.is_leader);
    CHECK(now.applied_index == now.last_index);
  }
}

TEST_CASE("after a restart on a full disk no read leaves out what was answered before it") {
  scratch place;
  auto directory = open_directory(place.path());
  {
    faults broken;
    auto engine = open_engine(directory, broken.options());
    broken.state = EDQUOT;
    take(*engine, "only-in-the-log=1");
  }
  faults broken;
  broken.log = broken.state = EDQUOT;
  auto engine = open_engine(directory, broken.options());
  auto refused = barrier(*engine);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::exhausted);
  broken.log = broken.state = 0;
  auto view = barrier(*engine);
  while (!view)
    view = barrier(*engine);
  CHECK(notes_of(*view) == notes{{"only-in-the-log", {1, "1"}}});
}

TEST_CASE("a start on a full disk that has nothing to catch up with answers reads") {
  scratch place;
  auto directory = open_directory(place.path());
  {
    auto engine = open_engine(directory);
    take(*engine, "a=1");
    REQUIRE(barrier(*engine));
  }
  faults broken;
  broken.log = EDQUOT;
  auto engine = open_engine(directory, broken.options());
  auto view = barrier(*engine);
  REQUIRE(view);
  CHECK(notes_of(*view) == notes{{"a", {1, "1"}}});
}

TEST_CASE("a full disk refuses proposals, reads go on, and room lets them in without a restart") {
  scratch place;
  auto directory = open_directory(place.path());
  faults broken;
  auto engine = open_engine(directory, broken.options());
  take(*engine, "a=1");
  REQUIRE(barrier(*engine));
  auto where = GENERATE(commit_point::log, commit_point::state);
  (where == commit_point::log ? broken.log : broken.state) = EDQUOT;
  auto caught = ask(*engine, "b=2"); // Finds the disk full when it is in the log's memory already.
  if (where == commit_point::state)
    CHECK(caught.get());
  while (!engine->status().is_disk_full)
    std::this_thread::yield();
  auto refused = ask(*engine, "c=3").get();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::exhausted);
  CHECK(refused.error().what.find("disk_full") != std::string::npos);
  CHECK(notes_of(engine->current()).contains("a"));
  broken.log = broken.state = 0;
  if (where == commit_point::log)
    CHECK(caught.get()); // It waited, and is written now.
  while (engine->status().is_disk_full)
    std::this_thread::yield();
  CHECK(take(*engine, "c=3").seq == 3);
  CHECK(notes_of(barrier(*engine).value()).size() == 3);
}

TEST_CASE("told that too few of the others have room, a leader takes what undoes and says why") {
  scratch place;
  auto directory = open_directory(place.path());
  auto engine = open_engine(directory);
  engine->tell_room_fault("full but for their reserve: b, c");
  auto refused = ask(*engine, "a=1").get();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::exhausted);
  CHECK(refused.error().what.starts_with("disk_full: full but for their reserve: b, c; only what"));
  CHECK(take(*engine, "undo=2").seq == 1);
  CHECK_FALSE(engine->status().is_disk_full); // Ours is not.
  CHECK(engine->status().room_fault == "full but for their reserve: b, c");
  engine->tell_room_fault({});
  CHECK(take(*engine, "a=1").seq == 2);
}

TEST_CASE("what is kept of a disk is for what undoes, and is taken again when there is room") {
  scratch place;
  auto directory = open_directory(place.path());
  const auto where = GENERATE(commit_point::log, commit_point::state);
  std::atomic<std::uint64_t> granted = 0;
  std::atomic<bool> is_full = false;
  engine_options options;
  options.room = [&](commit_point of, std::uint64_t end) {
    if (of != where)
      return true;
    if (is_full && end > granted)
      return false;
    granted = std::max(granted.load(), end);
    return true;
  };
  auto engine = open_engine(directory, options);
  take(*engine, "first=x");
  REQUIRE(barrier(*engine));
  is_full = true;
  std::optional<problem> refused;
  for (int i = 0; i < 1'000 && !refused; ++i)
    if (auto got = ask(*engine, "n" + std::to_string(i) + "=" + std::string(8'000, 'x')).get();
        !got)
      refused = got.error();
  REQUIRE(refused);
  CHECK(refused->kind == problem_kind::exhausted);
  CHECK(refused->what.find("this coordinator is full but for its reserve") != std::string::npos);
  CHECK(engine->status().is_disk_full);
  for (int i = 0; i < 100; ++i)
    take(*engine, "undo" + std::to_string(i) + "=" + std::string(2'000, 'u'));
  CHECK_FALSE(ask(*engine, "small=x").get());
  REQUIRE(barrier(*engine));
  is_full = false;
  while (engine->status().is_disk_full)
    std::this_thread::yield();
  take(*engine, "small=x");
}

TEST_CASE("a map in use above its limit refuses proposals before it is full, and reads go on") {
  scratch place;
  auto directory = open_directory(place.path());
  engine_options options;
  options.map_bytes = 2 << 20;
  auto engine = open_engine(directory, options);
  std::optional<problem> refused;
  for (int i = 0; i < 1'000 && !refused; ++i) {
    auto got = ask(*engine, "n" + std::to_string(i) + "=" + std::string(4'000, 'x')).get();
    if (!got)
      refused = got.error();
  }
  REQUIRE(refused);
  CHECK(refused->kind == problem_kind::exhausted);
  CHECK(refused->what.find("address space") != std::string::npos);
  auto status = engine->status();
  CHECK(std::max(status.log_map_percent, status.state_map_percent) > limits::map_use_percent);
  CHECK_FALSE(status.is_disk_full); // Nothing was lost at 100 %.
  CHECK(barrier(*engine));
  refused.reset(); // What undoes goes on a while, and ends before the map does.
  CHECK(ask(*engine, "undo=" + std::string(4'000, 'x')).get());
  for (int i = 0; i < 1'000 && !refused; ++i)
    if (auto got = ask(*engine, "undo" + std::to_string(i) + "=" + std::string(4'000, 'x')).get();
        !got)
      refused = got.error();
  REQUIRE(refused);
  CHECK(refused->what.find("address space") != std::string::npos);
  CHECK_FALSE(engine->status().is_disk_full);
  engine.reset();
  options.map_bytes = 64 << 20; // Growth is a matter of the next start.
  engine = open_engine(directory, options);
  CHECK(ask(*engine, "more=x").get());
}

TEST_CASE("an I/O error of a commit ends the process with its reason, and acknowledges nothing") {
  scratch place;
  auto directory = open_directory(place.path());
  faults broken;
  auto engine = open_engine(directory, broken.options());
  take(*engine, "a=1");
  REQUIRE(barrier(*engine));
  SECTION("of the log") {
    broken.log = GENERATE(EIO, ENOSPC); // There is room: the sync itself said so.
    auto lost = ask(*engine, "b=2");
    CHECK(broken.died.get_future().get().find("raft") != std::string::npos);
    broken.log = 0;
    auto later = ask(*engine, "c=3").get();
    REQUIRE_FALSE(later);
    engine.reset();
    auto got = lost.get();
    REQUIRE_FALSE(got);
    CHECK(got.error().what.find("outcome unknown") != std::string::npos);
  }
  SECTION("of the state") {
    broken.state = EIO;
    ask(*engine, "b=2").wait();
    CHECK(broken.died.get_future().get().find("ledger") != std::string::npos);
    CHECK(notes_of(engine->current()).size() == 1);
  }
}

TEST_CASE("a batch that nobody can have sealed ends the process, and nothing behind it is applied"
) {
  class suspicious : public note_machine {
    applied apply(
      std::string_view batch, std::uint64_t index, std::uint64_t term, const row_lookup& known
    ) override {
      if (batch.find("forged") != std::string_view::npos)
        return {.forged = "it says so"};
      return note_machine::apply(batch, index, term, known);
    }
  };
  scratch place;
  auto directory = open_directory(place.path());
  faults broken;
  auto options = broken.options();
  options.map_bytes = 64 << 20;
  REQUIRE(ledger_engine::bootstrap(directory, options));
  auto engine = ledger_engine::open(directory, std::make_unique<suspicious>(), options).value();
  take(*engine, "a=1");
  const auto lost = ask(*engine, "forged=1").get();
  REQUIRE_FALSE(lost);
  CHECK(lost.error().what.find("outcome unknown") != std::string::npos);
  CHECK(broken.died.get_future().get().find("forged: it says so") != std::string::npos);
  CHECK_FALSE(ask(*engine, "b=2").get());
  engine.reset();
  engine = ledger_engine::open(directory, std::make_unique<note_machine>(), options).value();
  CHECK_FALSE(notes_of(engine->current()).contains("b"));
}

TEST_CASE("while the state's disk is busy askers are answered, and a reader waits for its own rows"
) {
  scratch place;
  auto directory = open_directory(place.path());
  std::promise<void> hold, begun;
  auto held = hold.get_future().share();
  std::atomic<bool> is_holding = false;
  engine_options options;
  options.fault = [&](commit_point where) {
    if (where == commit_point::state && is_holding.exchange(false)) {
      begun.set_value();
      held.wait();
    }
    return 0;
  };
  auto engine = open_engine(directory, options);
  // A check that fails must not leave the engine waiting for the end of its commit.
  auto let_go = [](std::promise<void>* held_up) { held_up->set_value(); };
  std::unique_ptr<std::promise<void>, decltype(let_go)> holding{&hold, let_go};
  take(*engine, "a=1");
  REQUIRE(barrier(*engine));
  is_holding = true;
  take(*engine, "b=2");
  begun.get_future().wait();
  CHECK(take(*engine, "b=2").is_repeated); // Found in the set that is on its way.
  take(*engine, "c=3");
  std::promise<result<view_ptr, problem>> read;
  auto seen = read.get_future();
  engine->read_barrier([&](auto view) { read.set_value(std::move(view)); });
  take(*engine, "d=4"); // Behind the reader.
  CHECK(seen.wait_for(std::chrono::seconds{0}) == std::future_status::timeout);
  CHECK(notes_of(engine->current()).size() == 1);
  holding.reset();
  auto view = seen.get();
  REQUIRE(view);
  CHECK(notes_of(*view).contains("c"));
  CHECK(engine->read_row("n/c").value());
}

TEST_CASE("rows are read in pages, in both directions, within their prefix") {
  scratch place;
  auto directory = open_directory(place.path());
  auto engine = open_engine(directory);
  for (auto name : {"a", "b", "c", "d"})
    take(*engine, std::string{name} + "=x");
  REQUIRE(barrier(*engine));
  auto keys = [&](row_scan what) {
    std::string out;
    auto page = engine->read_rows(what);
    REQUIRE(page);
    for (const auto& row : *page)
      out += row.key + " ";
    return out;
  };
  CHECK(keys({"n/"}) == "n/a n/b n/c n/d ");
  CHECK(keys({"n/", "n/b", 2}) == "n/b n/c ");
  CHECK(keys({"n/", {}, 2, true}) == "n/d n/c ");
  CHECK(keys({"n/", "n/b", 9, true}) == "n/b n/a ");
  CHECK(keys({"n/", "n/bb", 9, true}) == "n/b n/a ");
  CHECK(keys({"zzz"}).empty());
  CHECK(keys({"", {}, 9}) == "n/a n/b n/c n/d stamp ");
  CHECK(engine->read_row("n/a").value() == "1:x");
  CHECK_FALSE(engine->read_row("n/none").value());
}

TEST_CASE("a slow disk's commits are farther apart, within bounds") {
  using namespace std::chrono_literals;
  CHECK(commit_pause(0ms) == 10ms);
  CHECK(commit_pause(156us) == 10ms);
  CHECK(commit_pause(500us) == 32ms);
  CHECK(commit_pause(1s) == 100ms);
}

} // namespace assay::store
