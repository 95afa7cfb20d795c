// What runs, what was decided, and what is under way.

#include "src/app/admin/views.hpp"
#include "src/app/asking.hpp"
#include "src/ledger/describe.hpp"
#include "src/ledger/host_duty.hpp"
#include "src/ledger/status.hpp"
#include "src/moves/plan.hpp"

#include <algorithm>
#include <variant>

namespace assay::app::admin {

namespace {

json::value value_of(const fabric::native_value& value) {
  if (const auto* number = std::get_if<double>(&value))
    return *number;
  if (const auto* text = std::get_if<std::string>(&value))
    return json::value(*text);
  if (std::holds_alternative<fabric::unsupported>(value))
    return "unsupported";
  if (std::holds_alternative<fabric::unavailable>(value))
    return "unavailable";
  return json::value("failed " + std::to_string(std::get<fabric::failed>(value).code));
}

std::string text_of(const fabric::device& d) {
  auto text = d.name + ": " + std::string{name(d.state)};
  return d.why.empty() ? text : text + ", " + d.why;
}

std::string text_of(const fabric::device_event& e) {
  return ledger::time_text(e.at) + " " + e.device + " " + e.name + " " + std::to_string(e.code)
         + ": " + e.text;
}

std::string short_digest(const digest& d) {
  return d == digest{} ? std::string{} : assay::to_text(d).substr(0, sizeof "sha256:" - 1 + 12);
}

void add_standing(const world& w, const std::string& name, json::object& item) {
  const auto* row = ledger::find(w.tables->identities, name);
  if (!row || !row->standing)
    return;
  item["duty_by"] = row->standing->author;
  item["duty_since_ms"] = row->standing->since.value;
  item["duty_reason"] = row->standing->reason;
}

void add_host(const world& w, const std::string& name, json::object& item) {
  add_standing(w, name, item);
  auto at = w.hosts.find(host_id{name});
  if (at == w.hosts.end())
    return;
  const auto& host = at->second;
  item["cpus"] = host.inventory.cpus;
  item["memory_bytes"] = host.inventory.host_memory_bytes;
  for (const auto& device : host.inventory.devices)
    item["device " + device.id] = text_of(device);
  for (std::size_t i = 0; i < host.events.size(); ++i)
    item["event " + std::to_string(i + 1)] = text_of(host.events[i]);
  for (const auto& [field, value] : host.inventory.fingerprint.fields)
    item["stack " + field] = value;
  std::chrono::milliseconds oldest{};
  for (const auto& sample : host.samples)
    oldest = std::max(oldest, sample.age);
  if (!host.samples.empty())
    item["samples_age_ms"] = oldest.count();
  for (const auto& sample : host.samples)
    item
      [sample.name + (sample.device.empty() ? "" : " " + sample.device) + " (" + sample.unit
       + ")"] = value_of(sample.value);
}

/// As the ingress of this process stands to it.
std::string standing_of(const world& w, const pool::replica_view& replica) {
  auto counters = w.parts.counters->find(replica.key());
  if (!counters)
    return {};
  auto ruled = counters->ruled();
  return std::string{name(ruled.standing)} + (ruled.is_spared ? ", used all the same" : "");
}

void add_replica(const world& w, const std::string& name, json::object& item) {
  for (const auto& [id, host] : w.hosts)
    for (const auto& [generation, report] : host.reports)
      if (report.replica.value == name) {
        item["reason"] = report.reason;
        item["started_at_ms"] = report.started_at.value;
        item["log_tail"] = report.log_tail;
      }
}

void add_fields(json::object& item, const ledger::row& row) {
  for (const auto& field : ledger::describe(row))
    if (!item.contains(field.name))
      item[field.name] = field.value;
}

} // namespace

json::array host_items(const world& w) {
  json::array all;
  for (const auto& [name, row] : *w.tables->identities) {
    if (row.identity.role != ledger::identity_role::host)
      continue;
    auto at = w.hosts.find(host_id{name});
    auto connected = at != w.hosts.end() && at->second.connected;
    std::uint64_t ready = 0;
    for (const auto& [id, view] : w.pools)
      for (const auto& replica : view->replicas)
        ready += replica.host.value == name && replica.takes_traffic;
    all.push_back(json::object{
      {"name", name},
      {"state",
       row.revoked ? "revoked"
       : connected ? "connected"
                   : "away"},
      {"duty", ledger::words_of(ledger::duty_of(*w.tables, {name}))},
      {"pool", row.identity.pool.value},
      {"devices", connected ? at->second.inventory.devices.size() : 0},
      {"replicas_ready", ready},
      {"stack", connected ? short_digest(at->second.inventory.fingerprint.sum) : ""}});
  }
  return all;
}

json::array replica_items(const world& w) {
  json::array all;
  for (const auto& [id, view] : w.pools)
    for (const auto& replica : view->replicas)
      all.push_back(json::object{
        {"name", replica.id.value},
        {"phase", pool::name(replica.phase)},
        {"traffic", replica.takes_traffic},
        {"standing", standing_of(w, replica)},
        {"address", replica.address},
        {"generation", replica.generation},
        {"in_flight", std::to_string(replica.in_flight) + "/" + std::to_string(replica.slots)},
        {"stack", short_digest(replica.fingerprint)},
        {"reason", replica.reason}});
  return all;
}

json::array qualification_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->qualifications)
    all.push_back(json::object{
      {"name", id.value},
      {"implementation", row.implementation.value},
      {"state", qualification::name(row.state)},
      {"policy", row.policy.name.value},
      {"stacks", row.fingerprints.size()},
      {"expires_at_ms",
       row.expires_at == wall_ms{} ? json::value() : json::value(row.expires_at.value)},
      {"detail", row.detail}});
  return all;
}

json::array route_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->routes)
    all.push_back(json::object{
      {"name", id.value},
      {"generation", row.route.generation},
      {"carries", moves::to_text(row.route.carried)},
      {"by_move", row.by.value},
      {"since_ms", row.since.value}});
  return all;
}

json::array move_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->moves)
    all.push_back(json::object{
      {"name", id.value},
      {"model", row.plan.model.value},
      {"state", moves::name(row.state)},
      {"to", moves::to_text(row.plan.after)},
      {"author", row.author},
      {"proposed_at_ms", row.proposed_at.value},
      {"reason", row.plan.cause},
      {"detail", row.detail}});
  std::ranges::sort(all, {}, [](const json::value& item) {
    return item.as_object().at("proposed_at_ms").as_int64();
  });
  return all;
}

json::array waiver_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->waivers) {
    json::array gates(row.waiver.gates.begin(), row.waiver.gates.end());
    auto holds = !row.ended && w.now < row.waiver.expires_at;
    all.push_back(json::object{
      {"name", id},
      {"implementation", row.waiver.implementation.value},
      {"gates", std::move(gates)},
      {"state", holds ? "holds" : "over"},
      {"expires_at_ms", row.waiver.expires_at.value},
      {"author", row.author},
      {"reason", row.waiver.reason}});
  }
  return all;
}

json::array job_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->jobs) {
    std::uint64_t done = 0, failed = 0;
    for (const auto& part : ledger::checkpoints_of(*w.tables, id)) {
      done += part.count;
      failed += part.failed;
    }
    std::string state = row.ended ? std::string{ledger::name(row.ended->end)} : "queued";
    if (!row.ended && w.lead)
      if (auto now = ask<job_answer>(*w.parts.actors, w.lead->jobs, job_question{id}))
        state = std::string{jobs::name(now->state)};
    all.push_back(json::object{
      {"name", id.value},
      {"title", row.job.name},
      {"model", row.job.model.value},
      {"state", state},
      {"done", done},
      {"failed", failed},
      {"total", row.job.items},
      {"submitted_at_ms", row.submitted_at.value}});
  }
  std::ranges::sort(all, std::greater{}, [](const json::value& item) {
    return item.as_object().at("submitted_at_ms").as_int64();
  });
  return all;
}

void add_details(
  const world& w, std::string_view kind, const std::string& name, json::object& item
) {
  const auto& t = *w.tables;
  if (kind == "hosts")
    return add_host(w, name, item);
  if (kind == "replicas")
    return add_replica(w, name, item);
  if (kind == "qualifications") {
    auto run = w.lead ? ask<run_answer>(*w.parts.actors, w.lead->evaluator, run_question{{name}})
                      : unexpected{problem{}};
    item["running"] = run && run->running;
    item["stage"] = run && run->running ? run->stage : "";
    item["done"] = run ? run->done : 0;
    item["total"] = run ? run->total : 0;
    json::array reasons;
    if (const auto* row = ledger::find(t.qualifications, qualification_id{name})) {
      if (!row->detail.empty())
        reasons.emplace_back(row->detail);
      for (const auto& run_id : row->runs)
        if (const auto* made = ledger::find(t.runs, run_id); made && !made->run.detail.empty())
          reasons.emplace_back(made->run.detail);
      add_fields(item, *row);
    }
    item["reasons"] = std::move(reasons);
    return;
  }
  if (kind == "moves")
    if (const auto* row = ledger::find(t.moves, move_id{name})) {
      auto now = w.lead && moves::is_open(row->state)
                   ? ask<move_waits>(*w.parts.actors, w.lead->mover, move_question{{name}})
                   : unexpected{problem{}};
      item["why"] = now ? now->why : "";
      return add_fields(item, *row);
    }
  if (kind == "implementations") {
    json::array missing;
    for (const auto& one : ledger::missing_for(t, {name}, w.now))
      missing.emplace_back(one.what + "; " + one.next);
    item["missing"] = std::move(missing);
    item["why_not_qualified"] = ledger::why_not_qualified(t, {name}, w.now);
    for (const auto& [id, view] : w.pools)
      for (const auto& one : view->implementations)
        if (one.id.value == name)
          item["waits_for"] = one.waits_for;
  }
  if (kind == "jobs") {
    auto now = w.lead ? ask<job_answer>(*w.parts.actors, w.lead->jobs, job_question{{name}})
                      : unexpected{problem{}};
    item["why"] = now ? now->why : "";
    if (const auto* row = ledger::find(t.jobs, job_id{name}); row && row->ended)
      item["why"] = row->ended->detail;
  }
}

} // namespace assay::app::admin
