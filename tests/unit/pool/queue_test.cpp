#include "src/pool/queue.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::pool {

namespace {

using namespace std::chrono_literals;
using contract::traffic_class;

const auto dawn = steady_time{} + 1h;

waiting_ticket ticket(
  std::uint64_t number,
  std::string project = "p",
  traffic_class c = traffic_class::interactive,
  steady_time since = dawn
) {
  return {
    .key = {{"in"}, number},
    .traffic = c,
    .project = {std::move(project)},
    .acceptable = {{"i"}},
    .since = since + std::chrono::milliseconds{number},
    .deadline = dawn + 30s,
  };
}

std::vector<std::uint64_t> drain(ticket_queue& queue) {
  std::vector<std::uint64_t> order;
  while (!queue.empty()) {
    auto key = queue.in_order().front()->key;
    order.push_back(key.ticket);
    queue.serve(key);
  }
  return order;
}

using numbers = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("interactive goes before evaluation, batch and shadow, whoever came first") {
  ticket_queue queue{10};
  queue.push(ticket(1, "p", traffic_class::shadow));
  queue.push(ticket(2, "p", traffic_class::batch));
  queue.push(ticket(3, "p", traffic_class::evaluation));
  queue.push(ticket(4, "p", traffic_class::interactive));
  CHECK(drain(queue) == numbers{4, 3, 2, 1});
}

TEST_CASE("a project with many waiting does not hold up one with few") {
  ticket_queue queue{10};
  for (auto n : {1, 2, 3, 4})
    queue.push(ticket(static_cast<std::uint64_t>(n), "greedy"));
  queue.push(ticket(5, "modest"));
  queue.push(ticket(6, "modest"));
  CHECK(drain(queue) == numbers{1, 5, 2, 6, 3, 4});
}

TEST_CASE("a project that was away comes back without a claim on the past") {
  ticket_queue queue{100};
  for (std::uint64_t n = 1; n <= 20; ++n)
    queue.push(ticket(n, "steady"));
  for (std::uint64_t n = 1; n <= 10; ++n)
    queue.serve({{"in"}, n});
  queue.push(ticket(30, "late"));
  queue.push(ticket(31, "late"));
  queue.push(ticket(32, "late"));
  auto order = drain(queue);
  CHECK(numbers(order.begin(), order.begin() + 4) == numbers{11, 30, 12, 31});
}

TEST_CASE("the last place in the queue is given and the next is refused") {
  ticket_queue queue{2};
  CHECK_FALSE(queue.push(ticket(1)));
  CHECK_FALSE(queue.push(ticket(2)));
  auto refused = queue.push(ticket(3));
  REQUIRE(refused);
  CHECK(refused->key.ticket == 3);
}

TEST_CASE("a full queue gives up its youngest of the lowest class for a higher one") {
  ticket_queue queue{3};
  queue.push(ticket(1, "p", traffic_class::batch));
  queue.push(ticket(2, "p", traffic_class::batch));
  queue.push(ticket(3));
  auto displaced = queue.push(ticket(4));
  REQUIRE(displaced);
  CHECK(displaced->key.ticket == 2);
  CHECK(queue.push(ticket(5, "p", traffic_class::batch))->key.ticket == 5);
}

TEST_CASE("a ticket asked twice waits once") {
  ticket_queue queue{2};
  queue.push(ticket(1));
  queue.push(ticket(1));
  CHECK(queue.size() == 1);
}

TEST_CASE("a ticket that comes back as old as it was is ahead of those that came since") {
  ticket_queue queue{4};
  queue.push(ticket(5));
  queue.push(ticket(3));
  CHECK(drain(queue) == numbers{3, 5});
}

TEST_CASE("a ticket waits until its deadline and not a moment longer") {
  ticket_queue queue{2};
  queue.push(ticket(1));
  CHECK(queue.take_expired(dawn + 30s - 1ns).empty());
  CHECK(queue.take_expired(dawn + 30s).size() == 1);
  CHECK(queue.empty());
}

} // namespace assay::pool
