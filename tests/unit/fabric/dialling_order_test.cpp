#include "src/base/limits.hpp"
#include "src/base/peer_limits.hpp"
#include "src/fabric/dialling_order.hpp"

#include <catch2/catch_test_macros.hpp>

#include <functional>

namespace assay::fabric {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto first = milliseconds{limits::redial_first};
constexpr auto most = milliseconds{limits::redial_most};
constexpr auto nobody = std::optional<coordinator_at>{};

coordinator_at named(char letter) {
  coordinator_at one{std::string{letter} + ".site:7103", {}};
  one.key.bytes.fill(static_cast<std::uint8_t>(letter));
  return one;
}

const auto a = named('a');
const auto b = named('b');
const auto c = named('c');

dialling_order order_of(
  std::vector<coordinator_at> learned, std::vector<coordinator_at> configured = {named('z')}
) {
  return {std::move(configured), std::move(learned), redial{first, most}};
}

/// Pauses are at their longest with this chance.
milliseconds
ended(dialling_order& order, lost_reason reason, std::optional<coordinator_at> leader = nobody) {
  return order.ended(reason, leader, 0);
}

/// The coordinators as they are at a time after the leader was killed: whom `asked` names.
using answers = std::function<std::optional<coordinator_at>(coordinator_at asked, milliseconds at)>;

/// Follows them until `leader` is dialled at a time from `from` on; when that is. Dialling `a`
/// takes as long as `dead_costs`.
milliseconds found_at(
  dialling_order& order,
  milliseconds at,
  const coordinator_at& leader,
  milliseconds from,
  milliseconds dead_costs,
  answers ask
) {
  for (int i = 0; i < 1'000; ++i) {
    if (order.whom() == leader && at >= from)
      return at;
    auto said = ask(order.whom(), at);
    auto reason = order.whom() == a ? lost_reason::unreachable : lost_reason::not_leader;
    at += (order.whom() == a ? dead_costs : 0ms);
    at += ended(order, reason, said);
  }
  return milliseconds::max();
}

} // namespace

TEST_CASE("the leader that a follower names is dialled at once") {
  auto order = order_of({a, b, c});
  CHECK(order.whom() == a);
  CHECK(ended(order, lost_reason::not_leader, c) == 0ms);
  CHECK(order.whom() == c);
}

TEST_CASE("a leader whom nobody had heard of is dialled where the follower says it is") {
  auto order = order_of({a, b});
  CHECK(ended(order, lost_reason::not_leader, c) == 0ms);
  CHECK(order.whom() == c);
}

TEST_CASE("without a word on the leader each is asked once, and only then comes a pause") {
  auto order = order_of({a, b, c});
  CHECK(ended(order, lost_reason::not_leader) == 0ms);
  CHECK(order.whom() == b);
  CHECK(ended(order, lost_reason::not_leader) == 0ms);
  CHECK(order.whom() == c);
  CHECK(ended(order, lost_reason::not_leader) == first);
  CHECK(order.whom() == a);
}

TEST_CASE("followers that name one another are asked once each between two pauses") {
  auto order = order_of({a, b});
  for (int round = 0; round < 5; ++round) {
    auto other = order.whom() == a ? b : a;
    CHECK(ended(order, lost_reason::not_leader, other) == 0ms);
    REQUIRE(order.whom() == other);
    CHECK(ended(order, lost_reason::not_leader, other == a ? b : a) >= first);
  }
}

TEST_CASE("names that never end are followed so many times and no more without a pause") {
  auto order = order_of({a});
  std::size_t asked = 1;
  for (char letter = '!'; ended(order, lost_reason::not_leader, named(letter)) == 0ms; ++letter)
    ++asked;
  CHECK(asked == limits::peers);
}

TEST_CASE("pauses double while nobody answers, and stay short while coordinators elect") {
  auto unreached = order_of({a}, {a});
  auto electing = order_of({a}, {a});
  milliseconds longest{0};
  milliseconds longest_electing{0};
  for (int i = 0; i < 10; ++i) {
    longest = std::max(longest, ended(unreached, lost_reason::unreachable));
    longest_electing = std::max(longest_electing, ended(electing, lost_reason::not_leader));
  }
  CHECK(longest == most);
  CHECK(longest_electing == 8 * first);
}

TEST_CASE("after a cut session the others are asked first, after the shortest pause") {
  auto order = order_of({a, b, c});
  order.welcomed();
  CHECK(ended(order, lost_reason::disconnected) == first);
  CHECK(order.whom() == b);
}

TEST_CASE("a coordinator that closed the session in order is asked first") {
  auto order = order_of({a, b, c});
  order.welcomed();
  CHECK(ended(order, lost_reason::closed_by_peer) == first);
  CHECK(order.whom() == a);
}

TEST_CASE("a session that ends because another one leads goes on there at once") {
  auto order = order_of({a, b, c});
  order.welcomed();
  CHECK(ended(order, lost_reason::not_leader, b) == 0ms);
  CHECK(order.whom() == b);
}

TEST_CASE("the only coordinator is dialled again whatever happened to its session") {
  for (auto reason :
       {lost_reason::disconnected,
        lost_reason::silent,
        lost_reason::closed_by_peer,
        lost_reason::not_leader}) {
    auto order = order_of({}, {a});
    order.welcomed();
    CHECK(ended(order, reason) == first);
    CHECK(order.whom() == a);
  }
}

TEST_CASE("whose session was cut is not dialled on its followers' word before they had an election"
) {
  auto order = order_of({a, b, c});
  order.welcomed();
  ended(order, lost_reason::disconnected);
  for (int round = 0; round < 4; ++round) {
    REQUIRE(order.whom() != a);
    CHECK(ended(order, lost_reason::not_leader, a) == 0ms);
    REQUIRE(order.whom() != a);
    CHECK(ended(order, lost_reason::not_leader, a) > 0ms);
  }
  if (order.whom() != a)
    ended(order, lost_reason::not_leader, a);
  CHECK(order.whom() == a);
}

TEST_CASE("when no other coordinator answers, the one whose session was cut is dialled again") {
  auto order = order_of({a, b}, {a});
  order.welcomed();
  ended(order, lost_reason::disconnected);
  REQUIRE(order.whom() == b);
  CHECK(ended(order, lost_reason::unreachable) == 0ms);
  CHECK(order.whom() == a);
}

namespace {

/// How long after its election `c` is found by an agent of `a`, which died at the start.
milliseconds late(milliseconds elected, milliseconds dead_costs) {
  auto order = order_of({a, b, c});
  order.welcomed();
  auto begun = ended(order, lost_reason::disconnected);
  // Followers take the dead one for the leader until the election.
  auto ask = [&](const coordinator_at& asked, milliseconds at) {
    return asked == a ? nobody : std::optional{at < elected ? a : c};
  };
  return found_at(order, begun, c, elected, dead_costs, ask) - elected;
}

} // namespace

TEST_CASE("a leader is found within a second of its election, whenever that is") {
  for (auto elected = 0ms; elected <= 10s; elected += 50ms) {
    INFO(elected.count());
    CHECK(late(elected, 0ms) <= 1s);
  }
}

TEST_CASE("a leader is found as soon when its predecessor's machine answers nothing any more") {
  for (auto elected = 0ms; elected <= 2s; elected += 50ms) {
    INFO(elected.count());
    CHECK(late(elected, milliseconds{limits::handshake}) <= 1s);
  }
}

TEST_CASE("a list that was learned takes the place of the one before; an empty one takes none") {
  auto order = order_of({a, b});
  CHECK(order.learn({b, c}));
  CHECK_FALSE(order.learn({b, c}));
  CHECK_FALSE(order.learn({}));
  CHECK(order.learned() == std::vector{b, c});
  CHECK(ended(order, lost_reason::not_leader) == 0ms);
  CHECK(order.whom() == b);
}

TEST_CASE("the configured coordinators are asked when none of the learned ones answers") {
  auto order = order_of({a, b}, {c});
  ended(order, lost_reason::unreachable);
  ended(order, lost_reason::wrong_server);
  CHECK(order.whom() == c);
  CHECK(ended(order, lost_reason::unreachable) == first);
  CHECK(order.whom() == a);
}

TEST_CASE("the configured coordinators are left alone when a learned one answers") {
  auto order = order_of({a, b}, {c});
  ended(order, lost_reason::not_leader);
  CHECK(ended(order, lost_reason::unreachable) == first);
  CHECK(order.whom() != c);
}

TEST_CASE("a key that all refuse waits the longest pause, one that somebody refuses does not") {
  auto all = order_of({a, b}, {a});
  ended(all, lost_reason::refused);
  CHECK(ended(all, lost_reason::refused) == most);
  auto one = order_of({a, b}, {a});
  ended(one, lost_reason::unreachable);
  CHECK(ended(one, lost_reason::refused) == first);
}

TEST_CASE("an agent whose key another one uses waits before it dials anybody") {
  auto order = order_of({a, b, c});
  CHECK(ended(order, lost_reason::superseded) == most);
}

} // namespace assay::fabric
