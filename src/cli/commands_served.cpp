// Who served a route at an instant, and how the route came to be: from a node, or from an export
// where no node is. Both ways print what src/ledger/who_served.hpp says.

#include "src/cli/commands.hpp"
#include "src/cli/export_source.hpp"
#include "src/ledger/who_served.hpp"

#include <cstdio>

namespace assay::cli {

namespace {

/// Lines for people and fields for programs, as the admin API gives them.
struct answer {
  json::array lines;
  json::object fields;
};

result<wall_ms, problem> time_of(const std::string& text) {
  if (text == "now")
    return wall_now();
  auto at = ledger::parse_time(text);
  if (!at)
    return unexpected{problem{
      problem_kind::invalid,
      "'" + text + "' is no time",
      "--at",
      "now, or as RFC 3339 has it: 2026-12-02T09:14:03Z"}};
  return *at;
}

result<answer, problem> from_file(const std::string& file, const std::string& route, wall_ms at) {
  auto replayed = replay(file);
  if (!replayed)
    return unexpected{replayed.error()};
  auto found = ledger::who_served(**replayed, {route}, at);
  if (!found)
    return unexpected{found.error()};
  answer a;
  for (const auto& line : ledger::lines_of(*found))
    a.lines.emplace_back(line);
  for (const auto& field : ledger::describe(*found))
    a.fields[field.name] = field.value;
  return a;
}

result<answer, problem> from_node(const context& c, const std::string& route, wall_ms at) {
  auto got = c.server.get("routes/" + segment(route) + "/served?at_ms=" + std::to_string(at.value));
  if (!got)
    return unexpected{got.error()};
  return answer{got->at("lines").as_array(), got->at("served").as_object()};
}

result<json::array, problem>
changes_in(const std::string& file, const std::string& route, std::int64_t limit) {
  auto replayed = replay(file);
  if (!replayed)
    return unexpected{replayed.error()};
  auto found = ledger::route_history(**replayed, {route}, static_cast<std::size_t>(limit));
  if (!found)
    return unexpected{found.error()};
  json::array changes;
  for (const auto& row : ledger::rows_of(*found)) {
    json::object change;
    for (const auto& field : row)
      change[field.name] = field.value;
    changes.push_back(std::move(change));
  }
  return changes;
}

result<json::array, problem>
changes_at_node(const context& c, const std::string& route, std::int64_t limit) {
  auto got = c.server.get("routes/" + segment(route) + "/changes?limit=" + std::to_string(limit));
  if (!got)
    return unexpected{got.error()};
  return got->at("changes").as_array();
}

} // namespace

int who_served(const context& c, const served_options& options) {
  auto at = time_of(options.at);
  if (!at)
    return misuse(at.error());
  auto found = options.file.empty() ? from_node(c, options.route, *at)
                                    : from_file(options.file, options.route, *at);
  if (!found)
    return complain(found.error());
  if (c.how != format::table) {
    std::fputs(show_object(found->fields, c.how, c.where).c_str(), stdout);
    return 0;
  }
  for (const auto& line : found->lines)
    std::printf("%s\n", line.as_string().c_str());
  return 0;
}

int history(
  const context& c, const std::string& route, std::int64_t limit, const std::string& file
) {
  auto changes = file.empty() ? changes_at_node(c, route, limit) : changes_in(file, route, limit);
  if (!changes)
    return complain(changes.error());
  std::fputs(show_items(*changes, c.how, c.where).c_str(), stdout);
  return 0;
}

} // namespace assay::cli
