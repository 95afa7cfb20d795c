// Lists and single things, by kind: what the ledger holds, beside what is seen now.

#include "src/app/admin/views.hpp"

#include "src/app/admin/admin.hpp"
#include "src/app/asking.hpp"
#include "src/catalog/render.hpp"
#include "src/ledger/describe.hpp"

#include <algorithm>

namespace assay::app::admin {

namespace {

struct kind_of_thing {
  std::string_view path;
  std::string_view subject; ///< As records name it, for the history.
  json::array (*items)(const world& w);
};

constexpr kind_of_thing kinds[] = {
  {"pools", "pool", pool_items},
  {"models", "model", model_items},
  {"artifacts", "artifact", artifact_items},
  {"runtime-profiles", "runtime-profile", profile_items},
  {"implementations", "implementation", implementation_items},
  {"suites", "suite", suite_items},
  {"policies", "policy", policy_items},
  {"projects", "project", project_items},
  {"keys", "key", key_items},
  {"hosts", "host", host_items},
  {"replicas", "replica", replica_items},
  {"qualifications", "qualification", qualification_items},
  {"routes", "route", route_items},
  {"moves", "move", move_items},
  {"waivers", "waiver", waiver_items},
  {"jobs", "job", job_items},
};

const kind_of_thing* find_kind(std::string_view path) {
  auto found = std::ranges::find(kinds, path, &kind_of_thing::path);
  return found == std::end(kinds) ? nullptr : found;
}

unexpected<problem> unknown_kind(const std::string& word) {
  std::string allowed;
  for (const auto& kind : kinds)
    allowed += (allowed.empty() ? "" : " ") + std::string{kind.path};
  return unexpected{
    problem{problem_kind::not_found, "there is no kind '" + word + "'", {}, "allowed: " + allowed}};
}

/// A declaration's own fields, as written.
void add_declaration(
  json::object& document, const ledger::tables& t, std::string_view subject, const std::string& name
) {
  auto kind = ledger::parse_declaration_kind(subject);
  auto row = kind ? ledger::find_declaration(t, *kind, name) : std::nullopt;
  if (!row)
    return;
  auto& item = document["item"].as_object();
  for (const auto& field : catalog::fields_of(row->what))
    if (!item.contains(field.name))
      item[field.name] = field.value;
  document["yaml"] = catalog::to_yaml(row->what);
}

} // namespace

result<world, problem> look(const call& c) {
  auto read = read_for(c);
  if (!read)
    return unexpected{read.error()};
  world w{c.parts, c.lead, read->tables, read->seq, std::move(read->label), {}, {}, wall_now()};
  if (!c.lead)
    return w;
  auto parts = ask<parts_answer>(*c.parts.actors, c.lead->supervisor, parts_question{});
  if (!parts)
    return unexpected{parts.error()};
  for (const auto& [id, link] : parts->links)
    if (auto host = ask<host_answer>(*c.parts.actors, link, host_question{}))
      w.hosts[id] = std::move(*host);
  for (const auto& [id, pool] : parts->pools)
    if (auto view = ask<pool_changed>(*c.parts.actors, pool, pool_question{}))
      w.pools[id] = view->view;
  return w;
}

answer list(const call& c) {
  const auto* kind = find_kind(c.path[0]);
  if (!kind)
    return unknown_kind(c.path[0]);
  auto w = look(c);
  if (!w)
    return unexpected{w.error()};
  auto document = w->label;
  document["items"] = kind->items(*w);
  return reply{std::move(document), {}, {}};
}

answer describe(const call& c) {
  const auto* kind = find_kind(c.path[0]);
  if (!kind)
    return unknown_kind(c.path[0]);
  auto w = look(c);
  if (!w)
    return unexpected{w.error()};
  auto items = kind->items(*w);
  auto found = std::ranges::find_if(items, [&](const json::value& item) {
    return item.as_object().begin()->value().as_string() == c.path[1];
  });
  if (found == items.end())
    return unexpected{problem{
      problem_kind::not_found,
      "there is no " + std::string{kind->subject} + " '" + c.path[1] + "'",
      {},
      "assay get " + std::string{kind->path} + " lists them"}};
  auto document = w->label;
  document["item"] = *found;
  document["yaml"] = "";
  add_details(*w, kind->path, c.path[1], document["item"].as_object());
  add_declaration(document, *w->tables, kind->subject, c.path[1]);
  auto history = history_of(c.parts, {std::string{kind->subject}, c.path[1], 20});
  if (history)
    document["history"] = std::move(*history);
  return reply{std::move(document), {}, {}};
}

} // namespace assay::app::admin
