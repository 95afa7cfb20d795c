// The coordinators together: who they are, who joins and leaves, who leads; and the tokens by which
// members and hosts join.

#include "src/app/admin/admin.hpp"
#include "src/app/allow_list.hpp"
#include "src/app/asking.hpp"
#include "src/app/group_health.hpp"
#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"
#include "src/fabric/curve_keys.hpp"

#include <algorithm>
#include <future>

namespace assay::app::admin {

namespace {

constexpr auto spread_ms = std::chrono::milliseconds{limits::clock_spread}.count();

group_health health(const app::parts& parts) {
  auto tables = tables_of(*parts.engine->current());
  return health_of(
    tables->head,
    parts.engine->status(),
    parts.group ? parts.group->seen() : std::map<std::uint64_t, member_seen>{}
  );
}

json::object to_json(const member_health& m) {
  return {
    {"name", m.member.name},
    {"node", m.member.id},
    {"role", m.role},
    {"state", m.state},
    {"peers", m.member.address},
    {"agents", m.member.agents},
    {"ingress", m.member.ingress},
    {"clock_off_millis", m.clock_offset_ms ? json::value(*m.clock_offset_ms) : json::value()},
    {"why", m.why}};
}

/// Who stays must be able to decide without who goes.
std::optional<problem> stalls_without(const app::parts& parts, const ledger::member& gone) {
  auto now = parts.engine->status();
  std::size_t voters = 0, reached = 0;
  for (const auto& m : now.members) {
    if (m.role != consensus::member_role::voter || m.id == gone.id)
      continue;
    ++voters;
    reached += m.id == now.server_id || parts.group->is_reached(m.id);
  }
  if (voters == 0)
    return problem{
      problem_kind::refused,
      gone.name + " is the only coordinator that votes",
      {},
      "join another one first: assay cluster token"};
  if (reached > voters / 2)
    return {};
  return problem{
    problem_kind::refused,
    "without " + gone.name + " only " + std::to_string(reached) + " of " + std::to_string(voters)
      + " voting coordinators could be reached, and nothing would be decided",
    {},
    "bring the others back first: assay cluster status"};
}

/// What is kept is the token's public half: it lets its holder in to join, and proves nothing else.
answer issue_token(
  const call& c, ledger::identity_role role, const pool_id& pool, const std::string& reason
) {
  auto token = fabric::new_join_token(c.parts.hub->address(), c.parts.hub->key());
  auto secret = fabric::to_text(token.keys.shared);
  auto expires =
    wall_ms{wall_now().value + std::chrono::milliseconds{limits::join_token_life}.count()};
  auto done = put(
    c,
    ledger::token_issued{
      .id = secret,
      .secret = sha256(secret),
      .role = role,
      .pool = pool,
      .expires_at = expires,
    },
    reason
  );
  if (!done)
    return done;
  // Whoever joins at once is let in at once: the hub learns of new tables a moment after the
  // answer.
  auto read = read_now(*c.parts.engine);
  if (!read)
    return unexpected{read.error()};
  c.parts.hub->replace_allow_list(allow_list_of(*read->tables, wall_now()));
  return reply{{{"token", fabric::to_text(token)}, {"expires_at_ms", expires.value}}, {}, {}};
}

} // namespace

unexpected<problem> no_group() {
  return unexpected{problem{
    problem_kind::refused,
    "a standalone is a cluster of one for ever",
    {},
    "run coordinators with assayd --config FILE (docs/cluster.md)"}};
}

result<ledger::member, problem> member_called(const ledger::tables& t, const std::string& name) {
  auto at = std::ranges::find(t.head.members, name, &ledger::member::name);
  if (at != t.head.members.end())
    return *at;
  std::string known;
  for (const auto& m : t.head.members)
    known += (known.empty() ? "" : ", ") + m.name;
  return unexpected{problem{
    problem_kind::not_found, "there is no member '" + name + "'", {}, "the members are: " + known}};
}

result<member_order, problem> member_order_of(const call& c) {
  if (!c.parts.group)
    return no_group();
  auto name = text_at(c.body, "name");
  auto reason = text_at(c.body, "reason", false);
  if (!name || !reason)
    return unexpected{!name ? name.error() : reason.error()};
  auto read = read_now(*c.parts.engine);
  if (!read)
    return unexpected{read.error()};
  auto member = member_called(*read->tables, *name);
  if (!member)
    return unexpected{member.error()};
  return member_order{*std::move(member), *std::move(reason), read->tables};
}

result<void, problem> hand_over(const app::parts& parts, std::uint64_t to) {
  auto promise = std::make_shared<std::promise<result<void, problem>>>();
  auto asked = promise->get_future();
  parts.engine->transfer(to, [promise](result<void, problem> done) {
    promise->set_value(std::move(done));
  });
  if (asked.wait_for(limits::proposal_patience) == std::future_status::ready)
    return asked.get();
  return unexpected{
    problem{problem_kind::unavailable, "the ledger did not answer in time", {}, "try again"}};
}

problem no_leader_here(const app::parts& parts) {
  auto h = health(parts);
  if (!h.problem.empty())
    return {problem_kind::unavailable, h.problem, {}, "assay cluster status shows the members"};
  return {
    problem_kind::unavailable,
    "this coordinator follows and " + (h.leader.empty() ? "nobody" : h.leader) + " leads",
    {},
    "ask again in a second"};
}

problem not_for_an_ingress(const app::parts& parts) {
  std::string names;
  for (const auto& m : tables_of(*parts.engine->current())->head.members)
    if (m.voter)
      names += (names.empty() ? "" : ", ") + m.name;
  return {
    problem_kind::refused,
    "a separate ingress answers for itself alone",
    {},
    "ask on a coordinator: " + names};
}

/// What founds or joins a cluster comes too late here.
answer has_cluster(const call& c) {
  const auto& head = tables_of(*c.parts.engine->current())->head;
  return unexpected{problem{
    problem_kind::refused,
    "this assayd is "
      + (c.parts.group ? "a member of cluster '" + head.name + "' already" : "a standalone"),
    c.parts.data.string(),
    "assay cluster status shows its members; another cluster needs an empty data directory"}};
}

answer cluster_status(const call& c) {
  auto h = health(c.parts);
  auto now = c.parts.engine->status();
  auto view = c.parts.engine->current();
  const auto& head = tables_of(*view)->head;
  json::array members, problems;
  for (const auto& m : h.members)
    members.push_back(to_json(m));
  if (!h.problem.empty())
    problems.emplace_back(h.problem);
  if (now.is_disk_full)
    problems.emplace_back("the ledger's disk here is full but for what is kept for undoing: free "
                          "some, no restart is needed");
  if (!now.room_fault.empty())
    problems.emplace_back(
      "the cluster takes only what undoes: " + now.room_fault
      + ". Free space there; it goes on by itself"
    );
  add_file_problems(c.parts, now, problems);
  if (!now.is_clock_trusted)
    problems.emplace_back(now.clock_text);
  if (!now.clock_fault.empty())
    problems.emplace_back(now.clock_fault);
  for (const auto& m : h.members)
    if (m.clock_offset_ms && std::abs(*m.clock_offset_ms) > spread_ms)
      problems.emplace_back(
        "the clocks of " + m.member.name + " and of this member differ by "
        + std::to_string(std::abs(*m.clock_offset_ms) / 1'000) + " s; set them right (chrony, ntpd)"
      );
  if (auto why = slow_disk_text("this coordinator", now.sync); !why.empty())
    problems.emplace_back(why);
  for (const auto& m : h.members)
    if (auto why = slow_disk_text(m.member.name, m.sync); !why.empty())
      problems.emplace_back(why);
  if (!now.promotion_problem.empty())
    problems.emplace_back("a vote was not given yet: " + now.promotion_problem);
  if (!h.waits.empty())
    problems.emplace_back(h.waits);
  // An ingress that does not answer in time has worse to say, and says it elsewhere.
  if (c.parts.ingress)
    if (auto routes = ask<routes_answer>(*c.parts.actors, c.parts.router, routes_question{}))
      for (const auto& one : routes->out_of_reach)
        problems.emplace_back(one);
  return reply{
    {{"cluster", head.cluster ? assay::to_text(*head.cluster) : ""},
     {"name", head.name},
     {"leader", h.leader},
     {"term", now.term},
     {"seq", now.seq},
     {"log_index", now.last_index},
     {"applied_index", now.applied_index},
     {"voters", h.voters},
     {"reached", h.reached},
     {"needed", h.needed},
     {"catching_up", now.is_fetching},
     {"members", std::move(members)},
     {"problems", std::move(problems)},
     {"freshness", c.lead ? "linearizable" : "local"}},
    {},
    {}};
}

answer cluster_token(const call& c) {
  if (!c.parts.group)
    return no_group();
  auto role = text_at(c.body, "role", false);
  if (!role)
    return unexpected{role.error()};
  if (!role->empty() && *role != "coordinator" && *role != "ingress")
    return unexpected{problem{
      problem_kind::invalid,
      "'" + *role + "' is no role",
      "role",
      "allowed: coordinator, ingress"}};
  auto is_ingress = *role == "ingress";
  return issue_token(
    c,
    is_ingress ? ledger::identity_role::ingress : ledger::identity_role::coordinator,
    {},
    is_ingress ? "an ingress may join" : "a coordinator may join"
  );
}

namespace {

/// Why leadership cannot go there, or with 0 to anybody.
std::optional<problem>
cannot_lead(const store::engine_status& now, std::uint64_t to, const std::string& name) {
  auto votes = [&](std::uint64_t id) {
    const auto* m = consensus::find_member(now.members, id);
    return m && m->role == consensus::member_role::voter;
  };
  auto others = std::ranges::any_of(now.members, [&](const auto& m) {
    return m.id != now.server_id && votes(m.id);
  });
  if (!others)
    return problem{
      problem_kind::refused,
      "no other member votes, so nobody else can lead",
      {},
      "join another coordinator first: assay cluster token"};
  if (to == now.server_id && now.is_leader)
    return problem{problem_kind::refused, name + " leads already", {}, "name another one, or none"};
  if (to == 0 || votes(to))
    return {};
  return problem{
    problem_kind::refused,
    name + " has no vote, so it cannot lead",
    {},
    "name a coordinator that votes, as assay cluster status shows them, or none"};
}

} // namespace

answer cluster_transfer(const call& c) {
  if (!c.parts.group)
    return no_group();
  auto to = text_at(c.body, "to", false);
  if (!to)
    return unexpected{to.error()};
  std::uint64_t id = 0;
  if (!to->empty()) {
    auto member = member_called(*tables_of(*c.parts.engine->current()), *to);
    if (!member)
      return unexpected{member.error()};
    id = member->id;
  }
  if (auto why = cannot_lead(c.parts.engine->status(), id, *to))
    return unexpected{*why};
  auto from = health(c.parts).leader;
  if (auto done = hand_over(c.parts, id); !done)
    return unexpected{done.error()};
  log::info("leadership_handed_over", {{"to", *to}, {"by", c.author.who}});
  return reply{{{"from", from}, {"to", *to}}, {}, {}};
}

answer cluster_remove(const call& c) {
  auto asked = member_order_of(c);
  if (!asked)
    return unexpected{asked.error()};
  const auto& [gone, reason, tables] = *asked;
  if (auto why = stalls_without(c.parts, gone))
    return unexpected{*why};
  if (gone.id == c.parts.engine->status().server_id) {
    if (auto done = hand_over(c.parts, 0); !done)
      return unexpected{done.error()};
    return unexpected{problem{
      problem_kind::unavailable,
      gone.name + " led and hands over first",
      {},
      "ask again in a few seconds; another one leads then"}};
  }
  ledger::membership next{tables->head.members};
  std::erase(next.members, gone);
  auto done = put(c, std::move(next), reason);
  if (!done)
    return done;
  const auto* identity = ledger::find(tables->identities, gone.name);
  if (identity && !identity->revoked)
    if (auto revoked = put(c, ledger::identity_revoked{gone.name, reason}, reason); !revoked)
      return revoked;
  return done;
}

/// The clock is this process's and no fact of the ledger: whoever accepted it stands in the log.
answer trust_clock(const call& c) {
  auto reason = text_at(c.body, "reason");
  if (!reason)
    return unexpected{reason.error()};
  c.parts.engine->trust_clock();
  log::warn("clock_trusted", {{"by", c.author.who}, {"why", *reason}});
  return reply{{{"trusted_at_ms", wall_now().value}}, {}, {}};
}

namespace {

std::optional<problem> no_such_pool(const call& c, const std::string& name) {
  auto read = read_now(*c.parts.engine);
  if (!read)
    return read.error();
  if (ledger::find(read->tables->pools, pool_id{name}))
    return {};
  std::string known;
  for (const auto& [id, row] : *read->tables->pools)
    known += (known.empty() ? "" : ", ") + id.value;
  return problem{
    problem_kind::not_found,
    "there is no pool '" + name + "'",
    "pool",
    known.empty() ? "declare one first: assay apply -f FILE" : "the pools are: " + known};
}

} // namespace

answer host_token(const call& c) {
  auto name = text_at(c.body, "name", false);
  auto pool = text_at(c.body, "pool", false);
  if (!name || !pool)
    return unexpected{!name ? name.error() : pool.error()};
  if (!name->empty() && !catalog::is_name(*name))
    return unexpected{problem{
      problem_kind::invalid,
      "'" + *name + "' is no name",
      "name",
      "letters, digits, dots, dashes and underscores, at most 64"}};
  if (!pool->empty())
    if (auto why = no_such_pool(c, *pool))
      return unexpected{*why};
  return issue_token(
    c,
    ledger::identity_role::host,
    {*pool},
    name->empty() ? "a host may join" : "host " + *name + " may join"
  );
}

} // namespace assay::app::admin
