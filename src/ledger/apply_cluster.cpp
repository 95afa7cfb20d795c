// Who keeps the ledger and who may speak: cluster, members, keys, identities, tokens.

#include "src/base/limits.hpp"
#include "src/ledger/changes.hpp"
#include "src/ledger/schema.hpp"

#include <algorithm>
#include <chrono>

namespace assay::ledger {

namespace {

constexpr std::size_t z85_characters = 40;

/// A token that admits `p` at `now`, or why it does not.
ruling bad_token(const change_set& c, const identity_added& p) {
  auto* row = find(c.tables.tokens, p.token);
  if (!row)
    return refuse("unknown_token", "there is no token " + in_quotes(p.token));
  if (!row->used_by.empty())
    return refuse(
      "token_used",
      "the token was used by " + in_quotes(row->used_by) + "; each admits one, so ask for a new one"
    );
  if (c.now >= row->token.expires_at)
    return refuse("token_expired", "the token is past its 15 minutes; ask for a new one");
  if (row->token.role != p.role || row->token.pool != p.pool)
    return refuse(
      "wrong_token",
      "the token admits a " + std::string{name(row->token.role)} + " to pool "
        + in_quotes(row->token.pool.value)
    );
  return {};
}

/// The key may not be somebody else's, nor one that was taken away from this name.
ruling bad_curve_key(const change_set& c, const identity_added& p) {
  if (p.curve_public.size() != z85_characters)
    return refuse(
      "bad_key",
      "a CURVE public key is 40 characters of Z85; " + std::to_string(p.curve_public.size())
        + " were given"
    );
  for (const auto& [name, row] : *c.tables.identities) {
    if (row.identity.curve_public != p.curve_public)
      continue;
    if (name != p.name)
      return refuse("key_in_use", "the CURVE key belongs to " + in_quotes(name));
    if (row.revoked)
      return refuse(
        "revoked", "the CURVE key of " + in_quotes(name) + " is revoked; make a new one"
      );
    if (row.identity == p)
      return refuse("unchanged", in_quotes(name) + " is known with this key");
  }
  return {};
}

ruling bad_members(const std::vector<member>& members) {
  const member* before = nullptr;
  bool votes = false;
  for (const auto& m : members) {
    if (m.id == 0 || (before && before->id >= m.id))
      return refuse("bad_membership", "members are sorted by id, each once, from 1");
    if (!parse_public_key(m.signing_public))
      return refuse(
        "bad_membership",
        "the signing key of member " + in_quotes(m.name) + " is not 64 hexadecimal digits"
      );
    votes = votes || m.voter;
    before = &m;
  }
  if (!votes)
    return refuse("bad_membership", "a ledger needs at least one member that votes");
  return {};
}

} // namespace

ruling change(change_set& c, const cluster_created& p) {
  if (c.tables.head.cluster)
    return refuse(
      "cluster_exists", "the ledger belongs to cluster " + to_text(*c.tables.head.cluster)
    );
  if (p.cluster == uuid{})
    return refuse("bad_cluster", "a cluster needs an id");
  c.tables.head.cluster = p.cluster;
  c.tables.head.name = p.name;
  c.tables.head.chain = genesis(p.cluster);
  return {};
}

ruling change(change_set& c, const membership& p) {
  if (auto why = bad_members(p.members))
    return why;
  if (p.members == c.tables.head.members)
    return refuse("unchanged", "the members are these already");
  c.tables.head.members = p.members;
  return {};
}

ruling change(change_set& c, const cluster_version& p) {
  auto agreed = agreed_schema(c.tables.head);
  if (p.version <= agreed)
    return refuse(
      p.version == agreed ? "unchanged" : "older_schema",
      "the cluster agreed on schema version " + std::to_string(agreed)
        + "; it can go up and never down, because older programs cannot read what was written since"
    );
  c.tables.head.schema_version = p.version;
  return {};
}

ruling change(change_set& c, const key_issued& p) {
  if (auto why = bad_name("key", p.key.value))
    return why;
  auto* declared = find(c.tables.declared_keys, p.key);
  if (p.internal == (declared != nullptr))
    return refuse(
      "wrong_key",
      p.internal ? "the key " + in_quotes(p.key.value) + " is declared; an internal key is not"
                 : "the key " + in_quotes(p.key.value) + " is not declared; declare it first"
    );
  if (p.secret == digest{})
    return refuse("bad_key", "a key is issued with the digest of its secret");
  for (const auto& [id, row] : *c.tables.keys)
    if (row.issued.secret == p.secret)
      return refuse("secret_reused", "the secret was used before, by key " + in_quotes(id.value));
  c.put(key_row{p, false, c.seq});
  return {};
}

ruling change(change_set& c, const key_revoked& p) {
  auto* row = find(c.tables.keys, p.key);
  if (!row)
    return refuse("not_found", "no secret was issued for key " + in_quotes(p.key.value));
  if (row->revoked)
    return refuse("unchanged", "the key " + in_quotes(p.key.value) + " is revoked already");
  if (row->issued.internal)
    return refuse(
      "internal_key", "the key " + in_quotes(p.key.value) + " is assayd's own and cannot be revoked"
    );
  auto next = *row;
  next.revoked = true;
  next.seq = c.seq;
  c.put(next);
  return {};
}

ruling change(change_set& c, const identity_added& p) {
  if (auto why = bad_name("identity", p.name))
    return why;
  if (auto why = bad_curve_key(c, p))
    return why;
  if (!p.token.empty()) {
    if (auto why = bad_token(c, p))
      return why;
    // Whoever holds a token may join under a name of its own, never under one that somebody has.
    auto* taken = find(c.tables.identities, p.name);
    if (taken && !taken->revoked && taken->identity.curve_public != p.curve_public)
      return refuse(
        "name_taken",
        "the name " + in_quotes(p.name)
          + " belongs to another key; join under another name, or revoke "
            "that host first"
      );
    auto used = *find(c.tables.tokens, p.token);
    used.used_by = p.name;
    used.seq = c.seq;
    c.about("token", p.token);
    c.put(used);
  }
  c.put(identity_row{p, false, c.now, c.seq});
  return {};
}

ruling change(change_set& c, const identity_revoked& p) {
  auto* row = find(c.tables.identities, p.name);
  if (!row)
    return refuse("not_found", "there is no identity " + in_quotes(p.name));
  if (row->revoked)
    return refuse("unchanged", "the identity " + in_quotes(p.name) + " is revoked already");
  auto next = *row;
  next.revoked = true;
  next.since = c.now;
  next.seq = c.seq;
  c.put(next);
  return {};
}

ruling change(change_set& c, const token_issued& p) {
  if (auto why = bad_name("token", p.id))
    return why;
  if (find(c.tables.tokens, p.id))
    return refuse("exists", "the token " + in_quotes(p.id) + " was issued before");
  if (p.secret == digest{})
    return refuse("bad_token", "a token is issued with the digest of its secret");
  auto longest = std::chrono::milliseconds{limits::join_token_life}.count();
  if (p.expires_at <= c.now || p.expires_at.value > c.now.value + longest)
    return refuse("bad_token", "a token lives for 15 minutes at most, from now on");
  c.put(token_row{p, {}, c.seq});
  return {};
}

} // namespace assay::ledger
