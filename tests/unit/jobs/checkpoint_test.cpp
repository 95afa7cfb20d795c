#include "src/base/limits.hpp"
#include "src/jobs/checkpoint.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::jobs {

namespace {

const steady_time dawn{};

std::string text(std::uint32_t item) {
  return "line " + std::to_string(item);
}

collected with(std::uint32_t items, std::initializer_list<std::uint32_t> done) {
  collected c{{}, items, dawn};
  for (auto item : done)
    c.add(item, text(item), true);
  return c;
}

} // namespace

TEST_CASE("only the contiguous head is cut, in item order") {
  auto c = with(10, {1, 0, 3});
  const auto cut = c.cut_now(dawn);
  REQUIRE(cut);
  CHECK(cut->bytes == "line 0\nline 1\n");
  CHECK(cut->entry.first == 0);
  CHECK(cut->entry.end == 2);
  CHECK(cut->entry.blob == sha256(cut->bytes));
  CHECK_FALSE(c.cut_now(dawn));
}

TEST_CASE("a checkpoint is due at its number of items, at its age, or when the job is done") {
  auto few = with(limits::checkpoint_items + 1, {0});
  CHECK_FALSE(few.cut(dawn + limits::checkpoint_every - std::chrono::nanoseconds{1}));
  CHECK(few.cut(dawn + limits::checkpoint_every));
  collected many{{}, limits::checkpoint_items + 1, dawn};
  for (std::uint32_t i = 0; i + 1 < limits::checkpoint_items; ++i)
    many.add(i, text(i), true);
  CHECK_FALSE(many.cut(dawn));
  many.add(limits::checkpoint_items - 1, "x", true);
  CHECK(many.cut(dawn));
  CHECK(with(2, {0, 1}).cut(dawn));
}

TEST_CASE("the first line of an item stays, whatever comes later") {
  auto c = with(2, {0});
  c.add(0, "another", false);
  CHECK(c.cut_now(dawn)->bytes == "line 0\n");
  c.kept(dawn);
  c.add(0, "late", false);
  c.add(1, text(1), false);
  const auto cut = c.cut_now(dawn);
  CHECK(cut->bytes == "line 1\n");
  CHECK(cut->entry.good == 0);
  c.kept(dawn);
  CHECK(c.complete());
}

TEST_CASE("a checkpoint that seemed refused is cut again, the very same") {
  auto c = with(10, {0, 1});
  const auto first = c.cut_now(dawn);
  c.add(2, text(2), true);
  c.not_kept(dawn);
  CHECK_FALSE(c.cut(dawn + limits::full_disk_retry - std::chrono::milliseconds{1}));
  CHECK_FALSE(c.cut_now(dawn));
  const auto again = c.cut(dawn + limits::full_disk_retry);
  REQUIRE(again);
  CHECK(again->entry == first->entry);
  CHECK(again->bytes == first->bytes);
  c.kept(dawn);
  CHECK(c.cut_now(dawn)->bytes == "line 2\n");
}

TEST_CASE("answers may run ahead of a missing one up to the limit, and the missing one always") {
  collected c{{}, 1'000'000, dawn};
  CHECK(c.may_run_ahead(limits::job_answers_ahead - 1));
  CHECK_FALSE(c.may_run_ahead(limits::job_answers_ahead));
  c.add(1, std::string(limits::job_answers_bytes, 'x'), true);
  CHECK(c.may_run_ahead(0));
  CHECK_FALSE(c.may_run_ahead(2));
}

TEST_CASE("checkpoints must follow one another without gap or overlap") {
  const checkpoint first{0, 0, 5, {}, 50, 4};
  const checkpoint second{1, 5, 7, {}, 20, 2};
  const auto done = progress_of({first, second});
  REQUIRE(done);
  CHECK(*done == progress{2, 7, 6, 70});
  CHECK_FALSE(progress_of({second}));
  CHECK_FALSE(progress_of({first, first}));
  CHECK_FALSE(progress_of({first, {1, 6, 7, {}, 20, 1}}));
  CHECK_FALSE(progress_of({first, {1, 4, 7, {}, 20, 1}}));
  CHECK_FALSE(progress_of({first, {1, 5, 5, {}, 0, 0}}));
  CHECK_FALSE(progress_of({first, {1, 5, 7, {}, 20, 3}}));
}

} // namespace assay::jobs
