#include "src/qualification/drift.hpp"
#include "src/qualification/envelope.hpp"
#include "src/qualification/expiry.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::qualification {

namespace {

const auto old_stack = sha256(std::string_view{"driver 1"});
const auto new_stack = sha256(std::string_view{"driver 2"});

seen_replica on(const std::string& host, const digest& stack) {
  return {{"r@" + host}, {host}, stack};
}

} // namespace

TEST_CASE("a replica on a stack outside the set leaves, and its neighbours on other hosts stay") {
  const auto v = drift_of({on("a", old_stack), on("b", new_stack)}, {old_stack}, false);
  CHECK(v.leaving == std::vector{replica_id{"r@b"}});
  CHECK(v.serving == std::vector{replica_id{"r@a"}});
  CHECK(v.drifted == std::vector{host_id{"b"}});
  CHECK_FALSE(v.suspend);
}

TEST_CASE("the qualification is suspended when the last qualified replica is gone") {
  CHECK(drift_of({on("a", new_stack), on("b", new_stack)}, {old_stack}, false).suspend);
}

TEST_CASE("a policy may suspend on any drift") {
  CHECK(drift_of({on("a", old_stack), on("b", new_stack)}, {old_stack}, true).suspend);
  CHECK_FALSE(drift_of({on("a", old_stack)}, {old_stack}, true).suspend);
}

TEST_CASE("no live replica at all is no drift") {
  const auto v = drift_of({}, {old_stack}, true);
  CHECK_FALSE(v.suspend);
  CHECK(v.why.empty());
}

TEST_CASE("two qualified stacks are one set") {
  CHECK(
    drift_of({on("a", old_stack), on("b", new_stack)}, {old_stack, new_stack}, true).leaving.empty()
  );
}

TEST_CASE("a qualification is expired at its hour and not a millisecond before") {
  const auto hour = expires_at({1'000}, std::chrono::seconds{2});
  CHECK_FALSE(is_expired({2'999}, hour));
  CHECK(is_expired({3'000}, hour));
}

TEST_CASE("an ingress shuts the gate a grace after the hour") {
  CHECK_FALSE(is_surely_expired({62'999}, {3'000}));
  CHECK(is_surely_expired({63'000}, {3'000}));
}

TEST_CASE("the envelope holds the edge and not one past it") {
  const envelope e{contract::task::chat, 1'023, 256, true, true};
  contract::shape s;
  s.input = {1'023, 4'000};
  s.output_tokens = 256;
  CHECK(where(e, s) == outside::no);
  s.output_tokens = 257;
  CHECK(where(e, s) == outside::output);
  s.input = {1'024, 1'024};
  CHECK(where(e, s) == outside::input);
}

TEST_CASE("what was never shown streamed does not cover streams") {
  const envelope e{contract::task::chat, 100, 100, true, false};
  contract::shape s;
  CHECK(where(e, s) == outside::no);
  s.stream = true;
  CHECK(where(e, s) == outside::no_streaming);
  s.task = contract::task::embedding;
  CHECK(where(e, s) == outside::wrong_task);
}

} // namespace assay::qualification
