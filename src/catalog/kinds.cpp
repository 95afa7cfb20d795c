#include "src/catalog/kinds.hpp"

#include "src/base/limits.hpp"
#include "src/catalog/keys.hpp"
#include "src/catalog/profile_reader.hpp"
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
        quoted(key) + " is neither a slot nor a flag",
        "write a slot of the runtime profile, like `threads`, or a flag, like `--threads`"
      );
    else if (!into.emplace(name, std::move(value)).second)
      parent.refuse("args", "the slot " + quoted(name) + " is given twice", "keep one of both");
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

// -- implementation ---------------------------------------------------------------------------

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
        quoted(id) + " is no implementation id",
        "write " + std::string{implementation_form} + ", each part a name of at most 64 bytes"
      );
    }
  }
  const auto from_id = read.profile;
  read_deployment(r, read);
  if (from_id && read.profile != from_id)
    r.refuse(
      "profile",
      "the id names the profile " + quoted(from_id->value),
      "leave the key out, or write the same name"
    );
  return read;
}

// -- artifact ---------------------------------------------------------------------------------

bool is_relative_path(std::string_view path) {
  if (path.empty() || path.size() > 1'024 || path.back() == '/')
    return false;
  while (!path.empty()) {
    const auto part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..")
      return false;
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return true;
}

void read_file(mapping_reader& r, std::vector<artifact_file>& into) {
  artifact_file read;
  if (r.require("path", "name the file under the artifact's location") && r.text("path", read.path)
      && !is_relative_path(read.path))
    r.refuse(
      "path",
      quoted(read.path) + " is no path under the location",
      "write a relative path without `.` or `..` parts"
    );
  if (r.require("sha256", "write its digest, as `sha256sum FILE` prints it"))
    r.hash("sha256", read.sha256);
  r.bytes("size", read.bytes, std::uint64_t{1} << 50);
  const auto twice = std::ranges::any_of(into, [&](const auto& f) { return f.path == read.path; });
  if (twice && !read.path.empty())
    r.refuse("path", "the file " + quoted(read.path) + " is listed twice", "keep one of both");
  into.push_back(std::move(read));
}

void read_owner_model(mapping_reader& r, artifact& into, std::string_view name) {
  std::string model;
  if (!r.require("model", "name the model whose artifact this is"))
    return;
  if (!r.text("model", model))
    return;
  if (!split_model_id(model)) {
    r.refuse(
      "model",
      quoted(model) + " is no model",
      "write NAME, or NAME@VERSION from version 2 on; a name has the letters A-Z a-z, digits, `.`, "
      "`_`, `-`"
    );
    return;
  }
  into.model = {model};
  into.id = make_artifact_id(into.model, name);
}

declaration read_artifact(mapping_reader& r) {
  artifact read;
  std::string name;
  r.name("artifact", name);
  read_owner_model(r, read, name);
  if (r.require(
        "kind", "write gguf, huggingface, onnx, engine, neff, stablehlo, repository or adopted"
      ))
    r.choice(
      "kind",
      read.kind,
      parse_artifact_kind,
      {"gguf", "huggingface", "onnx", "engine", "neff", "stablehlo", "repository", "adopted"}
    );
  const bool adopted = read.kind == artifact_kind::adopted;
  if (!adopted)
    r.require("location", "write the directory that holds its files on every host of the pool");
  if (r.text("location", read.location) && !read.location.starts_with('/'))
    r.refuse("location", quoted(read.location) + " is no absolute path", "begin it with `/`");
  const auto* list = r.find("files");
  if (!adopted && (list == nullptr || (list->kind == node_kind::sequence && list->items.empty())))
    r.refuse(
      "files",
      "no file is listed",
      "list each file with `path` and `sha256`: an artifact is its files, not its place"
    );
  for (auto& file : r.mappings("files", keys::artifact_file))
    read_file(file, read.files);
  std::ranges::sort(read.files);
  r.name("profile", read.profile);
  r.text("licence", read.licence);
  r.text("source", read.source);
  return read;
}

// -- the small kinds --------------------------------------------------------------------------

constexpr std::pair<std::string_view, bool> plaintext_words[] = {
  {"refused", false}, {"accepted", true}};

declaration read_pool(mapping_reader& r) {
  pool read;
  r.name("pool", read.name);
  if (r.require("family", "write cpu, nvidia, amd, neuron, tpu or plugin"))
    r.choice(
      "family", read.family, parse_family, {"cpu", "nvidia", "amd", "neuron", "tpu", "plugin"}
    );
  r.flag("compatibility", read.compatibility);
  r.choice("plaintext", read.plaintext_accepted, std::span{plaintext_words});
  r.names("data-classes", read.data_classes);
  r.table("labels", read.labels);
  for (const auto& [label, value] : read.labels)
    if (label.size() > limits::name_bytes)
      r.refuse("labels", quoted(label) + " is too long a label", "at most 64 bytes are allowed");
  return read;
}

declaration read_policy(mapping_reader& r) {
  policy read;
  r.name("policy", read.name);
  if (r.require("suite", "name the suite that is run"))
    r.name("suite", read.suite);
  if (r.require("score-at-least", "write the score's lower bound as a percentage, like `40 %`"))
    r.share("score-at-least", read.score_at_least_ppm, 0, 1'000'000);
  r.share("confidence", read.confidence_ppm, 500'000, 999'999);
  r.count("items-at-least", read.items_at_least, 1, 1'000'000);
  r.count("distinct-answers-at-least", read.distinct_answers_at_least, 1, 1'000'000);
  if (read.distinct_answers_at_least > read.items_at_least)
    r.refuse(
      "distinct-answers-at-least",
      "so many distinct answers do not come from " + std::to_string(read.items_at_least) + " items",
      "lower this or raise `items-at-least`"
    );
  std::chrono::milliseconds valid_for = read.valid_for;
  r.duration("valid-for", valid_for, 1min, 24h * 3'650);
  read.valid_for = std::chrono::duration_cast<std::chrono::seconds>(valid_for);
  if (read.valid_for != valid_for)
    r.refuse("valid-for", "the time has a part of a second", "write whole seconds");
  money ceiling;
  if (r.price("cost-ceiling", ceiling)) {
    read.cost_ceiling_nano_per_unit = ceiling.nano;
    read.cost_currency = ceiling.currency;
  }
  r.flag("suspend-on-drift", read.suspend_on_drift);
  r.count("approvals", read.approvals, 1, 2);
  return read;
}

declaration read_project(mapping_reader& r) {
  project read;
  r.name("project", read.name);
  r.names("data-classes", read.data_classes);
  return read;
}

constexpr std::pair<std::string_view, contract::traffic_class> key_classes[] = {
  {"interactive", contract::traffic_class::interactive},
  {"batch", contract::traffic_class::batch},
};

declaration read_key(mapping_reader& r) {
  key read;
  r.name("key", read.name);
  if (r.require("project", "name the project that the key belongs to"))
    r.name("project", read.project);
  r.choice("class", read.traffic, std::span{key_classes});
  r.names("models", read.models);
  return read;
}

// -- documents that stay text -----------------------------------------------------------------

std::optional<std::string>
read_name_of_text(const yaml_document& document, std::string_view kind, complaints& out) {
  const auto& first = document.root.entries.front();
  const auto at = document.place_of(first.value);
  if (first.value.kind == node_kind::scalar && is_name(first.value.text))
    return first.value.text;
  out.add(
    at,
    kind,
    first.value.kind == node_kind::scalar ? quoted(first.value.text) + " is no name"
                                          : std::string{kind_word(first.value)} + " is no name",
    "a name has 1 to 64 of the letters A-Z a-z, the digits and `.`, `_`, `-`"
  );
  return {};
}

std::vector<declared> read_suite(const yaml_document& document, complaints& out) {
  auto name = read_name_of_text(document, "suite", out);
  if (!name)
    return {};
  suite_document read{{std::move(*name)}, document.text, sha256(document.text)};
  return {{std::move(read), document.place_of(document.root.entries.front().value)}};
}

std::vector<declared> read_profile_text(const yaml_document& document, complaints& out) {
  const auto profile = read_profile(document, out);
  if (!profile)
    return {};
  profile_document read{profile->id, document.text, sha256(document.text)};
  return {{std::move(read), document.place_of(document.root.entries.front().value)}};
}

// -- which kind it is -------------------------------------------------------------------------

struct kind_row {
  std::string_view word;
  const key_table* table; ///< Null: the document stays text.
  declaration (*one)(mapping_reader&);
  std::vector<declared> (*many)(mapping_reader&);
  std::vector<declared> (*whole)(const yaml_document&, complaints&);
};

constexpr kind_row kinds[] = {
  {"pool", &keys::pool, read_pool, nullptr, nullptr},
  {"model", &keys::model, nullptr, read_model, nullptr},
  {"logical-model", &keys::model, nullptr, read_model, nullptr},
  {"artifact", &keys::artifact, read_artifact, nullptr, nullptr},
  {"implementation", &keys::implementation, read_implementation, nullptr, nullptr},
  {"runtime-profile", nullptr, nullptr, nullptr, read_profile_text},
  {"suite", nullptr, nullptr, nullptr, read_suite},
  {"policy", &keys::policy, read_policy, nullptr, nullptr},
  {"project", &keys::project, read_project, nullptr, nullptr},
  {"key", &keys::key, read_key, nullptr, nullptr},
};

constexpr std::string_view kind_list =
  "pool, model, artifact, implementation, runtime-profile, suite, policy, project, key";

const kind_row* find_kind(std::string_view word) {
  const auto* at = std::ranges::find(kinds, word, &kind_row::word);
  return at == std::end(kinds) ? nullptr : at;
}

void tell_no_kind(const yaml_document& document, const node_entry& first, complaints& out) {
  std::vector<std::string_view> words;
  for (const auto& row : kinds)
    words.push_back(row.word);
  auto what = "the first key " + quoted(first.key) + " names no kind";
  const auto later = std::ranges::find_if(document.root.entries, [](const node_entry& e) {
    return find_kind(canonical_key(e.key)) != nullptr;
  });
  if (const auto near = nearest(canonical_key(first.key), words); !near.empty())
    what += "; did you mean `" + near + "`?";
  else if (later != document.root.entries.end())
    what += "; put " + quoted(later->key) + " first, if that is the kind";
  out.add(
    {document.file, first.line, first.column},
    {},
    std::move(what),
    "the first key of a document is its kind with its name: " + std::string{kind_list}
  );
}

} // namespace

std::vector<declared> read_document(const yaml_document& document, complaints& out) {
  const auto& root = document.root;
  if (root.kind != node_kind::mapping || root.entries.empty()) {
    out.add(
      document.place_of(root),
      {},
      root.kind == node_kind::mapping ? "the document is an empty mapping"
                                      : "the document is " + std::string{kind_word(root)},
      "a document is a mapping whose first key is its kind with its name, like `pool: NAME`"
    );
    return {};
  }
  const auto& first = root.entries.front();
  const auto* kind = find_kind(canonical_key(first.key));
  if (kind == nullptr) {
    tell_no_kind(document, first, out);
    return {};
  }
  if (kind->whole != nullptr)
    return kind->whole(document, out);
  mapping_reader r{root, *kind->table, document.file, {}, out};
  if (kind->many != nullptr)
    return kind->many(r);
  auto value = kind->one(r);
  return {{std::move(value), r.place_of(kind->word)}};
}

} // namespace assay::catalog
