// The qualification matrix of one model: every implementation with its evidence, what it may be
// given, and what it carries.

#include "src/app/admin/admin.hpp"
#include "src/app/admin/views.hpp"
#include "src/catalog/units.hpp"
#include "src/ledger/status.hpp"

#include <algorithm>

namespace assay::app::admin {

namespace {

/// `32768 in, 512 out, streamed and whole`; empty without evidence.
std::string covers_text(const qualification::envelope& e) {
  std::string text =
    std::to_string(e.input_tokens) + " in, " + std::to_string(e.output_tokens) + " out, ";
  if (e.unary && e.streaming)
    return text + "streamed and whole";
  return text + (e.streaming ? "streamed" : e.unary ? "whole" : "nothing");
}

/// `87.5 % of 8 (40 % wanted)`: of the task run that the last decision named.
std::string score_text(const ledger::tables& t, const ledger::qualification_row& q) {
  for (const auto& id : q.runs)
    if (const auto* made = ledger::find(t.runs, id);
        made && made->run.stage == ledger::run_stage::task)
      return catalog::share_text(made->run.score_ppm) + " of " + std::to_string(made->run.items)
             + " (" + catalog::share_text(q.policy.score_at_least_ppm) + " wanted)";
  return {};
}

/// The one that holds, or else the newest.
const ledger::qualification_row*
qualification_to_show(const ledger::tables& t, const implementation_id& id, wall_ms now) {
  if (const auto* holds = ledger::current_qualification(t, id, now))
    return holds;
  const ledger::qualification_row* newest = nullptr;
  for (const auto& [name, row] : *t.qualifications)
    if (row.implementation == id && (!newest || newest->seq < row.seq))
      newest = &row;
  return newest;
}

void add_evidence(json::object& to, const world& w, const implementation_id& id) {
  const auto& t = *w.tables;
  const auto* q = qualification_to_show(t, id, w.now);
  to["qualification"] = q ? qualification::name(q->state) : std::string_view{"none"};
  to["policy"] = q ? q->policy.name.value : "";
  to["score"] = q ? score_text(t, *q) : "";
  to["covers"] = q && !q->runs.empty() ? covers_text(q->covers) : "";
  to["stacks"] = q ? ledger::usable_fingerprints(t, *q).size() : std::size_t{0};
  to["expires_at_ms"] =
    q && q->expires_at != wall_ms{} ? json::value(q->expires_at.value) : json::value();
}

} // namespace

answer matrix(const call& c) {
  auto w = look(c);
  if (!w)
    return unexpected{w.error()};
  const auto& model = c.path[1];
  const auto* declared = ledger::find(w->tables->models, model_id{model});
  if (!declared)
    return unexpected{problem{
      problem_kind::not_found,
      "there is no model '" + model + "'",
      {},
      "assay get models lists them"}};
  json::array rows;
  for (auto& item : implementation_items(*w)) {
    const auto& from = item.as_object();
    auto id = implementation_id{std::string{from.at("name").as_string()}};
    const auto& what = ledger::find(w->tables->implementations, id)->what;
    if (what.model != model_id{model})
      continue;
    const auto* artifact = ledger::find(w->tables->artifact_states, what.artifact);
    json::object row;
    for (auto key : {"name", "status", "share", "batch_share", "ready"})
      row[key] = from.at(key);
    row["artifact"] = artifact ? ledger::name(artifact->state) : std::string_view{"unknown"};
    add_evidence(row, *w, id);
    row["missing"] = from.at("missing");
    rows.push_back(std::move(row));
  }
  auto document = w->label;
  document["items"] = std::move(rows);
  return reply{std::move(document), {}, {}};
}

} // namespace assay::app::admin
