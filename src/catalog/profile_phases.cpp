// How the phases of an engine are seen from outside.

#include "src/catalog/json_path.hpp"
#include "src/catalog/keys.hpp"
#include "src/catalog/profile_parts.hpp"
#include "src/catalog/profile_words.hpp"

namespace assay::catalog::parts {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t most_times = 1'000;

void read_status(mapping_reader& r, std::vector<int>& into) {
  const auto* n = r.find("status");
  if (n == nullptr) {
    into = {200};
    return;
  }
  const auto refuse = [&](const node& at) {
    r.refuse_at(
      at, r.path_of("status"), "this is no HTTP status", "write 100 to 599, or a list of them"
    );
  };
  const auto read = [&](const node& at) {
    const auto number = parse_count(at.text);
    if (at.kind != node_kind::scalar || !number || *number < 100 || *number > 599)
      return refuse(at);
    into.push_back(static_cast<int>(*number));
  };
  if (n->kind != node_kind::sequence)
    return read(*n);
  if (n->items.empty())
    return refuse(*n);
  for (const auto& item : n->items)
    read(item);
}

void read_connect(mapping_reader& r, observation& into) {
  r.choice("connect", into.refused, words::connect_answers());
  for (const auto key : {"body", "status", "json", "equals", "pattern"})
    if (r.has(key))
      r.refuse(key, "a bare connection has no answer to look at", "remove it, or use `get`");
}

void read_http(mapping_reader& r, observation& into) {
  const auto key = into.method == probe_method::post ? "post" : "get";
  read_path(r, key, into.path);
  if (r.text("body", into.body) && into.method != probe_method::post)
    r.refuse("body", "only `post` has a body", "remove it, or use `post`");
  if (!into.body.empty() && !is_json_template(into.body))
    r.refuse("body", "the body is not JSON", "write JSON; slots stand in texts or for numbers");
  read_status(r, into.status);
  read_json_path(r, into.json);
  read_optional_text(r, "equals", into.equals);
  into.pattern = read_pattern(r, "pattern");
  if (into.equals && into.json.empty())
    r.refuse("equals", "there is no path to compare", "add `json`, or use `pattern`");
  if (into.equals && into.pattern)
    r.refuse("pattern", "`equals` and `pattern` exclude each other", "keep one of both");
}

observation read_observation(mapping_reader& r) {
  observation read;
  const auto given = r.has("get") + r.has("post") + r.has("connect");
  if (given != 1) {
    r.refuse("get", "an observation asks one thing", "write one of `get`, `post`, `connect`");
    return read;
  }
  read.method = r.has("connect") ? probe_method::connect
                : r.has("post")  ? probe_method::post
                                 : probe_method::get;
  if (read.method == probe_method::connect)
    read_connect(r, read);
  else
    read_http(r, read);
  r.duration("timeout", read.timeout, 1ms, 10min);
  r.count("failures", read.failures, 1, most_times);
  return read;
}

std::vector<observation> read_observations(mapping_reader& r, std::string_view key) {
  std::vector<observation> all;
  for (auto& one : r.mappings(key, keys::profile_observation))
    all.push_back(read_observation(one));
  return all;
}

void read_cold_start(mapping_reader& parent, cold_start& into) {
  auto r = parent.mapping("cold-start", keys::profile_cold_start);
  if (!r)
    return;
  r->duration("limit", into.limit, 1s, 24h);
  std::vector<std::string> typical;
  if (!r->texts("typical", typical))
    return;
  const auto from = parse_duration(typical.empty() ? "" : typical.front());
  const auto to = parse_duration(typical.empty() ? "" : typical.back());
  if (typical.size() != 2 || !from || !to || *from > *to || *to > into.limit)
    return r->refuse(
      "typical",
      "this is no range of durations within the limit",
      "write the usual least and most, like `[1 s, 2 min]`"
    );
  into.typical_min = *from;
  into.typical_max = *to;
}

} // namespace

void read_phases(mapping_reader& parent, phase_rules& into) {
  if (!parent.require("phases", "say how to see that the engine is ready: `ready` and `deep`"))
    return;
  auto r = parent.mapping("phases", keys::profile_phases);
  if (!r)
    return;
  into.loading = read_observations(*r, "loading");
  r->require("ready", "say what to ask to see that the engine has loaded");
  if (auto ready = r->mapping("ready", keys::profile_observation))
    into.ready = read_observation(*ready);
  r->count("ready-times", into.ready_times, 1, 100);
  if (auto live = r->mapping("live", keys::profile_observation))
    into.live = read_observation(*live);
  r->require("deep", "say what to ask to see one real generation");
  if (auto deep = r->mapping("deep", keys::profile_observation))
    into.deep = read_observation(*deep);
  if (into.deep.method == probe_method::connect)
    r->refuse("deep", "a connection proves no generation", "use `post`");
  into.saturated = read_observations(*r, "saturated");
  into.stopping = read_observations(*r, "stopping");
  read_cold_start(*r, into.cold_start);
}

} // namespace assay::catalog::parts
