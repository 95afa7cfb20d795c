// Whom a member asks for its state, and which pages it believes.

#include "src/base/limits.hpp"
#include "src/store/state_fetch.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::store {

namespace {

using consensus::member_role;

const consensus::snapshot_mark mark{
  100, 4, 1, {{1, "1"}, {2, "2"}, {3, "3"}, {4, "4", member_role::spare}}};

struct doubter : state_audit {
  std::string take(std::string_view, std::string_view value) override {
    return value == "unbelievable" ? "a row is unbelievable" : "";
  }
  std::string finish(std::uint64_t index) override { return index == 666 ? "evil" : ""; }
};

struct asking {
  state_fetch it{mark, 3, 1'000, [] { return std::make_unique<doubter>(); }};
  std::uint64_t now = 0;

  state_request ask(std::uint64_t leader = 1) {
    now = std::max(now, it.wake_up_ms());
    auto out = it.due(now, leader);
    REQUIRE(out);
    return *out;
  }
};

state_page reply(const state_request& to, std::vector<stored_row> rows) {
  state_page out;
  out.from = to.to;
  out.to = to.from;
  out.attempt = to.attempt;
  out.after = to.after;
  out.rows = std::move(rows);
  return out;
}

state_page last(state_page page, const std::vector<stored_row>& all, std::uint64_t index = 120) {
  state_root root;
  for (const auto& row : all)
    root.add(row);
  page.is_last = true;
  page.index = index;
  page.term = 5;
  page.root = root.finish();
  return page;
}

} // namespace

TEST_CASE("a state comes page by page from the leader, and ends with its root") {
  asking who;
  const auto first = who.ask();
  CHECK(first == state_request{3, 1, 1'001, 100, ""});
  const auto one = who.it.take(reply(first, {{"a", "1"}, {"b", "2"}}), who.now);
  REQUIRE(one);
  CHECK(one->is_first);
  CHECK_FALSE(one->end);
  CHECK_FALSE(who.it.due(who.now, 1)); // It is being stored.
  who.it.stored(true, who.now);
  const auto second = who.ask();
  CHECK(second.after == "b");
  const auto two =
    who.it.take(last(reply(second, {{"c", "3"}}), {{"a", "1"}, {"b", "2"}, {"c", "3"}}), who.now);
  REQUIRE(two);
  CHECK_FALSE(two->is_first);
  REQUIRE(two->end);
  CHECK(two->end->index == 120);
  CHECK(two->end->term == 5);
}

TEST_CASE("a page that is wrong is not stored, says why, and another member is asked anew") {
  using rows = std::vector<stored_row>;
  struct row {
    const char* why;
    std::function<state_page(const state_request&)> page;
  };
  const std::vector<row> table{
    {"no such state",
     [](const state_request& r) {
       auto p = reply(r, {});
       p.is_refused = true;
       return p;
     }},
    {"out of order",
     [](const state_request& r) {
       return reply(r, {{"b", "1"}, {"a", "2"}});
     }},
    {"out of order",
     [](const state_request& r) {
       return reply(r, {{"b", "1"}, {"b", "2"}});
     }},
    {"out of order",
     [](const state_request& r) {
       return reply(r, {{"", "1"}});
     }},
    {"out of order",
     [](const state_request& r) {
       return reply(r, {{std::string(limits::key_bytes + 1, 'k'), "1"}});
     }},
    {"too large",
     [](const state_request& r) {
       return reply(r, {{"a", std::string(limits::row_bytes + 1, 'x')}});
     }},
    {"empty", [](const state_request& r) { return reply(r, {}); }},
    {"unbelievable",
     [](const state_request& r) {
       return reply(r, {{"a", "unbelievable"}});
     }},
    {"before 100",
     [](const state_request& r) {
       return last(reply(r, {{"a", "1"}}), rows{{"a", "1"}}, 99);
     }},
    {"root",
     [](const state_request& r) {
       return last(reply(r, {{"a", "1"}}), rows{{"a", "other"}});
     }},
    {"evil",
     [](const state_request& r) {
       return last(reply(r, {{"a", "1"}}), rows{{"a", "1"}}, 666);
     }},
  };
  for (const auto& wrong : table) {
    INFO(wrong.why);
    asking who;
    const auto first = who.ask();
    CHECK_FALSE(who.it.take(wrong.page(first), who.now));
    CHECK(who.it.problem().find(wrong.why) != std::string::npos);
    CHECK_FALSE(who.it.due(who.now, 1)); // Not at once.
    who.ask();                           // The member that is no leader, first of them.
    const auto again = who.it.take(reply(first, {{"a", "1"}}), who.now);
    CHECK_FALSE(again); // The answer to the attempt that was given up comes too late.
  }
}

TEST_CASE("the longest key, the largest row and the oldest state that are allowed are believed") {
  asking who;
  const std::vector<stored_row> rows{
    {std::string(limits::key_bytes, 'k'), std::string(limits::row_bytes, 'x')}};
  CHECK(who.it.take(last(reply(who.ask(), rows), rows, 100), who.now));
}

TEST_CASE("a page that is lost is asked for again, and after four times another member is asked") {
  asking who;
  auto first = who.ask(2);
  CHECK(first.to == 2);
  REQUIRE(who.it.take(reply(first, {{"a", "1"}}), who.now));
  who.it.stored(true, who.now);
  const auto page = who.ask(2);
  for (int i = 0; i < 3; ++i)
    CHECK(who.ask(2) == page);
  const auto next = who.ask(2);
  CHECK(next.attempt > page.attempt);
  CHECK(next.after.empty());
}

TEST_CASE("neither itself nor a spare is asked, and without a leader all others are") {
  asking who;
  std::vector<std::uint64_t> asked;
  for (int i = 0; i < 4; ++i) {
    const auto what = who.ask(0);
    asked.push_back(what.to);
    auto refused = reply(what, {});
    refused.is_refused = true;
    CHECK_FALSE(who.it.take(refused, who.now));
  }
  CHECK(asked == std::vector<std::uint64_t>{1, 1, 2, 2});
}

TEST_CASE("a page that found the disk full begins again when there may be room") {
  asking who;
  const auto first = who.ask();
  REQUIRE(who.it.take(reply(first, {{"a", "1"}}), who.now));
  who.it.stored(false, who.now);
  CHECK_FALSE(who.it.due(who.now, 1));
  const auto again = who.ask();
  CHECK(again.attempt > first.attempt);
  CHECK(again.after.empty());
}

} // namespace assay::store
