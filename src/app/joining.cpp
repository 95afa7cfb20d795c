#include "src/app/joining.hpp"

#include "src/app/member_address.hpp"
#include "src/app/proposing.hpp"
#include "src/fabric/uplink.hpp"
#include "src/ledger/schema.hpp"
#include "src/wire/record_codec.hpp"

#include <algorithm>

namespace assay::app {

namespace {

constexpr int member_tries = 3;

fabric::joined refusal(std::string text) {
  return {.accepted = false, .identity = {}, .text = std::move(text)};
}

fabric::joined acceptance(const std::string& name) {
  return {.accepted = true, .identity = host_id{name}, .text = {}};
}

ledger::author author_of(const fabric::join_request& request) {
  return {request.name, ledger::authentication::token};
}

ledger::record identity_record(const fabric::join_request& request, const ledger::token_row& row) {
  return ledger::make_record(
    ledger::identity_added{
      .name = request.name,
      .role = row.token.role,
      .curve_public = fabric::to_text(request.key),
      .pool = row.token.pool,
      .token = fabric::to_text(request.token),
    },
    author_of(request),
    {"join", "joined by a token"}
  );
}

/// Asked again because the answer was lost on its way.
bool is_recorded(const ledger::tables& t, const fabric::join_request& request) {
  const auto* known = ledger::find(t.identities, request.name);
  return known && !known->revoked && known->identity.token == fabric::to_text(request.token)
         && known->identity.curve_public == fabric::to_text(request.key);
}

bool is_for_member(const ledger::token_row& row) {
  return row.token.role == ledger::identity_role::coordinator
         || row.token.role == ledger::identity_role::ingress;
}

ledger::member
to_member(const fabric::join_request& request, const ledger::token_row& row, std::uint64_t id) {
  return {
    .id = id,
    .name = request.name,
    .address = request.member->peers,
    .signing_public = request.member->signing_public,
    .voter = row.token.role == ledger::identity_role::coordinator,
    .curve_public = fabric::to_text(request.key),
    .disk = request.member->disk,
    .agents = request.member->agents,
    .ingress = request.member->ingress};
}

fabric::joined_cluster told(const ledger::head_row& head, std::uint64_t node) {
  fabric::joined_cluster out{
    .cluster = *head.cluster, .name = head.name, .node = node, .members = {}};
  for (const auto& m : head.members)
    if (auto key = fabric::parse_public_key(m.curve_public))
      out.members.push_back({m.id, m.name, m.address, *key, m.disk, m.voter});
  return out;
}

} // namespace

// -- the leader's side

void join_desk::answer(fabric::hub& hub, const fabric::join_request& request) {
  auto tables = tables_of(*engine_->current());
  const auto* row = ledger::find(tables->tokens, fabric::to_text(request.token));
  if (!row)
    return hub.answer(
      request.number,
      refusal("the token is not known here; ask for a new one: assay host token, or assay cluster "
              "token")
    );
  if (is_for_member(*row) != request.member.has_value())
    return hub.answer(
      request.number,
      refusal(
        "the token admits a " + std::string{ledger::name(row->token.role)} + "; take one of "
        + (request.member ? "assay cluster token" : "assay host token")
      )
    );
  if (!request.member)
    return admit_host(hub, request);
  members_.run([this, &hub, request] { hub.answer(request.number, admit_member(request)); });
}

void join_desk::admit_host(fabric::hub& hub, const fabric::join_request& request) {
  auto tables = tables_of(*engine_->current());
  if (is_recorded(*tables, request))
    return hub.answer(request.number, acceptance(request.name));
  const auto* row = ledger::find(tables->tokens, fabric::to_text(request.token));
  auto answer = [&hub, number = request.number, name = request.name](const store::answer& done) {
    hub.answer(number, done ? acceptance(name) : refusal(to_text(done.error())));
  };
  engine_->propose({wire::encode_proposal(identity_record(request, *row))}, answer);
}

/// The identity first: it uses the token up, and whoever asks again with it goes on from there.
fabric::joined join_desk::admit_member(const fabric::join_request& request) {
  const auto& head = tables_of(*engine_->current())->head;
  if (auto why = ledger::too_old_to_join(head, request.member->schema_version); !why.empty())
    return refusal(std::move(why));
  if (auto done = record_identity(request); !done)
    return refusal(to_text(done.error()));
  auto member = record_member(request);
  if (!member)
    return refusal(to_text(member.error()));
  auto read = read_now(*engine_);
  if (!read)
    return refusal(to_text(read.error()));
  auto out = acceptance(request.name);
  out.cluster = told(read->tables->head, member->id);
  return out;
}

result<void, problem> join_desk::record_identity(const fabric::join_request& request) {
  auto read = read_now(*engine_);
  if (!read)
    return unexpected{read.error()};
  if (is_recorded(*read->tables, request))
    return {};
  const auto* row = ledger::find(read->tables->tokens, fabric::to_text(request.token));
  auto done = propose_now(*engine_, identity_record(request, *row));
  if (!done)
    return unexpected{done.error()};
  return {};
}

result<ledger::member, problem> join_desk::record_member(const fabric::join_request& request) {
  for (int tried = 1;; ++tried) {
    auto read = read_now(*engine_);
    if (!read)
      return unexpected{read.error()};
    const auto& head = read->tables->head;
    auto known =
      std::ranges::find(head.members, fabric::to_text(request.key), &ledger::member::curve_public);
    if (known != head.members.end())
      return *known;
    const auto* row = ledger::find(read->tables->tokens, fabric::to_text(request.token));
    auto newcomer = to_member(request, *row, head.last_member + 1);
    auto members = head.members;
    members.push_back(newcomer);
    auto done = propose_now(
      *engine_,
      ledger::make_record(
        ledger::membership{std::move(members)}, author_of(request), {"join", "joined by a token"}
      )
    );
    // Another one came in between: from the members as they are now.
    if (!done && tried < member_tries && done.error().kind == problem_kind::refused)
      continue;
    if (!done)
      return unexpected{done.error()};
    return newcomer;
  }
}

// -- the side that joins

result<place, problem> join_as_member(
  const settings& how,
  const store::data_directory& directory,
  const own_secrets& secrets,
  const std::string& token
) {
  auto parsed = fabric::parse_join_token(token);
  if (!parsed)
    return unexpected{parsed.error()};
  if (!store::ledger_engine::is_bootstrapped(directory))
    if (auto done = store::ledger_engine::prepare_to_join(directory, {}); !done)
      return unexpected{done.error()};
  auto disk = store::ledger_engine::disk_of(directory);
  if (!disk)
    return unexpected{disk.error()};
  auto at = member_addresses(how);
  fabric::joining_member me{
    .name = how.name,
    .peers = at.peers,
    .agents = at.agents,
    .ingress = at.ingress,
    .signing_public = ledger::to_text(ledger::signing_key{secrets.signing}.public_part()),
    .disk = *disk,
    .schema_version = ledger::known_schema(),
    .clock = wall_now()};
  auto joined = fabric::join_as_member(*parsed, me, secrets.curve.shared);
  if (!joined)
    return unexpected{joined.error()};
  place out{joined->cluster, joined->name, joined->node, how.name, {}};
  for (const auto& m : joined->members)
    if (m.node != joined->node)
      out.first_peers.push_back({m.node, m.peers, m.key, m.disk});
  return out;
}

} // namespace assay::app
