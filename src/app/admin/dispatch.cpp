#include "src/app/admin/admin.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

#include <boost/json/serialize.hpp>
#include <pwd.h>

#include <array>

namespace assay::app::admin {

namespace {

/// `leader_or_copy`: when nobody leads that can be asked, from our own copy, labelled so.
/// `own_copy`: from ours only. No copy is shown once its records are known to be damaged.
enum class answered_by : std::uint8_t { leader, leader_or_copy, own_copy, anyone };

struct route {
  std::string_view method;
  std::string_view pattern; ///< `*` is one segment; a name that holds `/` comes percent-encoded.
  answer (*handler)(const call&);
  std::string_view words{}; ///< Keys of the body, of the query where there is no body.
  answered_by who = answered_by::leader;
};

constexpr route routes[] = {
  {"GET", "status", status},
  {"GET", "env", env, "", answered_by::anyone},
  {"GET", "cluster", cluster_status, "", answered_by::anyone},
  {"POST", "cluster/init", has_cluster, "name", answered_by::anyone},
  {"POST", "cluster/join", has_cluster, "token", answered_by::anyone},
  {"POST", "cluster/restore", has_cluster, "file", answered_by::anyone},
  {"POST", "cluster/backup", cluster_backup, "file", answered_by::own_copy},
  {"POST", "cluster/token", cluster_token, "role"},
  {"GET", "cluster/keys", cluster_keys, "", answered_by::anyone},
  {"GET", "cluster/keys/*", member_keys},
  {"POST", "cluster/keys", prepare_keys, "", answered_by::anyone},
  {"POST", "cluster/rotate-keys", rotate_keys, "name reason"},
  {"POST", "cluster/transfer", cluster_transfer, "to"},
  {"POST", "cluster/remove", cluster_remove, "name reason"},
  {"POST", "apply", apply, "files dry_run"},
  {"POST", "qualify", qualify, "implementation reason"},
  {"POST", "promote", promote, "implementation status share hold bake reason"},
  {"POST", "reverse", reverse, "move reason"},
  {"POST", "waive", waive, "implementation gates hours reason record_id"},
  {"POST", "revoke", revoke, "kind name reason record_id"},
  {"POST", "approve", approve, "artifact reason record_id"},
  {"POST", "explain", explain, "model key input_tokens output_tokens stream", answered_by::anyone},
  {"GET", "decisions/*", decision, "", answered_by::anyone},
  {"GET", "ledger", ledger_log, "limit subject", answered_by::leader_or_copy},
  {"POST", "ledger/verify", ledger_verify, "", answered_by::anyone},
  {"GET", "ledger/export", ledger_export, "", answered_by::own_copy},
  {"GET", "ledger/*", ledger_show, "", answered_by::leader_or_copy},
  {"GET", "blobs/*", blob, "", answered_by::anyone},
  {"GET", "models/*/matrix", matrix, "", answered_by::leader_or_copy},
  {"GET", "routes/*/served", who_served, "at_ms", answered_by::leader_or_copy},
  {"GET", "routes/*/changes", history, "limit", answered_by::leader_or_copy},
  {"POST", "clock/trust", trust_clock, "reason", answered_by::anyone},
  {"POST", "hosts/token", host_token, "name pool"},
  {"POST", "hosts/*/drain", host_drain, "reason record_id"},
  {"POST", "hosts/*/quarantine", host_quarantine, "reason record_id"},
  {"POST", "hosts/*/resume", host_resume, "reason record_id"},
  {"POST", "jobs", submit, "name model input priority record_id"},
  {"GET", "jobs/*/output", job_output, "", answered_by::leader_or_copy},
  {"GET", "jobs/*/errors", job_errors, "", answered_by::leader_or_copy},
  {"POST", "jobs/*/cancel", cancel_job, "reason"},
  {"GET", "*", list, "", answered_by::leader_or_copy},
  {"GET", "*/*", describe, "", answered_by::leader_or_copy},
  {"DELETE", "*/*", remove, "reason"},
};

constexpr std::string_view prefix = "/assay/v1/";

std::vector<std::string> split(std::string_view text, char at = '/') {
  std::vector<std::string> parts;
  while (!text.empty()) {
    auto end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return parts;
}

/// Names hold slashes (`MODEL/POOL/ARTIFACT`), and the listener has decoded the path: so a
/// pattern's one `*` before its last fixed word takes as many segments as are left for it.
bool matches(
  std::string_view pattern, const std::vector<std::string>& path, std::vector<std::string>& into
) {
  auto wanted = split(pattern);
  if (path.size() < wanted.size())
    return false;
  into.clear();
  auto extra = path.size() - wanted.size();
  auto greedy = wanted.size();
  for (std::size_t i = 1; i < wanted.size(); ++i)
    if (wanted[i] == "*")
      greedy = i;
  if (extra > 0 && greedy == wanted.size())
    return false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto segment = path[at++];
    for (std::size_t more = 0; i == greedy && more < extra; ++more)
      segment += "/" + path[at++];
    if (wanted[i] != "*" && wanted[i] != segment)
      return false;
    into.push_back(std::move(segment));
  }
  return true;
}

http::service_response error_response(const problem& p) {
  json::object error{
    {"kind", name(p.kind)},
    {"what", shortened(p.what)},
    {"where", shortened(p.where)},
    {"next", shortened(p.next)}};
  return {
    http_status(p.kind),
    "application/json",
    json::serialize(json::object{{"error", std::move(error)}})};
}

/// Who sits at the other end of the socket. Without a peer there is no author, and nothing is done.
ledger::author author_of(std::uint32_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4'096> room{};
  ::getpwuid_r(uid, &entry, room.data(), room.size(), &found);
  return {found ? found->pw_name : "uid-" + std::to_string(uid), ledger::authentication::socket};
}

bool is_word(std::string_view words, std::string_view key) {
  for (const auto& word : split(words, ' '))
    if (word == key)
      return true;
  return false;
}

/// A key that the call does not take, so that a misspelt one is not silently without effect.
std::optional<problem> unknown_word(const route& r, const call& c) {
  std::vector<std::string> given;
  for (const auto& [key, value] : c.query)
    given.push_back(key);
  for (const auto& [key, value] : c.body)
    given.emplace_back(key);
  for (const auto& key : given)
    if (!is_word(r.words, key))
      return problem{
        problem_kind::invalid,
        "'" + key + "' is not known here",
        key,
        r.words.empty() ? "this call takes nothing" : "allowed: " + std::string{r.words}};
  return {};
}

/// To whoever leads, when that is known and another one; what was passed on once is not again.
result<http::service_response, problem>
pass_on(app::parts& parts, const http::service_request& request, const ledger::author& author) {
  if (!parts.settings.is_coordinator)
    return unexpected{not_for_an_ingress(parts)};
  auto now = parts.engine->status();
  auto is_known = now.leader_id != 0 && now.leader_id != now.server_id;
  if (!parts.forwarding || !is_known || !request.peer_uid)
    return unexpected{no_leader_here(parts)};
  return parts.forwarding->ask(now.leader_id, request, author);
}

/// Who asked while the lead was being lost is told by the ledger that nobody leads; why that is so,
/// and what to do, the group knows.
problem explained(const app::parts& parts, problem why) {
  auto is_lost = parts.group && parts.engine->status().leader_id == 0;
  if (is_lost && why.kind == problem_kind::unavailable)
    why.next = no_leader_here(parts).what;
  return why;
}

/// A standalone has no other copy; of several members the others are asked.
std::optional<problem> quarantine(const app::parts& parts) {
  auto damage = parts.group ? parts.scrub->damage() : std::string{};
  if (damage.empty())
    return {};
  return problem{
    problem_kind::refused,
    damage,
    (parts.data / "ledger").string(),
    "ask another coordinator: assay cluster status lists them"};
}

/// A copy may be behind: what it does not have may be there all the same.
problem unknown_to_copy(problem why) {
  why.kind = problem_kind::unavailable;
  why.what += ", as far as this coordinator knows; nobody leads who could be asked";
  why.next = "ask again when `assay cluster status` names a leader";
  return why;
}

http::service_response respond(
  app::parts& parts,
  const http::service_request& request,
  const ledger::author& author,
  const route& r,
  std::vector<std::string> path
) {
  auto lead = parts.lead.get();
  auto damage = quarantine(parts);
  if (r.who == answered_by::own_copy && damage)
    return error_response(*damage);
  auto is_led = r.who == answered_by::leader || r.who == answered_by::leader_or_copy;
  if (is_led && !lead) {
    auto passed = pass_on(parts, request, author);
    auto is_too_large = passed && passed->status == 413 && r.who == answered_by::leader_or_copy;
    if (!is_too_large && (passed || r.who == answered_by::leader))
      return passed ? std::move(*passed) : error_response(passed.error());
    if (damage)
      return error_response(*damage);
  }
  auto body = body_of(request);
  if (!body)
    return error_response(body.error());
  call c{parts, std::move(lead), std::move(path), request.query, std::move(*body), author};
  if (auto unknown = unknown_word(r, c))
    return error_response(*unknown);
  auto got = r.handler(c);
  // The lead was lost since it was looked for: what may come from a copy comes from there.
  auto is_lost = c.lead && !parts.engine->status().is_leader;
  auto may_copy = is_lost && !damage && r.who == answered_by::leader_or_copy;
  if (!got && got.error().kind == problem_kind::unavailable && may_copy) {
    c.lead = nullptr;
    got = r.handler(c);
  }
  if (!got && got.error().kind == problem_kind::not_found && r.who == answered_by::leader_or_copy && !c.lead)
    got = unexpected{unknown_to_copy(got.error())};
  if (!got)
    return error_response(explained(parts, got.error()));
  if (!got->text_type.empty())
    return {got->status, got->text_type, std::move(got->text), std::move(got->next_piece)};
  return {200, "application/json", json::serialize(got->document)};
}

http::service_response guarded(
  app::parts& parts,
  const http::service_request& request,
  const ledger::author& author,
  const route& route,
  std::vector<std::string> path
) {
  try {
    return respond(parts, request, author, route, std::move(path));
  } catch (const boost::system::system_error& why) {
    // A field of another type than the handler took for granted: its accessors throw this.
    return error_response(
      {problem_kind::invalid,
       "a field is not of the type it must be: " + why.code().message(),
       request.path,
       "see docs/admin-api.md"}
    );
  } catch (const std::exception& why) {
    log::error("admin_handler_threw", {{"path", request.path}, {"why", why.what()}});
    auto response = error_response(
      {problem_kind::unavailable,
       std::string{"assayd could not carry this out: "} + why.what(),
       request.path,
       "its log has a line `admin_handler_threw`; please report it"}
    );
    response.status = 500;
    return response;
  }
}

} // namespace

http::service_response serve(app::parts& parts, const http::service_request& request) {
  if (!request.peer_uid)
    return error_response(
      {problem_kind::forbidden,
       "the admin API needs a peer that can be named",
       {},
       "use the admin socket"}
    );
  return serve_as(parts, request, author_of(*request.peer_uid));
}

http::service_response
serve_as(app::parts& parts, const http::service_request& request, const ledger::author& author) {
  if (auto bad = not_text(request))
    return error_response(*bad);
  if (!request.path.starts_with(prefix))
    return error_response(
      {problem_kind::not_found, "unknown path", request.path, "everything lies under /assay/v1/"}
    );
  auto path = split(std::string_view{request.path}.substr(prefix.size()));
  std::string allowed;
  std::vector<std::string> matched;
  for (const auto& route : routes) {
    if (!matches(route.pattern, path, matched))
      continue;
    if (route.method == request.method)
      return guarded(parts, request, author, route, matched);
    allowed += (allowed.empty() ? "" : ", ") + std::string{route.method};
  }
  if (allowed.empty())
    return error_response(
      {problem_kind::not_found, "unknown path", request.path, "see docs/admin-api.md"}
    );
  auto response = error_response(
    {problem_kind::invalid,
     request.method + " is not known here",
     request.path,
     "allowed: " + allowed}
  );
  response.status = 405;
  return response;
}

result<seen_tables, problem> read_for(const call& c) {
  if (c.lead) {
    auto read = read_now(*c.parts.engine);
    if (!read)
      return unexpected{read.error()};
    return seen_tables{
      read->tables, read->seq, {{"seq", read->seq}, {"freshness", "linearizable"}}};
  }
  auto view = c.parts.engine->current();
  return seen_tables{
    tables_of(*view),
    view->seq,
    {{"seq", view->seq}, {"freshness", "bounded"}, {"as_of_ms", view->stamped_at.value}}};
}

json::object to_json(const store::receipt& r) {
  return {
    {"seq", r.seq},
    {"record", assay::to_text(r.record_hash)},
    {"stamped_at_ms", r.stamped_at.value},
    {"repeated", r.is_repeated}};
}

namespace {

/// What a request with this id was told before. It would be made anew with another clock and other
/// state beside it, so it is known by its author and kind and not by its bytes.
result<std::optional<json::object>, problem>
first_answer(const call& c, const uuid& id, const ledger::payload& what) {
  if (auto read = read_now(*c.parts.engine); !read)
    return unexpected{read.error()};
  auto seq = seq_of_record(c.parts, id);
  if (!seq)
    return unexpected{seq.error()};
  if (*seq == 0)
    return std::optional<json::object>{};
  auto found = record_at(c.parts, *seq);
  if (!found)
    return unexpected{found.error()};
  if (!*found || (*found)->record.author.who != c.author.who || (*found)->record.payload.index() != what.index())
    return std::optional<json::object>{}; // The ledger refuses it, and says why.
  const auto& stamp = (*found)->stamp;
  return std::optional{to_json({stamp.seq, stamp.record, stamp.chain, stamp.stamped_at, true})};
}

} // namespace

answer put(const call& c, ledger::payload what, const std::string& reason, ledger::trust believed) {
  auto text = text_at(c.body, "record_id", false);
  if (!text)
    return unexpected{text.error()};
  auto id = text->empty() ? std::optional{new_uuid7()} : parse_uuid(*text);
  if (!id)
    return unexpected{problem{
      problem_kind::invalid, "'" + *text + "' is not a UUID", "record_id", "make a UUIDv7"}};
  if (!text->empty()) {
    auto before = first_answer(c, *id, what);
    if (!before)
      return unexpected{before.error()};
    if (*before)
      return reply{{{"receipt", **std::move(before)}}, {}, {}};
  }
  auto done = propose_now(
    *c.parts.engine,
    ledger::make_record(*id, std::move(what), c.author, {"operator", reason}, believed)
  );
  if (!done)
    return unexpected{done.error()};
  return reply{{{"receipt", to_json(*done)}}, {}, {}};
}

} // namespace assay::app::admin
