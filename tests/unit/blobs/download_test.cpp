// One blob's way to us, and when enough have it.

#include "src/base/peer_limits.hpp"
#include "src/blobs/download.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::blobs {

namespace {

const digest blob = sha256("blob");
const steady_time start{std::chrono::hours{1}};

page part(std::uint64_t offset, std::uint64_t size, std::size_t bytes) {
  return {blob, offset, size, false, std::string(bytes, 'x')};
}

} // namespace

TEST_CASE("a majority of those who vote is enough, and whoever does not vote adds nothing") {
  CHECK(is_on_majority({1}, {1}));
  CHECK_FALSE(is_on_majority({1}, {1, 2}));
  CHECK(is_on_majority({1, 2}, {1, 2}));
  CHECK_FALSE(is_on_majority({1}, {1, 2, 3}));
  CHECK(is_on_majority({1, 3}, {1, 2, 3}));
  CHECK_FALSE(is_on_majority({1, 2}, {1, 2, 3, 4}));
  CHECK_FALSE(is_on_majority({1, 7, 8}, {1, 2, 3}));
  CHECK_FALSE(is_on_majority({1}, {}));
}

TEST_CASE("a blob that too few have says how many, how many are needed and who is missing") {
  auto why = not_on_majority({1}, {1, 2, 3});
  CHECK(why.kind == problem_kind::unavailable);
  CHECK(why.what.find("1 of 3") != std::string::npos);
  CHECK(why.what.find("2 are needed") != std::string::npos);
  CHECK(why.what.find("member 2, 3") != std::string::npos);
  CHECK_FALSE(why.next.empty());
}

TEST_CASE("pages come in order, each once, from the one that was asked") {
  download d{blob, {2, 3}, start};
  CHECK(d.ask(start) == want{blob, 0});
  CHECK_FALSE(d.waits_for(3, part(0, 20, 10)));
  CHECK_FALSE(d.waits_for(2, part(10, 20, 10)));
  REQUIRE(d.waits_for(2, part(0, 20, 10)));
  CHECK(d.take(part(0, 20, 10), start));
  CHECK_FALSE(d.waits_for(2, part(0, 20, 10)));
  CHECK(d.ask(start) == want{blob, 10});
  CHECK_FALSE(d.is_whole());
  CHECK(d.take(part(10, 20, 10), start));
  CHECK(d.is_whole());
  CHECK_FALSE(d.waits_for(2, part(20, 20, 0)));
}

TEST_CASE("an empty blob is whole with its first page") {
  download d{blob, {2}, start};
  CHECK_FALSE(d.is_whole());
  CHECK(d.take(part(0, 0, 0), start));
  CHECK(d.is_whole());
}

TEST_CASE("two sizes of one blob contradict each other, of two sources they do not") {
  download d{blob, {2, 3}, start};
  CHECK(d.take(part(0, 20, 10), start));
  CHECK_FALSE(d.take(part(10, 21, 10), start));
  CHECK(d.pass_over("named two sizes", false, start));
  CHECK(d.source() == 3);
  CHECK(d.ask(start) == want{blob, 0});
  CHECK(d.take(part(0, 21, 10), start));
}

TEST_CASE("a want is said again in time, and a source without progress is stuck") {
  download d{blob, {2}, start};
  d.ask(start);
  auto again = start + limits::blob_said_again;
  CHECK_FALSE(d.is_ask_due(again - std::chrono::milliseconds{1}));
  CHECK(d.is_ask_due(again));
  d.ask(again);
  CHECK_FALSE(d.is_ask_due(again));
  auto late = start + limits::blob_silence;
  CHECK_FALSE(d.is_stuck(late - std::chrono::milliseconds{1}));
  CHECK(d.is_stuck(late));
  CHECK(d.take(part(0, 20, 10), late));
  CHECK_FALSE(d.is_stuck(late));
}

TEST_CASE("what nobody has is not found, and what somebody might have is only unavailable") {
  download sure{blob, {2, 3}, start};
  CHECK(sure.pass_over("does not have it", true, start));
  CHECK_FALSE(sure.pass_over("does not have it", true, start));
  CHECK(sure.why_not().kind == problem_kind::not_found);
  download unsure{blob, {2, 3}, start};
  CHECK(unsure.pass_over("cannot be reached", false, start));
  CHECK_FALSE(unsure.pass_over("does not have it", true, start));
  CHECK(unsure.why_not().kind == problem_kind::unavailable);
  CHECK(
    unsure.why_not().what.find("member 2 cannot be reached; member 3 does not have it")
    != std::string::npos
  );
}

TEST_CASE("whoever offers what is being fetched is asked next, and once") {
  download d{blob, {2, 3, 4}, start};
  d.add_source(4);
  d.add_source(2);
  CHECK(d.pass_over("does not have it", true, start));
  CHECK(d.source() == 4);
  CHECK(d.pass_over("does not have it", true, start));
  CHECK(d.source() == 3);
  CHECK_FALSE(d.pass_over("does not have it", true, start));
}

} // namespace assay::blobs
