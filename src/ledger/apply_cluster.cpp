// Who keeps the ledger and who may speak: cluster, members, keys, identities, tokens.

#include "src/base/limits.hpp"
#include "src/ledger/changes.hpp"
#include "src/ledger/chronicle.hpp"
#include "src/ledger/schema.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

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
    if (auto why = bad_name("member", m.name))
      return why;
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

/// What two members may not share: a batch names its proposer, a link is known by its key.
ruling shared_by_two(const std::vector<member>& members) {
  for (const auto& m : members)
    for (const auto& other : members) {
      if (m.id >= other.id)
        continue;
      auto both = in_quotes(m.name) + " and " + in_quotes(other.name);
      if (m.name == other.name)
        return refuse("bad_membership", "two members are called " + in_quotes(m.name));
      if (m.address == other.address)
        return refuse("bad_membership", both + " have one address, " + m.address);
      if (m.signing_public == other.signing_public)
        return refuse("bad_membership", both + " have one signing key");
      if (!m.curve_public.empty() && m.curve_public == other.curve_public)
        return refuse("bad_membership", both + " have one CURVE key");
    }
  return {};
}

/// An id stands for one disk: what it promised with its votes must not be forgotten.
ruling reused_id(const head_row& head, const std::vector<member>& members) {
  for (const auto& m : members) {
    auto was = std::ranges::find(head.members, m.id, &member::id);
    if (was == head.members.end() ? m.id <= head.last_member : was->disk != m.disk)
      return refuse(
        "reused_id",
        "the id " + std::to_string(m.id) + " was another disk's; a member that lost its disk joins "
          + "anew and gets an id above " + std::to_string(head.last_member)
      );
  }
  return {};
}

/// Lost for good: a backup goes on in one new member. It has the name and the signing key of one
/// that voted, so that whoever checks believes it, and none of the others' ids.
bool rises_from_loss(const std::vector<member>& before, const std::vector<member>& after) {
  if (after.size() != 1 || !after.front().voter)
    return false;
  const auto& risen = after.front();
  if (std::ranges::find(before, risen.id, &member::id) != before.end())
    return false;
  return std::ranges::any_of(before, [&](const member& m) {
    return m.voter && m.name == risen.name && m.signing_public == risen.signing_public;
  });
}

/// One at a time: whoever asks with an older list in mind would undo what came between.
ruling more_than_one(const std::vector<member>& before, const std::vector<member>& after) {
  auto stays = [](const std::vector<member>& in) {
    return [&in](const member& m) { return std::ranges::find(in, m.id, &member::id) != in.end(); };
  };
  auto came = std::ranges::count_if(after, std::not_fn(stays(before)));
  auto went = std::ranges::count_if(before, std::not_fn(stays(after)));
  auto other = std::ranges::count_if(after, [&](const member& m) {
    auto was = std::ranges::find(before, m.id, &member::id);
    return was != before.end() && *was != m;
  });
  if (before.empty() || came + went + other <= 1 || rises_from_loss(before, after))
    return {};
  return refuse(
    "one_at_a_time",
    "one member comes, goes or changes at a time, from the members as they are; read them again"
  );
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
  c.about(indexes::mark, indexes::mark);
  return {};
}

ruling change(change_set& c, const membership& p) {
  if (auto why = bad_members(p.members))
    return why;
  if (p.members == c.tables.head.members)
    return refuse("unchanged", "the members are these already");
  if (auto why = shared_by_two(p.members))
    return why;
  if (auto why = reused_id(c.tables.head, p.members))
    return why;
  if (auto why = more_than_one(c.tables.head.members, p.members))
    return why;
  c.tables.head.members = p.members;
  c.tables.head.last_member = std::max(c.tables.head.last_member, p.members.back().id);
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
  // New keys put nobody back into service.
  auto* before = find(c.tables.identities, p.name);
  auto standing = before ? before->standing : std::nullopt;
  c.put(identity_row{p, false, c.now, c.seq, std::move(standing)});
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
