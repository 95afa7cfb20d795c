// Batch jobs: taken in, looked at, cancelled, and their output.

#include "src/app/admin/admin.hpp"
#include "src/app/asking.hpp"
#include "src/base/limits.hpp"
#include "src/jobs/items.hpp"

namespace assay::app::admin {

namespace {

result<ledger::tables const*, problem> find_job(const ledger::tables& t, const std::string& id) {
  if (ledger::find(t.jobs, job_id{id}))
    return &t;
  return unexpected{
    problem{problem_kind::not_found, "there is no job '" + id + "'", {}, "assay queue lists them"}};
}

/// A copy may be behind, so it gives only what will not grow any more.
problem not_over_here(const std::string& id) {
  return {
    problem_kind::unavailable,
    "job '" + id + "' is not over as far as this coordinator knows, and no leader could be asked",
    {},
    "ask again when somebody leads; assay cluster status shows who is away"};
}

/// The stored output, checkpoint after checkpoint, in item order.
result<std::string, problem> output_of(const call& c) {
  auto read = read_for(c);
  if (!read)
    return unexpected{read.error()};
  if (!c.parts.settings.is_coordinator)
    return unexpected{not_for_an_ingress(c.parts)};
  if (auto found = find_job(*read->tables, c.path[1]); !found)
    return unexpected{found.error()};
  if (!c.lead && !ledger::find(read->tables->jobs, job_id{c.path[1]})->ended)
    return unexpected{not_over_here(c.path[1])};
  std::string lines;
  for (const auto& part : ledger::checkpoints_of(*read->tables, {c.path[1]})) {
    auto blob = c.parts.blob_keeper->get(part.output, limits::job_bytes);
    if (!blob)
      return unexpected{blob.error()};
    lines += *blob;
  }
  return lines;
}

constexpr auto jsonl = "application/jsonl";

} // namespace

answer submit(const call& c) {
  auto model = text_at(c.body, "model");
  auto input = text_at(c.body, "input");
  auto name = text_at(c.body, "name", false);
  auto priority = text_at(c.body, "priority", false);
  for (const auto* text : {&model, &input, &name, &priority})
    if (!*text)
      return unexpected{text->error()};
  auto rank = ledger::parse_job_priority(priority->empty() ? "normal" : *priority);
  if (!rank)
    return unexpected{problem{
      problem_kind::invalid,
      "'" + *priority + "' is not known",
      "priority",
      "allowed: urgent, normal, backfill"}};
  auto read = read_now(*c.parts.engine);
  if (!read)
    return unexpected{read.error()};
  const auto* declared = ledger::find(read->tables->models, model_id{*model});
  if (!declared)
    return unexpected{problem{
      problem_kind::not_found,
      "there is no model '" + *model + "'",
      "model",
      "assay get models lists them"}};
  auto index = jobs::index_items(*input, declared->what.promises.task);
  if (!index)
    return unexpected{index.error()};
  auto blob = c.parts.blob_keeper->keep(*input);
  if (!blob)
    return unexpected{blob.error()};
  auto id_text = text_at(c.body, "record_id", false);
  auto asked = id_text && !id_text->empty() ? parse_uuid(*id_text) : std::optional{new_uuid7()};
  if (!asked)
    return unexpected{problem{
      problem_kind::invalid, "'" + *id_text + "' is not a UUID", "record_id", "make a UUIDv7"}};
  // The job's name follows from the asker's id, so that a retry is the same record.
  ledger::job_submitted job{
    .id = {"j-" + short_name(*asked)},
    .project = {"default"},
    .key = {},
    .model = {*model},
    .input = *blob,
    .items = index->items.size(),
    .priority = *rank,
    .name = *name,
    .options = {},
  };
  auto id = job.id;
  auto count = job.items;
  auto done = propose_now(
    *c.parts.engine, ledger::make_record(*asked, std::move(job), c.author, {"submit", *name})
  );
  if (!done)
    return unexpected{done.error()};
  return reply{{{"job", id.value}, {"items", count}, {"receipt", to_json(*done)}}, {}, {}};
}

answer blob(const call& c) {
  if (!c.parts.settings.is_coordinator)
    return unexpected{not_for_an_ingress(c.parts)};
  auto name = parse_digest(c.path[1]);
  if (!name)
    return unexpected{problem{
      problem_kind::invalid,
      "'" + c.path[1] + "' is not a digest",
      {},
      "write sha256: and 64 hexadecimal digits; assay ledger show and who-served name them"}};
  auto bytes = c.parts.blob_keeper->get(*name, limits::job_bytes);
  if (!bytes)
    return unexpected{bytes.error()};
  return reply{{}, *std::move(bytes), "application/octet-stream"};
}

answer job_output(const call& c) {
  auto lines = output_of(c);
  if (!lines)
    return unexpected{lines.error()};
  return reply{{}, std::move(*lines), jsonl};
}

answer job_errors(const call& c) {
  auto lines = output_of(c);
  if (!lines)
    return unexpected{lines.error()};
  std::string errors;
  for (std::size_t at = 0; at < lines->size();) {
    auto end = lines->find('\n', at);
    end = end == std::string::npos ? lines->size() : end + 1;
    auto line = std::string_view{*lines}.substr(at, end - at);
    if (jobs::is_error_line(line))
      errors += line;
    at = end;
  }
  return reply{{}, std::move(errors), jsonl};
}

answer cancel_job(const call& c) {
  auto reason = text_at(c.body, "reason", false);
  if (!reason)
    return unexpected{reason.error()};
  auto got = ask<job_wish_answer>(
    *c.parts.actors,
    c.lead->jobs,
    job_wish{{c.path[1]}, jobs::event::cancel, *reason},
    limits::job_wind_up + limits::proposal_patience
  );
  if (!got)
    return unexpected{got.error()};
  if (!got->what)
    return unexpected{got->what.error()};
  return reply{{{"job", c.path[1]}, {"state", jobs::name(*got->what)}}, {}, {}};
}

} // namespace assay::app::admin
