// What people decide: qualification, promotion, its reverse, waivers, revocations.

#include "src/app/admin/admin.hpp"
#include "src/app/admin/views.hpp"
#include "src/app/asking.hpp"
#include "src/base/limits.hpp"
#include "src/catalog/units.hpp"

#include <caf/send.hpp>

#include <chrono>

namespace assay::app::admin {

namespace {

unexpected<problem> invalid(std::string where, std::string what, std::string next) {
  return unexpected{
    problem{problem_kind::invalid, std::move(what), std::move(where), std::move(next)}};
}

answer moved(const call& c, result<move_answer, problem> got) {
  if (!got)
    return unexpected{got.error()};
  if (!got->what)
    return unexpected{got->what.error()};
  auto read = read_now(*c.parts.engine);
  if (!read)
    return unexpected{read.error()};
  const auto* row = ledger::find(read->tables->moves, *got->what);
  auto state = row ? moves::name(row->state) : "proposed";
  return reply{{{"move", got->what->value}, {"state", state}}, {}, {}};
}

/// Whoever wants it qualified after its runtime failed again and again has mended what was wrong.
void try_again(const call& c, const implementation_id& id) {
  auto seen = look(c);
  auto parts = ask<parts_answer>(*c.parts.actors, c.lead->supervisor, parts_question{});
  if (!seen || !parts)
    return; // What asks next meets the same trouble and tells it.
  for (const auto& [where, view] : seen->pools)
    for (const auto& one : view->implementations)
      if (one.id == id && one.given_up && parts->pools.contains(where))
        caf::anon_send(parts->pools.at(where), pool::event{pool::retry_asked{id}});
}

/// The value under `key` as `parse` reads it; `otherwise` when there is none.
template <class T, class Parse>
result<T, problem> parsed_at(const call& c, std::string_view key, T otherwise, Parse parse) {
  auto text = text_at(c.body, key, false);
  if (!text)
    return unexpected{text.error()};
  if (text->empty())
    return otherwise;
  auto value = parse(*text);
  if (!value)
    return invalid(std::string{key}, value.error().what, value.error().next);
  return T{*value};
}

/// A canary's share, and how long the move holds and bakes.
result<moves::promotion_options, problem>
options_of(const call& c, catalog::implementation_status wanted) {
  constexpr std::uint32_t ppm_of_part = 100;
  auto share = parsed_at<std::optional<std::uint32_t>>(c, "share", {}, catalog::parse_share);
  if (!share)
    return unexpected{share.error()};
  if (*share && wanted != catalog::implementation_status::canary)
    return invalid(
      "share", "only a canary has a share of its own", "leave it out, or promote with status canary"
    );
  if (*share && **share % ppm_of_part != 0)
    return invalid(
      "share", "is finer than 0.01 %", "shares are counted in hundredths of a per cent"
    );
  moves::promotion_options how;
  if (*share)
    how.share = **share / ppm_of_part;
  for (auto [key, into] : {std::pair{"hold", &how.hold}, std::pair{"bake", &how.bake}}) {
    auto span = parsed_at<std::chrono::milliseconds>(c, key, {}, catalog::parse_duration);
    if (!span)
      return unexpected{span.error()};
    if (*span > limits::move_span)
      return invalid(
        key,
        "is longer than " + catalog::duration_text(limits::move_span),
        "a move that takes so long is better made in several"
      );
    *into = *span;
  }
  return how;
}

} // namespace

answer qualify(const call& c) {
  auto implementation = text_at(c.body, "implementation");
  auto reason = text_at(c.body, "reason", false);
  if (!implementation || !reason)
    return unexpected{!implementation ? implementation.error() : reason.error()};
  try_again(c, {*implementation});
  auto got = ask<qualify_answer>(
    *c.parts.actors, c.lead->evaluator, assay::qualify{{*implementation}, c.author, *reason}
  );
  if (!got)
    return unexpected{got.error()};
  if (!got->what)
    return unexpected{got->what.error()};
  return reply{{{"qualification", got->what->value}}, {}, {}};
}

answer promote(const call& c) {
  auto implementation = text_at(c.body, "implementation");
  auto status = text_at(c.body, "status");
  auto reason = text_at(c.body, "reason", false);
  for (const auto* text : {&implementation, &status, &reason})
    if (!*text)
      return unexpected{text->error()};
  auto wanted = catalog::parse_implementation_status(*status);
  if (!wanted)
    return invalid(
      "status",
      "'" + *status + "' is not known",
      "allowed: production, canary, batch-only, suspended, retired"
    );
  auto how = options_of(c, *wanted);
  if (!how)
    return unexpected{how.error()};
  return moved(
    c,
    ask<move_answer>(
      *c.parts.actors,
      c.lead->mover,
      assay::promote{{*implementation}, *wanted, c.author, *reason, *how}
    )
  );
}

answer reverse(const call& c) {
  auto move = text_at(c.body, "move");
  auto reason = text_at(c.body, "reason", false);
  if (!move || !reason)
    return unexpected{!move ? move.error() : reason.error()};
  return moved(
    c, ask<move_answer>(*c.parts.actors, c.lead->mover, assay::reverse{{*move}, c.author, *reason})
  );
}

answer waive(const call& c) {
  auto implementation = text_at(c.body, "implementation");
  auto reason = text_at(c.body, "reason");
  auto hours = number_at(c.body, "hours", 24);
  if (!implementation || !reason)
    return unexpected{!implementation ? implementation.error() : reason.error()};
  if (!hours)
    return unexpected{hours.error()};
  if (*hours < 1 || *hours > 24)
    return invalid(
      "hours", std::to_string(*hours) + " is not from 1 to 24", "a waiver ends within a day"
    );
  const auto* gates = c.body.if_contains("gates");
  if (!gates || !gates->is_array())
    return invalid("gates", "is not a list", "give gate numbers, for example [4, 5]");
  ledger::waiver waiver{
    .id = "w-" + short_name(new_uuid7()),
    .implementation = {*implementation},
    .gates = {},
    .expires_at =
      {wall_now().value + std::chrono::milliseconds{std::chrono::hours{*hours}}.count()},
    .reason = *reason,
  };
  for (const auto& gate : gates->get_array()) {
    if (!gate.is_int64() || gate.get_int64() < 1 || gate.get_int64() > 8)
      return invalid(
        "gates", "holds something that is no gate", "gates are 1 to 8; 2, 4 and 5 can be waived"
      );
    waiver.gates.push_back(static_cast<std::uint8_t>(gate.get_int64()));
  }
  return put(c, std::move(waiver), *reason);
}

answer revoke(const call& c) {
  auto kind = text_at(c.body, "kind");
  auto name = text_at(c.body, "name");
  auto reason = text_at(c.body, "reason", false);
  for (const auto* text : {&kind, &name, &reason})
    if (!*text)
      return unexpected{text->error()};
  if (*kind == "qualification")
    return put(
      c, ledger::qualification_changed{{*name}, qualification::event::revoke, {}, *reason}, *reason
    );
  if (*kind == "key")
    return put(c, ledger::key_revoked{{*name}, *reason}, *reason);
  if (*kind == "host")
    return put(c, ledger::identity_revoked{*name, *reason}, *reason);
  if (*kind == "waiver")
    return put(c, ledger::waiver_ended{*name}, *reason);
  return invalid(
    "kind", "'" + *kind + "' cannot be revoked", "allowed: qualification, key, host, waiver"
  );
}

/// An operator's word for an adopted server: from then on it serves every project.
answer approve(const call& c) {
  auto artifact = text_at(c.body, "artifact");
  auto reason = text_at(c.body, "reason");
  if (!artifact || !reason)
    return unexpected{!artifact ? artifact.error() : reason.error()};
  auto read = read_now(*c.parts.engine);
  if (!read)
    return unexpected{read.error()};
  artifact_id id{*artifact};
  const auto* declared = ledger::find(read->tables->artifacts, id);
  const auto* state = ledger::find(read->tables->artifact_states, id);
  if (!declared || !state)
    return unexpected{problem{
      problem_kind::not_found,
      "there is no artifact '" + *artifact + "'",
      "artifact",
      "assay get artifacts lists them"}};
  if (declared->what.kind != catalog::artifact_kind::adopted || state->state != ledger::artifact_state::verified)
    return unexpected{problem{
      problem_kind::refused,
      "artifact '" + *artifact + "' is no adopted server that answers",
      "artifact",
      "other artifacts are verified by their files, and need nobody's word"}};
  return put(
    c,
    ledger::artifact_changed{
      id, state->manifest, ledger::artifact_state::verified, state->host, *reason},
    *reason,
    ledger::trust::verified
  );
}

} // namespace assay::app::admin
