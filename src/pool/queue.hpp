#pragma once
// Requests that wait for a credit: by class, then fairly over projects, then by age.
//
// Interactive goes before evaluation, evaluation before batch, batch before shadow. Within a class
// the project that was served least goes first; a project that was away does not come back with a
// claim on the past. The queue is bounded: a full one refuses the newcomer, or the youngest of a
// lower class if the newcomer is of a higher one.

#include "src/pool/events.hpp"

#include <map>
#include <optional>
#include <vector>

namespace assay::pool {

struct ticket_key {
  ingress_id ingress;
  std::uint64_t ticket = 0;

  friend auto operator<=>(const ticket_key&, const ticket_key&) = default;
};

struct waiting_ticket {
  ticket_key key;
  contract::traffic_class traffic = contract::traffic_class::interactive;
  project_id project;
  std::vector<implementation_id> acceptable;
  std::vector<endpoint_key> excluded;
  steady_time since{};
  steady_time deadline{};
  steady_time not_before{}; ///< Its last admission failed: a moment for reports to catch up.
};

/// 0 is served first.
int rank(contract::traffic_class c);

class ticket_queue {
public:
  explicit ticket_queue(std::size_t capacity) : capacity_{capacity} {}

  /// The ticket that was refused for it: itself, another, or none. A known ticket keeps its place
  /// and its age and takes the new lists.
  std::optional<waiting_ticket> push(waiting_ticket t);

  bool contains(const ticket_key& key) const;
  std::optional<waiting_ticket> take(const ticket_key& key);
  std::vector<waiting_ticket> take_expired(steady_time now);
  std::vector<waiting_ticket> take_of(const ingress_id& ingress);

  /// In the order in which they should be served now.
  std::vector<const waiting_ticket*> in_order() const;
  const std::vector<waiting_ticket>& all() const { return tickets_; }
  std::size_t ahead_of(contract::traffic_class c) const; ///< Of the same or a higher class.

  /// Takes a ticket for service and charges its project.
  std::optional<waiting_ticket> serve(const ticket_key& key);

  std::size_t size() const { return tickets_.size(); }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return tickets_.empty(); }

private:
  void enter(const waiting_ticket& t);

  std::size_t capacity_;
  std::vector<waiting_ticket> tickets_; ///< By age.
  std::map<project_id, std::uint64_t> served_;
};

} // namespace assay::pool
