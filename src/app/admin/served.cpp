// For auditors: the whole ledger as a file, who served a route when, and how a route came to be.

#include "src/app/admin/admin.hpp"
#include "src/base/log.hpp"
#include "src/ledger/who_served.hpp"
#include "src/moves/plan.hpp"
#include "src/store/ledger_export.hpp"
#include "src/store/stored_chronicle.hpp"

#include <charconv>

namespace assay::app::admin {

namespace {

constexpr std::int64_t changes_most = 1'000; ///< In one answer.

/// As the ledger has this coordinator: the member that it names with a key of ours.
result<std::pair<ledger::signing_key::seed, std::string>, problem>
own_signer(const call& c, const ledger::tables& t) {
  for (const auto& member : t.head.members)
    if (auto seed = c.parts.keys->seed_of(member.signing_public))
      return std::pair{*seed, member.name};
  return unexpected{problem{
    problem_kind::refused,
    "no member of the ledger has this coordinator's key, so nobody would believe its signature",
    (c.parts.data / "keys" / "signing.secret").string(),
    "export from a coordinator that assay cluster status lists"}};
}

/// A whole number in the query; `otherwise` when it is not there.
result<std::int64_t, problem>
query_number(const call& c, const std::string& key, std::int64_t otherwise) {
  auto at = c.query.find(key);
  if (at == c.query.end())
    return otherwise;
  std::int64_t number = 0;
  const auto& text = at->second;
  auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (why == std::errc{} && end == text.data() + text.size() && number >= 0)
    return number;
  return unexpected{
    problem{problem_kind::invalid, "'" + text + "' is not a whole number from 0 on", key, {}}};
}

} // namespace

answer ledger_export(const call& c) {
  auto read = read_for(c);
  if (!read)
    return unexpected{read.error()};
  auto signer = own_signer(c, *read->tables);
  if (!signer)
    return unexpected{signer.error()};
  ledger::signing_key key{signer->first};
  auto begun = store::ledger_export::begin(*c.parts.engine, {key, signer->second});
  if (!begun)
    return unexpected{begun.error()};
  auto whole = std::make_shared<store::ledger_export>(*std::move(begun));
  auto next = [whole]() -> std::optional<std::string> {
    auto piece = whole->next();
    if (piece)
      return *std::move(piece);
    log::error("export_failed", {{"why", to_text(piece.error())}});
    return {};
  };
  return reply{{}, {}, "application/octet-stream", 200, std::move(next)};
}

answer who_served(const call& c) {
  auto at = query_number(c, "at_ms", wall_now().value);
  if (!at)
    return unexpected{at.error()};
  if (*at > wall_now().value)
    return unexpected{problem{
      problem_kind::invalid,
      ledger::time_text({*at}) + " has not come yet",
      "at_ms",
      "who will serve is not on record"}};
  auto read = read_for(c);
  if (!read)
    return unexpected{read.error()};
  auto found =
    ledger::who_served(store::stored_chronicle{*c.parts.engine, read->tables}, {c.path[1]}, {*at});
  if (!found)
    return unexpected{found.error()};
  json::array lines;
  for (const auto& line : ledger::lines_of(*found))
    lines.emplace_back(line);
  json::object fields;
  for (const auto& field : ledger::describe(*found))
    fields[field.name] = field.value;
  auto document = std::move(read->label);
  document["served"] = std::move(fields);
  document["lines"] = std::move(lines);
  return reply{std::move(document), {}, {}};
}

answer history(const call& c) {
  auto limit = query_number(c, "limit", 20);
  if (!limit)
    return unexpected{limit.error()};
  if (*limit < 1 || *limit > changes_most)
    return unexpected{problem{
      problem_kind::invalid,
      std::to_string(*limit) + " is not from 1 to " + std::to_string(changes_most),
      "limit",
      {}}};
  auto read = read_for(c);
  if (!read)
    return unexpected{read.error()};
  auto found = ledger::route_history(
    store::stored_chronicle{*c.parts.engine, read->tables},
    {c.path[1]},
    static_cast<std::size_t>(*limit)
  );
  if (!found)
    return unexpected{found.error()};
  json::array changes;
  for (const auto& row : ledger::rows_of(*found)) {
    json::object change;
    for (const auto& field : row)
      change[field.name] = field.value;
    changes.push_back(std::move(change));
  }
  auto document = std::move(read->label);
  document["changes"] = std::move(changes);
  return reply{std::move(document), {}, {}};
}

} // namespace assay::app::admin
