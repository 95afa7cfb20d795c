#include "src/base/limits.hpp"
#include "src/jobs/runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <random>

namespace assay::jobs {

namespace {

using namespace std::chrono_literals;

constexpr auto chat = contract::task::chat;
const steady_time dawn{};

spec job() {
  spec s;
  s.id = {"j"};
  s.model = "m";
  return s;
}

std::shared_ptr<const std::string> input_of(std::uint32_t items, std::uint32_t bad_every = 0) {
  std::string text;
  for (std::uint32_t i = 0; i < items; ++i)
    text += bad_every != 0 && i % bad_every == 3
              ? "nonsense\n"
              : R"({"id":"i)" + std::to_string(i) + R"(","prompt":"p"})" + "\n";
  return std::make_shared<const std::string>(text);
}

runner start(std::shared_ptr<const std::string> input, const std::vector<checkpoint>& stored = {}) {
  auto made = runner::resume(job(), chat, std::move(input), stored, dawn);
  REQUIRE(made);
  return std::move(*made);
}

template <class T>
std::vector<T> all_of(const effects& from) {
  std::vector<T> all;
  for (const auto& e : from)
    if (const auto* one = std::get_if<T>(&e))
      all.push_back(*one);
  return all;
}

item_answer good(const ask_item& a) {
  return {a.item, a.attempt, 200, "r", R"({"of":")" + a.request.custom_id + "\"}"};
}

item_answer failing(const ask_item& a, int status) {
  return {a.item, a.attempt, status, "r", "{}"};
}

} // namespace

TEST_CASE("no more requests are in flight than the window allows") {
  auto r = start(input_of(10));
  const auto asks = all_of<ask_item>(r.allow(3, dawn));
  REQUIRE(asks.size() == 3);
  CHECK(all_of<ask_item>(r.allow(3, dawn)).empty());
  CHECK(all_of<ask_item>(r.answered(good(asks[0]), dawn)).size() == 1);
  CHECK(all_of<ask_item>(r.allow(0, dawn)).empty());
  CHECK(all_of<ask_item>(r.answered(good(asks[1]), dawn)).empty());
}

TEST_CASE("a late or repeated answer is ignored") {
  auto r = start(input_of(10));
  const auto ask = all_of<ask_item>(r.allow(1, dawn)).at(0);
  r.answered(failing(ask, 500), dawn);
  CHECK(r.answered(good(ask), dawn).empty());
  const auto again = all_of<ask_item>(r.tick(dawn + 1s)).at(0);
  CHECK(again.item == ask.item);
  CHECK(again.attempt == 2);
  CHECK(r.answered(good(ask), dawn).empty());
  CHECK_FALSE(r.answered(good(again), dawn).empty());
}

TEST_CASE("an item that the engine fails three times becomes an error, and the job goes on") {
  auto r = start(input_of(1));
  auto now = dawn;
  auto ask = all_of<ask_item>(r.allow(1, now)).at(0);
  for (int i = 0; i < 2; ++i) {
    CHECK(all_of<keep_checkpoint>(r.answered(failing(ask, 502), now)).empty());
    now += 30s;
    ask = all_of<ask_item>(r.tick(now)).at(0);
  }
  const auto keep = all_of<keep_checkpoint>(r.answered(failing(ask, 502), now));
  REQUIRE(keep.size() == 1);
  CHECK(keep[0].entry.good == 0);
  CHECK(is_error_line(keep[0].bytes));
}

TEST_CASE("want of capacity is waited for, however often, and is nobody's failure") {
  auto r = start(input_of(1));
  auto now = dawn;
  auto ask = all_of<ask_item>(r.allow(1, now)).at(0);
  for (int i = 0; i < 50; ++i) {
    CHECK(r.answered(failing(ask, i % 2 == 0 ? 503 : 429), now).empty());
    now += 30s;
    ask = all_of<ask_item>(r.tick(now)).at(0);
  }
  CHECK(all_of<keep_checkpoint>(r.answered(good(ask), now)).at(0).entry.good == 1);
}

TEST_CASE("an engine without room is not asked for ever more items") {
  auto r = start(input_of(1'000));
  std::size_t asked = 0;
  for (const auto& ask : all_of<ask_item>(r.allow(4, dawn))) {
    ++asked;
    asked += all_of<ask_item>(r.answered(failing(ask, 503), dawn)).size();
  }
  CHECK(asked == 4);
}

TEST_CASE("a refused request is an error line at once") {
  auto r = start(input_of(1));
  const auto ask = all_of<ask_item>(r.allow(1, dawn)).at(0);
  const auto keep = all_of<keep_checkpoint>(r.answered(failing(ask, 400), dawn));
  CHECK(keep.at(0).entry.good == 0);
}

TEST_CASE("bad lines become error lines in their place") {
  auto r = start(std::make_shared<const std::string>("nonsense\n{\"prompt\":\"a\"}\n{}\n"));
  const auto ask = all_of<ask_item>(r.allow(8, dawn));
  REQUIRE(ask.size() == 1);
  const auto keep = all_of<keep_checkpoint>(r.answered(good(ask[0]), dawn)).at(0);
  CHECK(keep.entry.end == 3);
  CHECK(keep.entry.good == 1);
  CHECK(keep.bytes.find("line 1 is no JSON object") != std::string::npos);
  const auto end = all_of<end_job>(r.kept(0, dawn));
  REQUIRE(end.size() == 1);
  CHECK(end[0].what == event::finish);
}

TEST_CASE("a cancelled job keeps what is done, with a line for what stands before it") {
  auto r = start(input_of(10));
  const auto asks = all_of<ask_item>(r.allow(3, dawn));
  r.answered(good(asks[2]), dawn);
  CHECK(all_of<keep_checkpoint>(r.wind_up(event::cancel, "by hand", dawn)).empty());
  CHECK(all_of<ask_item>(r.tick(dawn + 1s)).empty());
  const auto keep = all_of<keep_checkpoint>(r.tick(dawn + limits::job_wind_up)).at(0);
  CHECK(keep.entry.end == 3);
  CHECK(keep.entry.good == 1);
  CHECK(keep.bytes.find(R"("code":"cancel")") != std::string::npos);
  const auto end = all_of<end_job>(r.kept(0, dawn)).at(0);
  CHECK(end.what == event::cancel);
  CHECK(end.done.next_item == 3);
}

TEST_CASE("a job that is cancelled before anything was asked ends at once") {
  auto r = start(input_of(10));
  CHECK(all_of<end_job>(r.wind_up(event::cancel, "by hand", dawn)).size() == 1);
  CHECK(r.tick(dawn).empty());
  CHECK(r.allow(5, dawn).empty());
}

TEST_CASE("a checkpoint that could not be kept is offered again after a pause, whatever comes") {
  auto r = start(input_of(limits::checkpoint_items + 1));
  std::vector<ask_item> asks;
  std::vector<keep_checkpoint> keeps;
  auto note = [&](const effects& all) {
    for (auto& one : all_of<ask_item>(all))
      asks.push_back(one);
    for (auto& one : all_of<keep_checkpoint>(all))
      keeps.push_back(one);
  };
  note(r.allow(1, dawn));
  for (std::size_t i = 0; keeps.empty(); ++i)
    note(r.answered(good(asks.at(i)), dawn));
  const auto first = keeps.at(0);
  CHECK(r.not_kept(0, dawn).empty());
  const auto pause = limits::full_disk_retry;
  keeps.clear();
  note(r.answered(good(asks.back()), dawn));
  note(r.tick(dawn + pause - 1ms));
  CHECK(keeps.empty());
  note(r.tick(dawn + pause));
  const auto again = keeps.at(0);
  CHECK(again.entry == first.entry);
  CHECK(r.kept(7, dawn).empty());
  keeps.clear();
  note(r.kept(0, dawn + pause));
  CHECK(keeps.at(0).entry.first == first.entry.end);
  CHECK(all_of<end_job>(r.kept(1, dawn + pause)).size() == 1);
}

TEST_CASE("an item that is due is not held up by an earlier one that is not") {
  auto r = start(input_of(2));
  const auto first = all_of<ask_item>(r.allow(1, dawn)).at(0);
  auto busy = [](const ask_item& ask) {
    return item_answer{ask.item, ask.attempt, 503, "r", "{}"};
  };
  auto late = dawn;
  // The first item waits ever longer; the second one was refused once, just now.
  auto asks = all_of<ask_item>(r.answered(busy(first), late));
  for (int tries = 0; tries < 6; ++tries) {
    late += 30s;
    asks = all_of<ask_item>(r.tick(late));
    REQUIRE(asks.at(0).item == 0);
    CHECK(r.answered(busy(asks.at(0)), late).empty());
  }
  const auto second = all_of<ask_item>(r.allow(2, late)).at(0);
  REQUIRE(second.item == 1);
  CHECK(r.answered(busy(second), late).empty());
  const auto next = all_of<ask_item>(r.tick(late + 250ms));
  REQUIRE(next.size() == 1);
  CHECK(next[0].item == 1);
}

TEST_CASE("checkpoints of another input are refused") {
  CHECK_FALSE(runner::resume(job(), chat, input_of(5), {{0, 0, 6, {}, 1, 6}}, dawn));
  CHECK(runner::resume(job(), chat, input_of(6), {{0, 0, 6, {}, 1, 6}}, dawn));
}

// -- crashes --------------------------------------------------------------------------------------

namespace {

/// A cluster that stores blobs and entries, and a dispatcher that may die at any moment.
struct world {
  std::mt19937 dice;
  std::shared_ptr<const std::string> input;
  std::vector<checkpoint> entries;
  std::map<digest, std::string> blobs;
  std::size_t crashes = 0;

  bool chance(unsigned per_mille) { return dice() % 1'000 < per_mille; }

  std::string result() const {
    std::string all;
    for (const auto& c : entries)
      all += blobs.at(c.blob);
    return all;
  }

  /// One life of a dispatcher; true when the job ended.
  bool live(unsigned crash_per_mille) {
    auto r = start(input, entries);
    auto now = dawn;
    std::vector<ask_item> open;
    std::vector<keep_checkpoint> keeps;
    bool ended = false;
    const auto take = [&](const effects& out) {
      for (const auto& e : out) {
        if (const auto* ask = std::get_if<ask_item>(&e))
          open.push_back(*ask);
        else if (const auto* keep = std::get_if<keep_checkpoint>(&e))
          keeps.push_back(*keep);
        else
          ended = true;
      }
    };
    take(r.allow(static_cast<std::uint32_t>(1 + dice() % 20), now));
    while (!ended) {
      now += std::chrono::milliseconds{dice() % 2'000};
      if (chance(crash_per_mille))
        return false;
      if (!keeps.empty() && chance(500)) {
        const auto keep = keeps.back();
        keeps.pop_back();
        blobs[keep.entry.blob] = keep.bytes;
        if (chance(crash_per_mille)) // Between the blob and the entry.
          return false;
        const bool lost = chance(200); // The entry is applied, and the word of it is lost.
        if (!chance(200)) {
          const bool repeated = !entries.empty() && entries.back() == keep.entry;
          REQUIRE((repeated || follow(*progress_of(entries), keep.entry)));
          if (!repeated)
            entries.push_back(keep.entry);
          take(lost ? r.not_kept(keep.entry.number, now) : r.kept(keep.entry.number, now));
        } else {
          take(r.not_kept(keep.entry.number, now));
        }
      }
      if (!open.empty()) {
        std::swap(open[dice() % open.size()], open.back());
        const auto ask = open.back();
        open.pop_back();
        take(chance(100) ? r.answered(failing(ask, 503), now) : r.answered(good(ask), now));
        if (chance(50)) // Said twice.
          take(r.answered(good(ask), now));
      }
      take(r.tick(now));
    }
    return true;
  }
};

} // namespace

TEST_CASE("whatever crashes when, the result is the uninterrupted one, each item once and in order"
) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const auto input = input_of(50 + seed * 7, seed % 3 == 0 ? 11 : 0);
    world calm{std::mt19937{seed}, input, {}, {}, 0};
    REQUIRE(calm.live(0));
    world rough{std::mt19937{seed + 1'000}, input, {}, {}, 0};
    while (!rough.live(5))
      ++rough.crashes;
    CHECK(rough.result() == calm.result());
    std::size_t lines = 0;
    for (const char c : rough.result())
      lines += c == '\n' ? 1 : 0;
    CHECK(lines == 50 + seed * 7);
  }
}

} // namespace assay::jobs
