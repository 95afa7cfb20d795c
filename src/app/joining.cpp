#include "src/app/joining.hpp"

#include "src/app/proposing.hpp"
#include "src/wire/record_codec.hpp"

namespace assay::app {

void answer_join(
  store::ledger_engine& engine, fabric::hub& hub, const fabric::join_request& request
) {
  auto tables = tables_of(*engine.current());
  auto token = fabric::to_text(request.token);
  const auto* row = ledger::find(tables->tokens, token);
  if (!row)
    return hub.answer(
      request.number,
      {false, {}, "the token is not known here; ask for a new one: assay host token"}
    );
  // Asked again because the answer was lost on its way: the same key has the same answer.
  const auto* known = ledger::find(tables->identities, request.host_name);
  if (known && !known->revoked && known->identity.token == token
      && known->identity.curve_public == fabric::to_text(request.agent_key))
    return hub.answer(request.number, {true, host_id{request.host_name}, {}});
  ledger::identity_added identity{
    .name = request.host_name,
    .role = row->token.role,
    .curve_public = fabric::to_text(request.agent_key),
    .pool = row->token.pool,
    .token = token,
  };
  auto record = ledger::make_record(
    std::move(identity),
    {request.host_name, ledger::authentication::token},
    {"join", "joined by a token"}
  );
  auto answer = [&hub, number = request.number, name = request.host_name](const store::answer& done
                ) {
    if (done)
      hub.answer(number, {true, host_id{name}, {}});
    else
      hub.answer(number, {false, {}, to_text(done.error())});
  };
  engine.propose({wire::encode_proposal(record)}, answer);
}

} // namespace assay::app
