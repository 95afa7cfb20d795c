#include "src/app/founding.hpp"

#include "src/app/member_address.hpp"
#include "src/app/proposing.hpp"
#include "src/base/check.hpp"
#include "src/store/private_files.hpp"
#include "src/store/signing_seed.hpp"

#include <openssl/rand.h>

#include <algorithm>

namespace assay::app {

namespace {

const std::string evaluator = "assay-evaluator-";
const std::string dispatcher = "assay-dispatcher-";
constexpr auto restored = "restored from a backup";
constexpr auto internal_project = "assay";

const ledger::author self{"assayd", ledger::authentication::process};

result<std::string, problem> load_or_make(const std::filesystem::path& path) {
  if (std::filesystem::exists(path))
    return store::read_private_file(path);
  auto secret = new_key_secret();
  if (auto written = store::write_private_file(path, secret); !written)
    return unexpected{written.error()};
  return secret;
}

result<void, problem> put(store::ledger_engine& engine, ledger::payload what, std::string why) {
  auto done =
    propose_now(engine, ledger::make_record(std::move(what), self, {"founding", std::move(why)}));
  if (!done)
    return unexpected{done.error()};
  return {};
}

ledger::identity_added identity_of(const ledger::member& m) {
  return {
    .name = m.name,
    .role = m.voter ? ledger::identity_role::coordinator : ledger::identity_role::ingress,
    .curve_public = m.curve_public,
    .pool = {},
    .token = {}};
}

/// After a restore: the members of the backup are lost, and who stands for them is this one. The
/// membership comes last, so that what a crash cut goes on at the next start.
result<void, problem>
rise(store::ledger_engine& engine, const ledger::tables& t, const ledger::member& me) {
  const auto* own = ledger::find(t.identities, me.name);
  auto is_known = own && !own->revoked && own->identity.curve_public == me.curve_public;
  if (!is_known)
    if (auto done = put(engine, identity_of(me), restored); !done)
      return done;
  for (const auto& lost : t.head.members) {
    const auto* row = ledger::find(t.identities, lost.name);
    if (!row || row->revoked || lost.name == me.name)
      continue;
    if (auto done = put(engine, ledger::identity_revoked{lost.name, restored}, restored); !done)
      return done;
  }
  return put(engine, ledger::membership{{me}}, restored);
}

/// Issues the key unless this very secret is on record.
result<void, problem> issue(
  store::ledger_engine& engine,
  const ledger::tables& t,
  const std::string& name,
  contract::traffic_class traffic,
  const std::string& secret
) {
  auto hash = sha256(secret);
  const auto* row = ledger::find(t.keys, key_id{name});
  if (row && !row->revoked && row->issued.secret == hash)
    return {};
  return put(
    engine,
    ledger::key_issued{
      .key = key_id{name},
      .secret = hash,
      .internal = true,
      .project = project_id{internal_project},
      .traffic = traffic,
    },
    "assayd's own errands"
  );
}

} // namespace

std::string new_key_secret() {
  constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, 43> chance{};
  check(RAND_bytes(chance.data(), static_cast<int>(chance.size())) == 1, "RAND_bytes");
  std::string text = "assay-";
  for (auto byte : chance)
    text += alphabet[byte & 63];
  return text;
}

/// A ledger that exists was signed with the key that it names: another one would ruin it.
std::optional<problem> lost_key(const store::data_directory& directory) {
  for (const auto* name : {"signing.secret", "coordinator.secret"})
    if (!std::filesystem::exists(directory.keys() / name))
      return problem{
        problem_kind::unavailable,
        "the key is missing, and the ledger in this directory was begun with it",
        (directory.keys() / name).string(),
        "put it back from a backup; a new key would not be believed by what is recorded"};
  return {};
}

result<own_secrets, problem> load_secrets(const store::data_directory& directory, bool is_new) {
  if (!is_new)
    if (auto lost = lost_key(directory))
      return unexpected{*lost};
  auto signing = store::load_or_make_signing_seed(directory.keys() / "signing.secret");
  if (!signing)
    return unexpected{signing.error()};
  auto curve = fabric::read_or_make_key_pair(directory.keys(), "coordinator");
  if (!curve)
    return unexpected{curve.error()};
  auto evaluator_key = load_or_make(directory.keys() / "evaluator.secret");
  if (!evaluator_key)
    return unexpected{evaluator_key.error()};
  auto dispatcher_key = load_or_make(directory.keys() / "dispatcher.secret");
  if (!dispatcher_key)
    return unexpected{dispatcher_key.error()};
  return own_secrets{*signing, *curve, *evaluator_key, *dispatcher_key};
}

ledger::member member_of(const settings& how, const own_secrets& secrets, const std::string& disk) {
  ledger::member me{
    .id = 1,
    .name = how.name,
    .address = "local",
    .signing_public = ledger::to_text(ledger::signing_key{secrets.signing}.public_part())};
  if (how.standalone)
    return me;
  auto at = member_addresses(how);
  me.address = at.peers;
  me.voter = how.is_coordinator;
  me.curve_public = fabric::to_text(secrets.curve.shared);
  me.disk = disk;
  me.agents = at.agents;
  me.ingress = at.ingress;
  return me;
}

result<void, problem> found_cluster(store::ledger_engine& engine, const founder& by) {
  auto read = read_now(engine);
  if (!read)
    return unexpected{read.error()};
  const auto& head = read->tables->head;
  if (head.cluster && *head.cluster != by.cluster)
    return unexpected{problem{
      problem_kind::refused,
      "the ledger in this directory is of cluster " + to_text(*head.cluster) + " (" + head.name
        + "), not of " + to_text(by.cluster),
      {},
      "a standalone's directory stays a standalone's; take an empty one for a coordinator"}};
  if (!head.cluster)
    if (auto done =
          put(engine, ledger::cluster_created{by.cluster, by.cluster_name}, "first start");
        !done)
      return done;
  // A standalone's key is no identity: nobody joins it, and its own hub is all that knows it.
  auto is_known = by.me.curve_public.empty() || ledger::find(read->tables->identities, by.me.name);
  if (!is_known)
    if (auto done = put(engine, identity_of(by.me), "first start"); !done)
      return done;
  if (head.members.empty())
    return put(engine, ledger::membership{{by.me}}, "first start");
  if (std::ranges::find(head.members, by.me.id, &ledger::member::id) == head.members.end())
    return rise(engine, *read->tables, by.me);
  return {};
}

result<void, problem> issue_own_keys(
  store::ledger_engine& engine, const own_secrets& secrets, const std::string& member_name
) {
  auto read = read_now(engine);
  if (!read)
    return unexpected{read.error()};
  const auto& t = *read->tables;
  if (auto done = issue(
        engine,
        t,
        evaluator + member_name,
        contract::traffic_class::evaluation,
        secrets.evaluator_key
      );
      !done)
    return done;
  return issue(
    engine, t, dispatcher + member_name, contract::traffic_class::batch, secrets.dispatcher_key
  );
}

result<void, problem>
admit_host(store::ledger_engine& engine, const std::string& host, const fabric::public_key& key) {
  auto read = read_now(engine);
  if (!read)
    return unexpected{read.error()};
  auto text = fabric::to_text(key);
  const auto* row = ledger::find(read->tables->identities, host);
  if (row && !row->revoked && row->identity.curve_public == text)
    return {};
  return put(
    engine,
    ledger::identity_added{
      .name = host,
      .role = ledger::identity_role::host,
      .curve_public = text,
      .pool = {},
      .token = {}},
    "the standalone's own agent"
  );
}

} // namespace assay::app
