// Why: for a request that could be, and for one that was.

#include "src/routing/explain.hpp"

#include "src/app/admin/admin.hpp"
#include "src/app/asking.hpp"
#include "src/ledger/host_duty.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <future>
#include <iterator>
#include <set>

namespace assay::app::admin {

namespace {

json::array lines_of(const std::vector<std::string>& lines) {
  json::array all;
  for (const auto& line : lines)
    all.emplace_back(line);
  return all;
}

json::object pairs_of(const std::vector<routing::name_value>& pairs) {
  json::object all;
  for (const auto& [name, value] : pairs)
    all[name] = value;
  return all;
}

json::array implementations_of(const routing::explanation& e) {
  json::array all;
  for (const auto& one : e.implementations) {
    json::array gates;
    for (const auto& gate : one.gates)
      gates.push_back(json::object{
        {"gate", static_cast<int>(gate.what.gate)},
        {"name", routing::name(gate.what.gate)},
        {"verdict", routing::name(gate.what.answer)},
        {"text", gate.text}});
    all.push_back(json::object{
      {"implementation", one.id.value},
      {"pool", one.pool.value},
      {"status", one.status},
      {"share_bps", one.share_bps},
      {"eligible", one.eligible},
      {"predicted", one.predicted},
      {"gates", std::move(gates)}});
  }
  return all;
}

problem missed(http::ingress_server::decision_miss why, const std::string& id) {
  using miss = http::ingress_server::decision_miss;
  auto what = why == miss::overwritten
                ? "decision '" + id + "' was overwritten: the ring keeps the last ones only"
              : why == miss::never_made
                ? "decision '" + id + "' was never made"
                : "decision '" + id + "' is of another ingress or an earlier run of this one";
  return {problem_kind::not_found, what, {}, "x-assay-decision of a recent answer names one"};
}

std::string name_at(const std::vector<std::string>& names, std::uint32_t index) {
  return index < names.size() ? names[index] : std::string{};
}

/// The ring holds what was decided, not every gate of every implementation: those are asked again.
std::optional<routing::explanation>
as_things_are_now(const call& c, const routing::decision_ring::entry& entry) {
  const auto& trace = entry.trace;
  explain_question question{
    .model = name_at(entry.names->models, trace.model),
    .key = name_at(entry.names->keys, trace.key),
    .shape = {},
    .operation = trace.operation};
  question.shape.prompts = trace.prompts;
  question.shape.input = {trace.input_least, trace.input_most};
  if (trace.output_tokens > 0)
    question.shape.output_tokens = trace.output_tokens;
  question.shape.stream = trace.stream;
  auto got = ask<explain_answer>(*c.parts.actors, c.parts.router, std::move(question));
  if (!got || !got->what)
    return {};
  return *got->what;
}

/// Where the ring is that holds the decision: ids begin with the name of their ingress, which is
/// its member's. Nothing: here, or nobody knows.
const ledger::member* holder_of(const call& c, const ledger::tables& t) {
  const ledger::member* best = nullptr;
  for (const auto& m : t.head.members)
    if (c.path[1].starts_with(m.name + "-") && (!best || m.name.size() > best->name.size()))
      best = &m;
  return best && best->name != c.parts.settings.name ? best : nullptr;
}

/// An ingress that can be asked, for a coordinator that has none.
const ledger::member* any_ingress(const call& c, const ledger::tables& t) {
  for (const auto& m : t.head.members)
    if (!m.ingress.empty() && c.parts.group->is_reached(m.id))
      return &m;
  return nullptr;
}

/// Its lines, and why hosts that could serve it are kept from work.
std::vector<std::string> told_lines(const call& c, const routing::explanation& e) {
  auto lines = routing::to_lines(e);
  std::set<pool_id> pools;
  for (const auto& one : e.implementations)
    pools.insert(one.pool);
  std::ranges::move(
    ledger::kept_lines(*tables_of(*c.parts.engine->current()), pools), std::back_inserter(lines)
  );
  return lines;
}

/// Another member's answer, as it gave it.
answer ask_member(const call& c, const ledger::member& whom, const http::service_request& request) {
  auto got = c.parts.forwarding->ask(whom.id, request, c.author);
  if (!got)
    return unexpected{got.error()};
  return reply{{}, std::move(got->body), std::move(got->content_type), got->status};
}

} // namespace

answer explain(const call& c) {
  if (!c.parts.ingress && c.parts.group) {
    auto tables = tables_of(*c.parts.engine->current());
    if (const auto* whom = any_ingress(c, *tables))
      return ask_member(c, *whom, {"POST", "/assay/v1/explain", {}, json::serialize(c.body), {}});
  }
  auto model = text_at(c.body, "model");
  auto key = text_at(c.body, "key", false);
  auto input = number_at(c.body, "input_tokens", 0);
  auto output = number_at(c.body, "output_tokens", 0);
  if (!model || !key)
    return unexpected{!model ? model.error() : key.error()};
  if (!input || !output)
    return unexpected{!input ? input.error() : output.error()};
  constexpr std::int64_t tokens_most = 0xffff'ffff;
  if (*input > tokens_most || *output > tokens_most)
    return unexpected{
      problem{problem_kind::invalid, "no request has so many tokens", "input_tokens", {}}};
  auto stream = flag_at(c.body, "stream");
  if (!stream)
    return unexpected{stream.error()};
  explain_question question{.model = *model, .key = *key, .shape = {}, .operation = {}};
  auto tokens = static_cast<std::uint32_t>(*input);
  question.shape.input = {tokens, tokens};
  if (*output > 0)
    question.shape.output_tokens = static_cast<std::uint32_t>(*output);
  question.shape.stream = *stream;
  auto got = ask<explain_answer>(*c.parts.actors, c.parts.router, std::move(question));
  if (!got)
    return unexpected{got.error()};
  if (!got->what)
    return unexpected{got->what.error()};
  const auto& e = *got->what;
  json::object decision{
    {"model", e.model},
    {"policy", e.policy},
    {"route_generation", e.route_generation},
    {"outcome", e.outcome}};
  return reply{
    {{"decision", std::move(decision)},
     {"implementations", implementations_of(e)},
     {"lines", lines_of(told_lines(c, e))}},
    {},
    {}};
}

answer decision(const call& c) {
  if (c.parts.forwarding) {
    auto tables = tables_of(*c.parts.engine->current());
    if (const auto* holder = holder_of(c, *tables))
      return ask_member(c, *holder, {"GET", "/assay/v1/decisions/" + c.path[1], {}, {}, {}});
  }
  if (!c.parts.ingress)
    return unexpected{problem{
      problem_kind::not_found,
      "no ingress of this cluster made decision '" + c.path[1] + "'",
      {},
      "x-assay-decision of an answer holds it"}};
  using found = http::ingress_server::found_decision;
  auto promise = std::make_shared<std::promise<found>>();
  auto future = promise->get_future();
  c.parts.ingress->find_decision({c.path[1]}, [promise](found entry) {
    promise->set_value(std::move(entry));
  });
  if (future.wait_for(limits::proposal_patience) != std::future_status::ready)
    return unexpected{
      problem{problem_kind::unavailable, "the ingress did not answer", {}, "try again"}};
  auto entry = future.get();
  if (!entry)
    return unexpected{missed(entry.error(), c.path[1])};
  auto lines = lines_of(routing::to_lines(*entry));
  auto implementations = json::array{};
  if (auto now = as_things_are_now(c, *entry)) {
    lines.emplace_back("");
    lines.emplace_back("the same request, as things are now:");
    for (const auto& line : told_lines(c, *now))
      lines.emplace_back(line);
    implementations = implementations_of(*now);
  }
  return reply{
    {{"decision", pairs_of(routing::to_pairs(*entry))},
     {"implementations", std::move(implementations)},
     {"lines", std::move(lines)}},
    {},
    {}};
}

} // namespace assay::app::admin
