// A model with its implementations, and an implementation alone.

#include "src/base/limits.hpp"
#include "src/catalog/keys.hpp"
#include "src/catalog/kinds.hpp"
#include "src/catalog/reader.hpp"

#include <algorithm>
#include <limits>

namespace assay::catalog {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t most_tokens = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view implementation_form = "MODEL[@VERSION]/POOL/ARTIFACT[#PROFILE]";

// -- parts that several kinds share -----------------------------------------------------------

void read_limits(mapping_reader& parent, contract::request_limits& into) {
  auto r = parent.mapping("limits", keys::request_limits);
  if (!r)
    return;
  r->count("context-tokens", into.context_tokens, 1, most_tokens);
  r->count("input-tokens", into.input_tokens, 1, most_tokens);
  r->count("output-tokens", into.output_tokens, 1, most_tokens);
  r->bytes("body", into.body_bytes, limits::body_bytes);
  const auto fits = [&](std::string_view key, std::uint32_t tokens) {
    if (into.context_tokens != 0 && tokens > into.context_tokens)
      r->refuse(
        key,
        std::to_string(tokens) + " tokens are more than the context of "
          + std::to_string(into.context_tokens),
        "the context holds input and output together; lower this or raise `context-tokens`"
      );
  };
  fits("input-tokens", into.input_tokens);
  fits("output-tokens", into.output_tokens);
}

void read_replicas(mapping_reader& parent, replica_bounds& into) {
  const auto* n = parent.find("replicas");
  if (n == nullptr)
    return;
  if (n->kind == node_kind::scalar) {
    if (parent.count("replicas", into.max, 1, 10'000))
      into.min = into.max;
    return;
  }
  auto r = parent.mapping("replicas", keys::replicas);
  if (!r)
    return;
  r->count("min", into.min, 0, 10'000);
  if (!r->count("max", into.max, 1, 10'000) && !r->has("max"))
    into.max = std::max(into.min, 1u);
  if (into.min > into.max)
    r->refuse(
      "min",
      "the floor " + std::to_string(into.min) + " is over the ceiling " + std::to_string(into.max),
      "0 <= min <= max"
    );
}

/// Slots are spelled with hyphens; a raw flag keeps its spelling.
void read_args(mapping_reader& parent, std::map<std::string, std::string>& into) {
  std::map<std::string, std::string> read;
  if (!parent.table("args", read))
    return;
  for (auto& [key, value] : read) {
    const auto name = key.starts_with('-') ? key : canonical_key(key);
    if (!is_name(name))
      parent.refuse(
        "args",
        in_quotes(key) + " is neither a slot nor a flag",
        "write a slot of the runtime profile, like `threads`, or a flag, like `--threads`"
      );
    else if (!into.emplace(name, std::move(value)).second)
      parent.refuse("args", "the slot " + in_quotes(name) + " is given twice", "keep one of both");
  }
}

void read_deployment(mapping_reader& r, implementation& into) {
  r.name("profile", into.profile);
  r.choice(
    "status",
    into.wanted,
    parse_implementation_status,
    {"draft", "canary", "production", "batch-only", "suspended", "retired"}
  );
  read_replicas(r, into.replicas);
  r.count("devices", into.devices, 0, 1'024);
  r.count("slots", into.slots, 1, 65'536);
  read_limits(r, into.limits);
  read_args(r, into.args);
}

// -- model ------------------------------------------------------------------------------------

constexpr std::pair<std::string_view, std::string_view> metric_names[] = {
  {"ttft", "ttft"},
  {"inter-token", "inter_token"},
  {"total", "total"},
  {"availability", "availability"},
};

void read_objective(mapping_reader& r, std::vector<contract::objective>& into) {
  contract::objective read;
  std::string_view metric;
  if (r.require("metric", "write ttft, inter-token, total or availability"))
    r.choice("metric", metric, std::span{metric_names});
  read.metric = metric;
  const bool availability = metric == "availability";
  if (availability && r.has("limit"))
    r.refuse("limit", "availability has no limit", "remove it; `share` says how much is promised");
  if (!availability && r.require("limit", "write a duration, like `2 s`"))
    r.duration("limit", read.limit, 1ms, 24h);
  if (r.require("share", "write a percentage, like `95 %`"))
    r.share("share", read.share_ppm, 1, 1'000'000);
  std::chrono::milliseconds window{};
  if (r.require("window", "write a duration, like `5 min`"))
    r.duration("window", window, 1min, 24h * 90);
  read.window = std::chrono::duration_cast<std::chrono::seconds>(window);
  if (read.window != window)
    r.refuse("window", "the window has a part of a second", "write whole seconds");
  into.push_back(std::move(read));
}

void read_contract(mapping_reader& parent, contract::service_contract& into) {
  auto r = parent.mapping("contract", keys::contract);
  if (!r)
    return;
  r->choice(
    "task", into.task, contract::parse_task, {"chat", "completion", "embedding", "rerank", "infer"}
  );
  r->flag("streaming", into.streaming);
  r->flag("cancellation", into.cancellation);
  r->names("features", into.features);
  read_limits(*r, into.limits);
  r->name("data-class", into.data_class);
  for (auto& objective : r->mappings("objectives", keys::objective))
    read_objective(objective, into.objectives);
  r->choice("degraded", into.degraded, contract::parse_degraded_rule, {"keep", "shrink", "stop"});
  r->flag("queue-keepalive", into.queue_keepalive);
  r->flag("metadata", into.expose_metadata);
  if (auto safety = r->mapping("safety", keys::safety)) {
    safety->text("policy", into.safety_policy);
    safety->names("requires", into.safety_requires);
    if (!into.safety_requires.empty())
      safety->refuse(
        "requires",
        "nothing here can see to it that a filter or another model is asked as well",
        "leave it out, and put the filter before the ingress; `policy` is recorded and shown"
      );
  }
}

struct entry {
  implementation value;
  std::string artifact_name;
  source_place place;
};

std::vector<entry> read_entries(mapping_reader& parent, const model& owner) {
  std::vector<entry> entries;
  for (auto& r : parent.mappings("implementations", keys::implementation_entry)) {
    entry read{{.model = owner.id}, {}, r.place()};
    if (r.require("pool", "name the pool that runs it"))
      r.name("pool", read.value.pool);
    if (r.require("artifact", "name the artifact that runs there"))
      r.name("artifact", read.artifact_name);
    read.value.artifact = make_artifact_id(owner.id, read.artifact_name);
    read_deployment(r, read.value);
    entries.push_back(std::move(read));
  }
  return entries;
}

/// The profile is part of an id only when two share one artifact on one pool.
void name_entries(std::vector<entry>& entries) {
  const auto shares = [&](const entry& e) {
    return std::ranges::count_if(
             entries,
             [&](const entry& other) {
               return other.value.pool == e.value.pool && other.artifact_name == e.artifact_name;
             }
           )
           > 1;
  };
  std::vector<implementation_id> ids;
  for (const auto& e : entries) {
    // Without a pool or artifact there is no id; that was told already.
    const bool whole = !e.value.pool.value.empty() && !e.artifact_name.empty();
    const auto profile = shares(e) && e.value.profile ? e.value.profile->value : std::string{};
    ids.push_back(
      whole ? make_implementation_id(e.value.model, e.value.pool, e.artifact_name, profile)
            : implementation_id{}
    );
  }
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i].value.id = std::move(ids[i]);
}

} // namespace

std::vector<declared> read_model(mapping_reader& r) {
  model read;
  r.name("model", read.name);
  r.count("version", read.version, 1, 1'000'000);
  read.id = make_model_id(read.name, read.version);
  read_contract(r, read.promises);
  r.name("evaluation-policy", read.evaluation_policy);
  r.text("owner", read.owner);
  auto entries = read_entries(r, read);
  const auto* list = r.find("implementations");
  if (list != nullptr && list->kind == node_kind::sequence && list->items.empty())
    r.refuse(
      "implementations",
      "the list names no implementation",
      "list at least one pool and artifact, or leave the key out; without one nothing can serve it"
    );
  name_entries(entries);
  std::vector<declared> all;
  all.push_back({std::move(read), r.place_of("model")});
  for (auto& e : entries)
    all.push_back({std::move(e.value), std::move(e.place)});
  return all;
}

declaration read_implementation(mapping_reader& r) {
  implementation read;
  std::string id;
  if (r.text("implementation", id)) {
    if (const auto parts = split_implementation_id(id)) {
      read.id = {id};
      read.model = parts->model;
      read.pool = parts->pool;
      read.artifact = make_artifact_id(parts->model, parts->artifact_name);
      read.profile = parts->profile;
    } else {
      r.refuse(
        "implementation",
        in_quotes(id) + " is no implementation id",
        "write " + std::string{implementation_form} + ", each part a name of at most 64 bytes"
      );
    }
  }
  const auto from_id = read.profile;
  read_deployment(r, read);
  if (from_id && read.profile != from_id)
    r.refuse(
      "profile",
      "the id names the profile " + in_quotes(from_id->value),
      "leave the key out, or write the same name"
    );
  return read;
}

} // namespace assay::catalog
