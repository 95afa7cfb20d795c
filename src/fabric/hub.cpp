#include "src/fabric/hub.hpp"

#include "src/base/check.hpp"
#include "src/fabric/hub_thread.hpp"

#include <utility>

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
  auto worker = std::make_unique<thread>(options, events);
  auto opened = worker->open();
  if (!opened)
    return unexpected{opened.error()};
  return std::unique_ptr<hub>{new hub{std::move(options), std::move(events), std::move(worker)}};
}

hub::hub(hub_options options, hub_events events, std::unique_ptr<thread> worker)
  : events_{std::move(events)}, address_{worker->address()}, options_{std::move(options)},
    worker_{std::move(worker)} {
  options_.listen = address_;
}

hub::~hub() = default;

result<void, problem> hub::change_keys(const key_pair& keys) {
  std::unique_lock hold{mutex_};
  options_.keys = keys;
  auto before = std::exchange(worker_, nullptr);
  auto next = options_;
  hold.unlock();
  before.reset(); // Its thread may call us until it has ended.
  auto worker = std::make_unique<thread>(std::move(next), events_);
  if (auto opened = worker->open(); !opened)
    return opened;
  hold.lock();
  worker->replace_allow_list(options_.allow_list);
  worker->set_standing(options_.standing);
  worker_ = std::move(worker);
  return {};
}

send_outcome hub::send(const host_id& peer, const coordinator_message& message) {
  std::shared_lock hold{mutex_};
  return worker_ ? worker_->send(peer, message) : send_outcome::full;
}

void hub::replace_allow_list(std::vector<admitted> allow_list) {
  std::unique_lock hold{mutex_};
  options_.allow_list = std::move(allow_list);
  if (worker_)
    worker_->replace_allow_list(options_.allow_list);
}

void hub::set_standing(standing now) {
  std::unique_lock hold{mutex_};
  options_.standing = std::move(now);
  if (worker_)
    worker_->set_standing(options_.standing);
}

void hub::answer(std::uint64_t join_number, const joined& outcome) {
  std::shared_lock hold{mutex_};
  if (worker_)
    worker_->answer(join_number, outcome);
}

public_key hub::key() const {
  std::shared_lock hold{mutex_};
  return options_.keys.shared;
}

hub_counters hub::counters() const {
  std::shared_lock hold{mutex_};
  return worker_ ? worker_->counters() : hub_counters{};
}

} // namespace assay::fabric
