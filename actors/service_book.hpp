#pragma once
// SERVICE BOOK, one per assayd, brings on record what its ingress served. While this assayd leads
// it proposes; while it follows it tells the leader's SERVICE BOOK, which proposes and answers.
//
// An hour is kept until it is known to be on record and said again meanwhile, to whoever leads
// then. It is the same record each time, so that it counts once. What is not told when the process
// is killed is lost: it counts nothing on disk.

#include "actors/interfaces_peers.hpp"
#include "src/ledger/service_backlog.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <optional>
#include <string>

namespace assay {

struct service_book_options {
  ledger_actor ledger;
  std::function<peers::send_outcome(std::uint64_t to, const peers::message&)> send;
};

class service_book_state {
public:
  static constexpr auto name = "service-book";
  using promise = caf::typed_response_promise<book_closed>;

  explicit service_book_state(service_book_actor::pointer self) : self_{self} {}

  void begin(service_book_options options);
  void add(service_counted& what);
  void learn(const standing& what);
  void learn(const tables_changed& what);
  void hear(const peer_said& what);
  void close(promise answer);
  void pass();

private:
  using verdict = std::function<void(const store::answer&)>;

  void tell();
  void put(const ledger::serving_summary& hour, verdict then);
  void hear(const peers::service_kept& what);
  void hear(std::uint64_t node, const peers::service_told& what);
  void settle(const uuid& record);
  void refuse(const uuid& record, const std::string& why);
  void answer_closing();

  service_book_actor::pointer self_;
  service_book_options options_;
  standing standing_;
  std::shared_ptr<const ledger::tables> tables_;
  ledger::service_backlog backlog_;
  std::optional<promise> closing_;
  steady_time close_by_;
};

service_book_actor::behavior_type service_book_behavior(
  service_book_actor::stateful_pointer<service_book_state> self, service_book_options options
);

} // namespace assay
