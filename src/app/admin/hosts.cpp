// What a host may be used for, as somebody decides.

#include "src/app/admin/admin.hpp"
#include "src/ledger/host_duty.hpp"

namespace assay::app::admin {

namespace {

answer decide(const call& c, ledger::host_duty duty) {
  auto reason = text_at(c.body, "reason");
  if (!reason)
    return unexpected{reason.error()};
  auto done = put(c, ledger::host_standing{{c.path[1]}, duty, *reason}, *reason);
  if (done)
    done->document["duty"] = ledger::words_of(duty);
  return done;
}

} // namespace

answer host_drain(const call& c) {
  return decide(c, ledger::host_duty::draining);
}

answer host_quarantine(const call& c) {
  return decide(c, ledger::host_duty::quarantined);
}

answer host_resume(const call& c) {
  return decide(c, ledger::host_duty::in_service);
}

} // namespace assay::app::admin
