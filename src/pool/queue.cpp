#include "src/pool/queue.hpp"

#include <algorithm>
#include <tuple>

namespace assay::pool {

namespace {

template <class Predicate>
std::vector<waiting_ticket> take_if(std::vector<waiting_ticket>& tickets, Predicate gone) {
  auto end =
    std::stable_partition(tickets.begin(), tickets.end(), [&](const auto& t) { return !gone(t); });
  std::vector<waiting_ticket> taken(
    std::make_move_iterator(end), std::make_move_iterator(tickets.end())
  );
  tickets.erase(end, tickets.end());
  return taken;
}

template <class Tickets>
auto find(Tickets& tickets, const ticket_key& key) {
  return std::find_if(tickets.begin(), tickets.end(), [&](const auto& t) { return t.key == key; });
}

} // namespace

int rank(contract::traffic_class c) {
  switch (c) {
  case contract::traffic_class::interactive:
    return 0;
  case contract::traffic_class::evaluation:
    return 1;
  case contract::traffic_class::batch:
    return 2;
  case contract::traffic_class::shadow:
    return 3;
  }
  return 3;
}

void ticket_queue::enter(const waiting_ticket& t) {
  // A project that was away starts level with the one that was served least of those who wait.
  auto least = served_.end();
  for (const auto& other : tickets_)
    if (auto s = served_.find(other.project); s != served_.end())
      if (least == served_.end() || s->second < least->second)
        least = s;
  auto level = least == served_.end() ? 0 : least->second;
  auto is_waiting = std::any_of(tickets_.begin(), tickets_.end(), [&](const auto& other) {
    return other.project == t.project;
  });
  if (tickets_.empty())
    served_.clear(); // Nobody waited: nobody owes anybody, and the table stays small.
  auto& mine = served_[t.project];
  if (!is_waiting)
    mine = std::max(mine, level);
}

std::optional<waiting_ticket> ticket_queue::push(waiting_ticket t) {
  if (auto known = find(tickets_, t.key); known != tickets_.end()) {
    known->acceptable = std::move(t.acceptable);
    known->excluded = std::move(t.excluded);
    known->not_before = std::max(known->not_before, t.not_before);
    return {};
  }
  std::optional<waiting_ticket> displaced;
  if (tickets_.size() >= capacity_) {
    auto youngest = std::max_element(tickets_.begin(), tickets_.end(), [](auto& a, auto& b) {
      return std::tuple{rank(a.traffic), a.since} <= std::tuple{rank(b.traffic), b.since};
    });
    if (youngest == tickets_.end() || rank(youngest->traffic) <= rank(t.traffic))
      return t;
    displaced = std::move(*youngest);
    tickets_.erase(youngest);
  }
  enter(t);
  auto older = [&](const waiting_ticket& other) { return other.since <= t.since; };
  tickets_.insert(std::partition_point(tickets_.begin(), tickets_.end(), older), std::move(t));
  return displaced;
}

bool ticket_queue::contains(const ticket_key& key) const {
  return find(tickets_, key) != tickets_.end();
}

std::optional<waiting_ticket> ticket_queue::take(const ticket_key& key) {
  auto found = find(tickets_, key);
  if (found == tickets_.end())
    return {};
  auto t = std::move(*found);
  tickets_.erase(found);
  return t;
}

std::vector<waiting_ticket> ticket_queue::take_expired(steady_time now) {
  return take_if(tickets_, [&](const auto& t) { return t.deadline <= now; });
}

std::vector<waiting_ticket> ticket_queue::take_of(const ingress_id& ingress) {
  return take_if(tickets_, [&](const auto& t) { return t.key.ingress == ingress; });
}

std::vector<const waiting_ticket*> ticket_queue::in_order() const {
  struct place {
    int rank;
    std::uint64_t served;
    const waiting_ticket* ticket;
  };
  std::vector<place> places;
  places.reserve(tickets_.size());
  for (const auto& t : tickets_)
    places.push_back({rank(t.traffic), served_.at(t.project), &t});
  std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) {
    return std::tuple{a.rank, a.served} < std::tuple{b.rank, b.served};
  });
  std::vector<const waiting_ticket*> order(places.size());
  std::transform(places.begin(), places.end(), order.begin(), [](auto& p) { return p.ticket; });
  return order;
}

std::size_t ticket_queue::ahead_of(contract::traffic_class c) const {
  return static_cast<std::size_t>(std::count_if(tickets_.begin(), tickets_.end(), [&](auto& t) {
    return rank(t.traffic) <= rank(c);
  }));
}

std::optional<waiting_ticket> ticket_queue::serve(const ticket_key& key) {
  auto t = take(key);
  if (t)
    ++served_[t->project];
  return t;
}

} // namespace assay::pool
