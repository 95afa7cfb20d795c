#include "src/fabric/hub.hpp"

#include "src/base/check.hpp"
#include "src/fabric/hub_thread.hpp"

namespace assay::fabric {

std::string_view name(down_reason reason) {
  switch (reason) {
  case down_reason::silent:
    return "silent";
  case down_reason::disconnected:
    return "disconnected";
  case down_reason::slow:
    return "slow";
  case down_reason::superseded:
    return "superseded";
  case down_reason::revoked:
    return "revoked";
  case down_reason::not_leading:
    return "not_leading";
  case down_reason::stopped:
    return "stopped";
  }
  check(false, "a down_reason has a name");
  return {};
}

result<std::unique_ptr<hub>, problem> hub::start(hub_options options, hub_events events) {
  auto worker = std::make_unique<thread>(std::move(options), std::move(events));
  auto opened = worker->open();
  if (!opened)
    return unexpected{opened.error()};
  return std::unique_ptr<hub>{new hub{std::move(worker)}};
}

hub::hub(std::unique_ptr<thread> worker) : worker_{std::move(worker)} {}

hub::~hub() = default;

send_outcome hub::send(const host_id& peer, const coordinator_message& message) {
  return worker_->send(peer, message);
}

void hub::replace_allow_list(std::vector<admitted> allow_list) {
  worker_->replace_allow_list(std::move(allow_list));
}

void hub::set_standing(standing now) {
  worker_->set_standing(std::move(now));
}

void hub::answer(std::uint64_t join_number, const joined& outcome) {
  worker_->answer(join_number, outcome);
}

const std::string& hub::address() const {
  return worker_->address();
}

hub_counters hub::counters() const {
  return worker_->counters();
}

} // namespace assay::fabric
