#include "src/store/log_refusals.hpp"

#include "src/base/room_limits.hpp"
#include "src/consensus/membership.hpp"
#include "src/store/engine_shared.hpp"

namespace assay::store {

namespace {

constexpr auto change_advice = "`assay cluster status` lists the members; nothing was changed";

} // namespace

problem closing_problem() {
  return {
    problem_kind::unavailable,
    "the ledger is closing; nothing was changed",
    "ledger",
    "ask again when it is back"};
}

problem not_leader_problem(const consensus::configuration& members, std::uint64_t leader) {
  const auto* who = consensus::find_member(members, leader);
  if (who == nullptr)
    return {
      problem_kind::unavailable,
      "this coordinator does not lead the ledger, and no leader is known; nothing was changed",
      "ledger",
      "ask again in a few seconds: a majority of the coordinators elects one"};
  return {
    problem_kind::unavailable,
    "this coordinator does not lead the ledger, coordinator " + std::to_string(leader) + " at "
      + who->address + " does; nothing was changed",
    "ledger",
    "ask coordinator " + std::to_string(leader) + " at " + who->address};
}

problem map_full_problem(std::uint32_t percent) {
  return {
    problem_kind::exhausted,
    "disk_full: " + std::to_string(percent) + " % of the ledger's address space is in use, "
      + std::to_string(limits::map_use_percent) + " % is allowed, and "
      + std::to_string(limits::map_kept_percent) + " % for what undoes",
    "ledger",
    "nothing was changed and reading goes on; raise `ledger.map_mib` in every coordinator's "
    "configuration and restart one after the other; a standalone has all that it can get"};
}

std::optional<problem> untimely(bool is_time_driven, const clock_watch& clock) {
  if (!is_time_driven || clock.is_trusted())
    return {};
  return problem{
    problem_kind::refused,
    clock.text(),
    "ledger",
    "check the machine's time with `timedatectl`, then restart assayd, which accepts it"};
}

problem
problem_of(consensus::refusal why, const consensus::configuration& members, std::uint64_t leader) {
  switch (why) {
  case consensus::refusal::not_leader:
    return not_leader_problem(members, leader);
  case consensus::refusal::change_pending:
    return {
      problem_kind::unavailable,
      "the change of the group before this one is not settled yet; nothing was changed",
      "ledger",
      "wait until every voter has stored it, then ask again; `assay cluster status` shows it"};
  case consensus::refusal::disk_full:
    return disk_full_problem("the log cannot be written");
  case consensus::refusal::stopped:
    return unknown_outcome("the ledger stopped after a disk error");
  case consensus::refusal::no_memory:
    return {
      problem_kind::exhausted,
      "there is no memory for it; nothing was changed",
      "ledger",
      "free memory on this machine and ask again"};
  case consensus::refusal::change_not_alone:
  case consensus::refusal::malformed:
  case consensus::refusal::invalid:
    break;
  }
  return {
    problem_kind::refused,
    "the group does not allow this: it must name a member that it fits, one at a time, and the "
    "leader is neither removed nor handed over to itself",
    "ledger",
    change_advice};
}

} // namespace assay::store
