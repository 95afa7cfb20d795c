#pragma once
// Who joins by a token: hosts, coordinators and separate ingresses. Seen from the leader, and from
// the assayd that joins.

#include "src/app/founding.hpp"
#include "src/app/place.hpp"
#include "src/app/settings.hpp"
#include "src/base/worker_pool.hpp"
#include "src/fabric/hub.hpp"
#include "src/store/ledger_engine.hpp"

namespace assay::app {

/// The leader's side. A request that comes again, because its answer was lost, has the same answer.
class join_desk {
public:
  explicit join_desk(store::ledger_engine& engine) : engine_{&engine} {}

  /// From the hub's thread. The answer goes out by `hub` once the record is on the ledger, or was
  /// refused.
  void answer(fabric::hub& hub, const fabric::join_request& request);

private:
  void admit_host(fabric::hub& hub, const fabric::join_request& request);
  fabric::joined admit_member(const fabric::join_request& request);
  result<void, problem> record_identity(const fabric::join_request& request);
  result<ledger::member, problem> record_member(const fabric::join_request& request);

  store::ledger_engine* engine_;
  worker_pool members_{1}; ///< One member at a time.
};

/// The other side: a directory gets its identity, a coordinator takes the token, and what it says
/// is this assayd's place. May be asked again with the same token.
result<place, problem> join_as_member(
  const settings& how,
  const store::data_directory& directory,
  const own_secrets& secrets,
  const std::string& token
);

} // namespace assay::app
