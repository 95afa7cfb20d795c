// New keys for the members, one at a time: the member makes them, the leader puts them on record,
// and each takes them when its ledger names them (src/app/node_keys.cpp).
//
// While anybody is away nobody's keys are changed: a link is opened with the other's key, and who
// has not heard of a new one could not be told of it any more.

#include "src/app/admin/admin.hpp"
#include "src/base/log.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>

namespace assay::app::admin {

namespace {

constexpr auto keys_path = "/assay/v1/cluster/keys";

json::object keys_document(const app::parts& parts) {
  auto now = parts.keys->in_use();
  json::object out{
    {"name", parts.settings.name},
    {"signing_public", now.signing},
    {"curve_public", now.curve},
    {"seq", parts.engine->status().seq}};
  if (auto next = parts.keys->waiting()) {
    out["next_signing_public"] = next->signing;
    out["next_curve_public"] = next->curve;
  }
  return out;
}

problem away(const std::string& name) {
  return {
    problem_kind::unavailable,
    "member " + name + " is away and would not hear of new keys; nobody's are changed",
    name,
    "bring it back (assay cluster status), or remove it: assay cluster remove " + name};
}

/// What another member says of its own keys; `method` POST: with the next ones, made if need be.
result<json::object, problem>
ask_member(const call& c, const ledger::member& m, const char* method) {
  if (!c.parts.group->is_reached(m.id))
    return unexpected{away(m.name)};
  http::service_request request{method, keys_path, {}, {}, {}};
  auto said = c.parts.forwarding->ask(m.id, request, c.author);
  if (!said)
    return unexpected{said.error()};
  boost::system::error_code bad;
  auto document = json::parse(said->body, bad);
  if (said->status == 200 && !bad && document.is_object())
    return std::move(document.get_object());
  return unexpected{problem{
    problem_kind::unavailable,
    "member " + m.name + " does not say which keys it has",
    m.name,
    "see its log; every member has to run this version of Assay"}};
}

/// The record that changed any key last.
std::uint64_t newest_identity(const ledger::tables& t) {
  std::uint64_t seq = 0;
  for (const auto& [name, row] : *t.identities)
    seq = std::max(seq, row.seq);
  return seq;
}

/// Everybody else is there, and knows of every key that was changed before.
result<void, problem>
all_know(const call& c, const ledger::tables& t, const ledger::member& changed) {
  const auto self = c.parts.engine->status().server_id;
  for (const auto& m : t.head.members) {
    if (m.id == self || m.id == changed.id)
      continue;
    auto said = ask_member(c, m, "GET");
    if (!said)
      return unexpected{said.error()};
    auto seq = number_at(*said, "seq", 0);
    if (!seq || static_cast<std::uint64_t>(*seq) < newest_identity(t))
      return unexpected{problem{
        problem_kind::unavailable,
        "member " + m.name + " has not heard yet of what was changed before",
        m.name,
        "ask again in a second"}};
  }
  return {};
}

result<void, problem> is_changeable(const ledger::tables& t, const ledger::member& m) {
  const auto* identity = ledger::find(t.identities, m.name);
  if (identity && !identity->revoked)
    return {};
  return unexpected{problem{
    problem_kind::refused,
    "the key of member " + m.name + " is revoked",
    m.name,
    "remove it, and let it join anew with an empty directory"}};
}

/// A batch names its proposer and is believed by the key on record before it: who seals them does
/// not change its own.
answer hand_over_first(const call& c, const ledger::tables& t, const ledger::member& m) {
  auto voters = std::ranges::count_if(t.head.members, &ledger::member::voter);
  if (voters < 2)
    return unexpected{problem{
      problem_kind::refused,
      m.name + " is the only coordinator, and who leads does not change its own keys",
      m.name,
      "join another one first: assay cluster token"}};
  if (auto done = hand_over(c.parts, 0); !done)
    return unexpected{done.error()};
  return unexpected{problem{
    problem_kind::unavailable,
    m.name + " led and hands over first",
    {},
    "ask again in a few seconds; another one leads then"}};
}

/// The identity first: said again after a crash, what is there is left as it is.
answer
put_on_record(const call& c, const ledger::tables& t, ledger::member m, const std::string& reason) {
  const auto& identity = *ledger::find(t.identities, m.name);
  if (identity.identity.curve_public != m.curve_public) {
    ledger::identity_added next{
      .name = m.name,
      .role = identity.identity.role,
      .curve_public = m.curve_public,
      .pool = {},
      .token = {}};
    if (auto done = put(c, std::move(next), reason); !done)
      return done;
  }
  ledger::membership next{t.head.members};
  *std::ranges::find(next.members, m.id, &ledger::member::id) = m;
  return put(c, std::move(next), reason);
}

} // namespace

answer cluster_keys(const call& c) {
  if (!c.parts.group)
    return no_group();
  return reply{keys_document(c.parts), {}, {}};
}

answer prepare_keys(const call& c) {
  if (!c.parts.group)
    return no_group();
  if (auto done = c.parts.keys->prepare(); !done)
    return unexpected{done.error()};
  log::info("keys_prepared", {{"by", c.author.who}});
  return reply{keys_document(c.parts), {}, {}};
}

answer member_keys(const call& c) {
  if (!c.parts.group)
    return no_group();
  auto m = member_called(*tables_of(*c.parts.engine->current()), c.path.back());
  if (!m)
    return unexpected{m.error()};
  if (m->id == c.parts.engine->status().server_id)
    return cluster_keys(c);
  auto said = ask_member(c, *m, "GET");
  if (said)
    return reply{*std::move(said), {}, {}};
  return unexpected{said.error()};
}

answer rotate_keys(const call& c) {
  auto asked = member_order_of(c);
  if (!asked)
    return unexpected{asked.error()};
  const auto& [m, reason, tables] = *asked;
  const auto& t = *tables;
  if (auto fine = is_changeable(t, m); !fine)
    return unexpected{fine.error()};
  if (m.id == c.parts.engine->status().server_id)
    return hand_over_first(c, t, m);
  if (auto fine = all_know(c, t, m); !fine)
    return unexpected{fine.error()};
  auto said = ask_member(c, m, "POST");
  if (!said)
    return unexpected{said.error()};
  auto signing = text_at(*said, "next_signing_public");
  auto curve = text_at(*said, "next_curve_public");
  if (!signing || !curve)
    return unexpected{!signing ? signing.error() : curve.error()};
  auto changed = m;
  changed.signing_public = *signing;
  changed.curve_public = *curve;
  if (changed == m)
    return unexpected{problem{
      problem_kind::unavailable,
      "member " + m.name + " has not taken its new keys yet",
      m.name,
      "ask again in a few seconds"}};
  if (auto done = put_on_record(c, t, changed, reason); !done)
    return done;
  log::info("keys_on_record", {{"member", m.name}, {"by", c.author.who}});
  return reply{{{"name", m.name}, {"signing_public", *signing}, {"curve_public", *curve}}, {}, {}};
}

} // namespace assay::app::admin
