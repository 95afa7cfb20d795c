// Explanations as lines for terminals and as names and values for JSON.

#include "src/routing/explain.hpp"
#include "src/routing/words.hpp"

#include <algorithm>

namespace assay::routing {

namespace {

std::string percent(std::uint32_t bps) {
  auto hundredths = std::to_string(bps % 100);
  return std::to_string(bps / 100) + "." + (hundredths.size() < 2 ? "0" : "") + hundredths + " %";
}

std::string text_of(const std::vector<std::string>& table, std::uint32_t index) {
  return index < table.size() ? table[index] : "";
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

constexpr std::array<std::string_view, 11> flag_texts{
  "pinned",
  "sticky",
  "cost_acts_as_latency",
  "compatibility",
  "explored",
  "spilled",
  "share_spread",
  "admitted_from_queue",
  "rates_unknown",
  "rates_stale",
  "avoided",
};
static_assert(flag_texts.size() == static_cast<std::size_t>(trace_flag::avoided) + 1);

template <class Enum>
std::string list_of(bits set, Enum first, Enum last) {
  std::string text;
  for (auto i = static_cast<unsigned>(first); i <= static_cast<unsigned>(last); ++i)
    if (set.has(static_cast<Enum>(i)))
      text += (text.empty() ? "" : ",") + std::string{name(static_cast<Enum>(i))};
  return text;
}

std::string flags_of(bits set) {
  std::string text;
  for (std::size_t i = 0; i < flag_texts.size(); ++i)
    if (set.has(static_cast<trace_flag>(i)))
      text += (text.empty() ? "" : ",") + std::string{flag_texts[i]};
  return text;
}

void append(std::vector<std::string>& lines, const explained_implementation& i) {
  auto share = i.in_route
                 ? "share " + percent(i.share_bps) + " (route " + percent(i.in_route->floor)
                     + " to " + percent(i.in_route->ceiling) + (i.in_route->hard ? ", hard)" : ")")
                 : std::string{"not in the route"};
  lines.push_back(
    i.id.value + "  " + i.status + "  " + (i.eligible ? "eligible" : "refused") + "  " + share
  );
  for (const auto& g : i.gates)
    lines.push_back(
      "  " + std::to_string(static_cast<int>(g.what.gate)) + " "
      + padded(std::string{name(g.what.gate)}, 21) + padded(std::string{name(g.what.answer)}, 7)
      + g.text + (g.waiver.empty() ? "" : " [waiver " + g.waiver + "]")
    );
  for (const auto& e : i.endpoints)
    lines.push_back(
      "  at " + e.host + "  " + e.replica + "  " + e.phase + "  " + std::to_string(e.in_flight)
      + "/" + std::to_string(e.credits) + " in flight  " + e.standing + "  " + e.why
    );
}

} // namespace

std::vector<std::string> to_lines(const explanation& e) {
  std::vector<std::string> lines;
  lines.push_back("model " + e.model);
  lines.push_back("outcome: " + e.outcome);
  if (e.route_generation > 0)
    lines.push_back(
      "route generation " + std::to_string(e.route_generation) + ", policy " + e.policy
    );
  for (const auto& i : e.implementations)
    append(lines, i);
  for (const auto& note : e.notes)
    lines.push_back("note: " + note);
  for (const auto& signal : e.signals)
    lines.push_back("signals used, " + signal);
  return lines;
}

std::vector<name_value> to_pairs(const explanation& e) {
  std::vector<name_value> pairs;
  auto add = [&](std::string name, std::string value) {
    pairs.emplace_back(std::move(name), std::move(value));
  };
  add("model", e.model);
  add("outcome", e.outcome);
  add("policy", e.policy);
  add("route_generation", std::to_string(e.route_generation));
  for (std::size_t n = 0; n < e.implementations.size(); ++n) {
    const auto& i = e.implementations[n];
    auto at = "implementations." + std::to_string(n) + ".";
    add(at + "id", i.id.value);
    add(at + "pool", i.pool.value);
    add(at + "status", i.status);
    add(at + "eligible", i.eligible ? "true" : "false");
    add(at + "share_bps", std::to_string(i.share_bps));
    add(at + "predicted", i.predicted);
    if (i.in_route) {
      add(at + "floor_bps", std::to_string(i.in_route->floor));
      add(at + "ceiling_bps", std::to_string(i.in_route->ceiling));
      add(at + "hard", i.in_route->hard ? "true" : "false");
    }
    for (const auto& g : i.gates) {
      auto gate_at = at + "gates." + std::string{name(g.what.gate)} + ".";
      add(gate_at + "answer", std::string{name(g.what.answer)});
      add(gate_at + "reason", std::string{name(g.what.reason)});
      add(gate_at + "seen", std::to_string(g.what.seen));
      add(gate_at + "allowed", std::to_string(g.what.allowed));
      add(gate_at + "text", g.text);
      if (!g.waiver.empty())
        add(gate_at + "waiver", g.waiver);
    }
    for (std::size_t k = 0; k < i.endpoints.size(); ++k) {
      const auto& endpoint = i.endpoints[k];
      auto endpoint_at = at + "endpoints." + std::to_string(k) + ".";
      add(endpoint_at + "replica", endpoint.replica);
      add(endpoint_at + "host", endpoint.host);
      add(endpoint_at + "phase", endpoint.phase);
      add(endpoint_at + "standing", endpoint.standing);
      add(endpoint_at + "usable", endpoint.usable ? "true" : "false");
      add(endpoint_at + "in_flight", std::to_string(endpoint.in_flight));
      add(endpoint_at + "credits", std::to_string(endpoint.credits));
      add(endpoint_at + "text", endpoint.why);
    }
  }
  for (std::size_t n = 0; n < e.notes.size(); ++n)
    add("notes." + std::to_string(n), e.notes[n]);
  for (std::size_t n = 0; n < e.signals.size(); ++n)
    add("signals." + std::to_string(n), e.signals[n]);
  return pairs;
}

std::vector<name_value> to_pairs(const decision_ring::entry& e) {
  const auto& t = e.trace;
  const auto& names = *e.names;
  std::vector<name_value> pairs;
  auto add = [&](std::string name, std::string value) {
    if (!value.empty())
      pairs.emplace_back(std::move(name), std::move(value));
  };
  add("at_ms", std::to_string(t.at.value));
  add("outcome", std::string{name(t.outcome)});
  if (t.outcome == outcome_kind::refused) {
    const auto& row = contract::describe(t.failure);
    auto family = contract::describe(t.operation).family;
    add("status", std::to_string(contract::status_of(t.failure, family)));
    add("code", std::string{row.code});
  }
  add("model", text_of(names.models, t.model));
  add("implementation", text_of(names.implementations, t.implementation));
  add("endpoint", text_of(names.endpoints, t.endpoint));
  add("project", text_of(names.projects, t.project));
  add("key", text_of(names.keys, t.key));
  add("class", std::string{name(t.traffic)});
  add("operation", std::string{contract::describe(t.operation).name});
  add("task", std::string{name(t.task)});
  add("stream", t.stream ? "true" : "false");
  add("input_tokens_least", std::to_string(t.input_least));
  add("input_tokens_most", std::to_string(t.input_most));
  add("prompts", t.prompts > 1 ? std::to_string(t.prompts) : "");
  add("output_tokens_asked", t.output_tokens ? std::to_string(t.output_tokens) : "");
  add("policy", std::string{name(t.policy)});
  add("route_generation", std::to_string(t.route));
  add("snapshot_generation", std::to_string(t.snapshot));
  add("predicted_ms", t.predicted_ms ? std::to_string(t.predicted_ms) : "");
  add("expected_wait_ms", t.waited_for_ms ? std::to_string(t.waited_for_ms) : "");
  if (t.outcome == outcome_kind::chosen)
    add("standing", std::string{name(t.standing)});
  add("retries", t.retries ? std::to_string(t.retries) : "");
  if (t.ended) {
    add("ended", std::string{name(*t.ended)});
    add("answered_status", std::to_string(t.status));
    add("queued_ms", t.queued_ms ? std::to_string(t.queued_ms) : "");
    add("replica_first_ms", t.replica_first_ms ? std::to_string(t.replica_first_ms) : "");
    add("replica_total_ms", t.replica_total_ms ? std::to_string(t.replica_total_ms) : "");
  }
  add("flags", flags_of(t.flags));
  add("waived_gates", list_of(t.waived, gate::serves_task, gate::has_capacity));
  add("signals", list_of(t.signals, signal_class::portable, signal_class::vendor));
  add("considered", std::to_string(t.considered));
  add("refused", std::to_string(t.refused));
  for (std::size_t n = 0; n < std::min<std::size_t>(t.refused, t.refusals.size()); ++n) {
    const auto& r = t.refusals[n];
    add(
      "refusals." + std::to_string(n),
      text_of(names.implementations, r.implementation) + ": " + std::string{name(r.gate)} + " "
        + std::string{name(r.reason)}
    );
  }
  if (t.refused > t.refusals.size())
    add("refusals_left_out", std::to_string(t.refused - t.refusals.size()));
  if (t.outcome == outcome_kind::refused && t.nearest.refuses())
    add("nearest", std::string{name(t.nearest.gate)} + ": " + to_text(t.nearest));
  return pairs;
}

std::vector<std::string> to_lines(const decision_ring::entry& e) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : to_pairs(e))
    lines.push_back(padded(name, 22) + value);
  return lines;
}

} // namespace assay::routing
