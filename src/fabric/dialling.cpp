#include "src/fabric/dialling.hpp"

#include "src/base/check.hpp"

#include <algorithm>

namespace assay::fabric {

namespace {

constexpr int electing_most = 8; ///< Times the first pause: less than an election takes.

} // namespace

std::chrono::milliseconds redial::after(lost_reason reason, std::uint32_t chance) {
  // Trying sooner would not help, and two agents with one key would only take turns faster.
  if (reason == lost_reason::refused || reason == lost_reason::superseded)
    next_ = most_;
  // They answer, so one of them is about to lead.
  if (reason == lost_reason::not_leader)
    next_ = std::min(next_, first_ * electing_most);
  auto pause = next_;
  next_ = std::min(next_ * 2, most_);
  return pause - pause * (chance % 512) / 1024;
}

std::uint64_t next_session(std::uint64_t last, std::uint64_t wall_us) {
  return std::max(last + 1, wall_us);
}

void epoch_gate::saw(std::uint64_t epoch) {
  newest_ = std::max(newest_, epoch);
}

bool epoch_gate::lets_in(const coordinator_message& message) {
  auto epoch = epoch_of(message);
  if (!epoch)
    return true;
  if (*epoch < newest_)
    return false;
  newest_ = *epoch;
  return true;
}

std::string_view name(lost_reason reason) {
  switch (reason) {
  case lost_reason::unreachable:
    return "unreachable";
  case lost_reason::refused:
    return "refused";
  case lost_reason::wrong_server:
    return "wrong_server";
  case lost_reason::disconnected:
    return "disconnected";
  case lost_reason::silent:
    return "silent";
  case lost_reason::closed_by_peer:
    return "closed_by_peer";
  case lost_reason::superseded:
    return "superseded";
  case lost_reason::not_leader:
    return "not_leader";
  }
  check(false, "a lost_reason has a name");
  return {};
}

std::string
describe(lost_reason reason, const std::string& coordinator, const public_key& own_key) {
  switch (reason) {
  case lost_reason::unreachable:
    return "no coordinator answers at " + coordinator + "; dialling on";
  case lost_reason::refused:
    return "the coordinator at " + coordinator + " does not allow this agent's key "
           + to_text(own_key) + "; join the host with a token of `assay host token`";
  case lost_reason::wrong_server:
    return "what answers at " + coordinator
           + " is not the coordinator that this agent joined; check the address and its key";
  case lost_reason::disconnected:
    return "the connection to " + coordinator + " ended; dialling again";
  case lost_reason::silent:
    return "the coordinator at " + coordinator + " fell silent; dialling again";
  case lost_reason::closed_by_peer:
    return "the coordinator at " + coordinator + " closed the session";
  case lost_reason::superseded:
    return "another agent uses this agent's key; stop one of the two, or join one again";
  case lost_reason::not_leader:
    return "the coordinator at " + coordinator + " does not lead";
  }
  check(false, "a lost_reason has a text");
  return {};
}

} // namespace assay::fabric
