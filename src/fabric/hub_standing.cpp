// What a hub does as its coordinator begins and ceases to lead, and what it says to whom it has no
// use for meanwhile.

#include "src/base/check.hpp"
#include "src/fabric/hub_thread.hpp"

namespace assay::fabric {

namespace {

std::string who_leads(const standing& now) {
  if (now.leader)
    return "the leader is at " + now.leader->address;
  return "no leader is known here; one is being elected, or too few coordinators are up";
}

} // namespace

void hub::thread::take_standing() {
  if (standing_generation_ == taken_standing_)
    return;
  auto before = standing_;
  {
    std::lock_guard hold{mutex_};
    standing_ = told_standing_;
    taken_standing_ = standing_generation_;
  }
  // Between two epochs somebody else may have led, whatever was last said of us.
  if (before.leads && (!standing_.leads || standing_.epoch != before.epoch))
    end_all(down_reason::not_leading);
  if (!standing_.leads)
    for (const auto& connection : joins_.take_all())
      tell(connection, redirection());
  if (standing_.coordinators != before.coordinators)
    push_to_all([this](const peer_session& session) {
      return wire::encode(coordinator_message{welcome_of(session)});
    });
}

welcome hub::thread::welcome_of(const peer_session& session) const {
  return {
    protocol_version,
    standing_.epoch,
    session.number,
    options_.heartbeat_every,
    session.identity,
    standing_.coordinators,
  };
}

/// What a peer whose session ended is told, if its connection lives.
std::optional<closing> hub::thread::farewell(down_reason reason) const {
  switch (reason) {
  case down_reason::superseded:
    return closing{closing_reason::superseded, "a newer session of this key began"};
  case down_reason::revoked:
    return closing{closing_reason::revoked, "this key may no longer speak"};
  case down_reason::not_leading:
    return elsewhere();
  case down_reason::stopped:
    return closing{closing_reason::shutting_down, "the coordinator stops"};
  case down_reason::silent:
  case down_reason::disconnected:
  case down_reason::slow:
    return std::nullopt;
  }
  check(false, "every down_reason has a farewell or none");
  return std::nullopt;
}

closing hub::thread::elsewhere() const {
  return {
    closing_reason::not_leader,
    who_leads(standing_),
    standing_.leader,
    standing_.coordinators,
  };
}

joined hub::thread::redirection() const {
  return {
    false,
    {},
    "this coordinator does not lead: " + who_leads(standing_) + "; run the command again",
    standing_.leader,
  };
}

} // namespace assay::fabric
