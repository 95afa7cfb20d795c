// Hours that wait to be on record.

#include "src/base/peer_limits.hpp"
#include "src/ledger/service_backlog.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

namespace assay::ledger::test {

namespace {

using namespace std::chrono_literals;

constexpr steady_time now{1h};
constexpr steady_time later{1h + limits::service_tell_again};

serving_summary hour(int which) {
  serving_summary s;
  s.ingress = "in";
  s.hour = {which * service_hour.count()};
  s.route = {"m"};
  return s;
}

std::vector<serving_summary> hours(int count) {
  std::vector<serving_summary> all;
  for (int i = 0; i < count; ++i)
    all.push_back(hour(i));
  return all;
}

} // namespace

TEST_CASE("an hour is said until it is settled, and not again before its time") {
  service_backlog b;
  b.add(hours(2));
  CHECK(b.due(now) == hours(2));
  CHECK(b.due(now + limits::service_tell_again - 1ns).empty());
  b.settle(id_of(hour(0)));
  CHECK(b.due(later) == std::vector{hour(1)});
  b.settle(id_of(hour(1)));
  b.settle(id_of(hour(1)));
  CHECK(b.size() == 0);
  CHECK(b.left_out() == 0);
}

TEST_CASE("all that is under way is said again at once when told so") {
  service_backlog b;
  b.add(hours(2));
  b.due(now);
  b.say_all_again();
  CHECK(b.due(now) == hours(2));
}

TEST_CASE("only so many are under way, and the next one follows a settled one") {
  service_backlog b;
  const int most = limits::service_telling;
  b.add(hours(most + 1));
  CHECK(b.due(now) == hours(most));
  b.settle(id_of(hour(3)));
  CHECK(b.due(now) == std::vector{hour(most)});
}

TEST_CASE("one that is refused is tried again until it is given up") {
  service_backlog b;
  b.add(hours(1));
  auto at = now;
  for (unsigned i = 1; i < limits::service_refusals; ++i) {
    REQUIRE(b.due(at).size() == 1);
    CHECK_FALSE(b.refuse(id_of(hour(0)), at));
    at += limits::service_tell_again;
  }
  CHECK(b.size() == 1);
  CHECK(b.refuse(id_of(hour(0)), at));
  CHECK_FALSE(b.refuse(id_of(hour(0)), at));
  CHECK(b.size() == 0);
  CHECK(b.left_out() == 1);
}

TEST_CASE("the oldest hour makes room when nobody takes any") {
  service_backlog b;
  const int most = limits::service_untold;
  b.add(hours(most));
  CHECK(b.left_out() == 0);
  b.add({hour(most)});
  CHECK(b.size() == limits::service_untold);
  CHECK(b.left_out() == 1);
  CHECK(b.due(now).front() == hour(1));
}

TEST_CASE("a member tells what its own ingress served, and nothing else") {
  head_row head;
  head.members = {{.id = 2, .name = "in"}, {.id = 3, .name = "other"}};
  CHECK(not_its_own(head, 2, hour(0)).empty());
  CHECK_FALSE(not_its_own(head, 3, hour(0)).empty());
  CHECK_FALSE(not_its_own(head, 4, hour(0)).empty());
}

} // namespace assay::ledger::test
