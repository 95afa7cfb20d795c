#pragma once
// Actors that only listen, for tests of the one actor that is real: what each was told lies in an
// inbox, in order.

#include "actors/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <any>
#include <memory>
#include <variant>
#include <vector>

namespace assay::test {

class inbox {
public:
  template <class Message>
  void add(const Message& what) {
    all_.emplace_back(what);
  }

  /// Every message of this type, oldest first.
  template <class Message>
  std::vector<Message> of() const {
    std::vector<Message> found;
    for (const auto& one : all_)
      if (const auto* it = std::any_cast<Message>(&one))
        found.push_back(*it);
    return found;
  }

  /// Every event of a pool that holds this.
  template <class Event>
  std::vector<Event> events() const {
    std::vector<Event> found;
    for (const auto& one : of<pool::event>())
      if (const auto* it = std::get_if<Event>(&one))
        found.push_back(*it);
    return found;
  }

  bool empty() const { return all_.empty(); }
  void clear() { all_.clear(); }

private:
  std::vector<std::any> all_;
};

using inbox_ptr = std::shared_ptr<inbox>;

inline inbox_ptr new_inbox() {
  return std::make_shared<inbox>();
}

template <class Message>
auto note(const inbox_ptr& to) {
  return [to](const Message& what) { to->add(what); };
}

inline pool_actor::behavior_type fake_pool(pool_actor::pointer, const inbox_ptr& to) {
  return {
    note<pool::event>(to),
    note<link_up>(to),
    note<ingress_up>(to),
    note<listen_to_pool>(to),
    note<tables_changed>(to),
    [](pool_question) { return pool_changed{}; },
    [](tick) {},
  };
}

inline pool_listener::behavior_type
fake_pool_listener(pool_listener::pointer, const inbox_ptr& to) {
  return {note<pool_changed>(to)};
}

inline node_link_actor::behavior_type fake_link(node_link_actor::pointer, const inbox_ptr& to) {
  return {
    note<agent_said>(to),
    note<agent_lost>(to),
    note<pool::start_replica>(to),
    note<pool::stop_replica>(to),
    note<tables_changed>(to),
    note<pools_known>(to),
    [](host_question) { return host_answer{}; },
  };
}

inline ingress_actor::behavior_type fake_ingress(ingress_actor::pointer, const inbox_ptr& to) {
  return {
    note<tables_changed>(to),
    note<pool_changed>(to),
    note<pools_known>(to),
    note<pool::grant_lease>(to),
    note<pool::admit_ticket>(to),
    note<pool::refuse_ticket>(to),
    note<outcomes>(to),
    [](ticket_wanted&) {},
    note<ticket_dropped>(to),
    note<ticket_settled>(to),
    [](const explain_question&) { return explain_answer{unexpected{problem{}}}; },
    [](routes_question) { return routes_answer{}; },
    [](end_service) { return service_ended{}; },
    [](tick) {},
  };
}

inline dispatcher_actor::behavior_type
fake_dispatcher(dispatcher_actor::pointer, const inbox_ptr& to) {
  return {
    note<run_job>(to),
    note<wind_up_job>(to),
    note<item_answered>(to),
    note<input_loaded>(to),
    note<output_kept>(to),
    note<tables_changed>(to),
    [](tick) {},
  };
}

} // namespace assay::test
