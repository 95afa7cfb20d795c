// What was seen of an engine, judged by its profile. No clock and no socket: the prober asks, these
// say what the answer means.

#include "src/base/limits.hpp"
#include "src/catalog/json_path.hpp"
#include "src/catalog/profile.hpp"
#include "src/catalog/profile_words.hpp"
#include "src/catalog/slots.hpp"

#include <algorithm>

namespace assay::catalog {

namespace {

bool body_fits(
  const observation& o, std::string_view body, const std::map<std::string, std::string>& slots
) {
  if (o.json.empty())
    return !o.pattern || o.pattern->found_in(body);
  const auto value = read_json(body, o.json);
  if (!value)
    return false;
  if (o.pattern)
    return o.pattern->found_in(*value);
  if (!o.equals)
    return true;
  const auto wanted = fill_template(*o.equals, slots);
  return wanted && *wanted == *value;
}

bool fits(const exit_rule& rule, run_phase phase, const exit_status& how) {
  if (rule.phase && *rule.phase != phase)
    return false;
  if (rule.code)
    return how.code == rule.code;
  return how.signal && how.signal == words::find(words::exit_signals(), rule.signal);
}

std::string plain_meaning(const exit_status& how) {
  if (how.signal)
    return "killed_by_signal_" + std::to_string(*how.signal);
  if (how.code)
    return "exited_with_" + std::to_string(*how.code);
  return "exited_unseen";
}

} // namespace

bool matches(
  const observation& o, const sighting& seen, const std::map<std::string, std::string>& slots
) {
  const bool answered = seen.what == sighting::outcome::answered;
  if (o.method == probe_method::connect)
    return o.refused ? seen.what == sighting::outcome::refused : answered;
  if (!answered || std::ranges::find(o.status, seen.status) == o.status.end())
    return false;
  return body_fits(o, seen.body, slots);
}

std::optional<std::string> read_answer(const question& q, std::string_view body) {
  auto value = read_json(body, q.json);
  if (value && q.equals && *value != *q.equals)
    return {};
  return value;
}

exit_meaning classify_exit(const runtime_profile& p, run_phase phase, const exit_status& how) {
  const bool failure = phase != run_phase::stopping;
  const auto rule =
    std::ranges::find_if(p.exits, [&](const exit_rule& r) { return fits(r, phase, how); });
  // An end that was asked for needs no remedy, whatever a rule for any phase says.
  if (rule != p.exits.end())
    return {rule->means, failure ? rule->remedy : remedy::none, rule->ambiguous, failure};
  if (!failure)
    return {"stopped", remedy::none, false, false};
  return {plain_meaning(how), remedy::restart, false, true};
}

const log_rule* match_log(const runtime_profile& p, std::string_view line) {
  const auto seen = line.substr(0, limits::log_line_bytes);
  for (const auto& rule : p.logs)
    if (rule.pattern.found_in(seen))
      return &rule;
  return nullptr;
}

result<std::string, problem>
fill_template(std::string_view text, const std::map<std::string, std::string>& slots, bool json) {
  auto filled = replace_slots(text, [&](const std::string& slot) -> std::optional<std::string> {
    for (const auto& [name, value] : slots)
      if (canonical_slot(name) == slot)
        return json ? json_escaped(value) : value;
    return {};
  });
  if (filled)
    return std::move(*filled);
  return unexpected{problem{
    problem_kind::invalid,
    "the slot `" + filled.error() + "` has no value",
    std::string{text.substr(0, limits::name_bytes)},
    "give it a value, or a default in the runtime profile"}};
}

} // namespace assay::catalog
