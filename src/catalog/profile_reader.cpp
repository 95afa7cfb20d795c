#include "src/catalog/profile_reader.hpp"

#include "src/base/limits.hpp"
#include "src/catalog/json_path.hpp"
#include "src/catalog/keys.hpp"
#include "src/catalog/profile_rules.hpp"
#include "src/catalog/profile_words.hpp"
#include "src/catalog/reader.hpp"
#include "src/catalog/slots.hpp"

#include <algorithm>

namespace assay::catalog {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t most_times = 1'000;

// -- small readings ---------------------------------------------------------------------------

bool is_path(std::string_view text) {
  return text.starts_with('/') && text.find_first_of(" \"<>\\^`|") == text.npos;
}

void read_path(mapping_reader& r, std::string_view key, std::string& into) {
  if (r.text(key, into) && !is_path(into))
    r.refuse(key, quoted(into) + " is no path of a URL", "begin it with `/`; no spaces");
}

void read_paths(mapping_reader& r, std::string_view key, std::vector<std::string>& into) {
  r.texts(key, into);
  for (const auto& path : into)
    if (!is_path(path))
      r.refuse(key, quoted(path) + " is no path of a URL", "begin it with `/`; no spaces");
}

void read_json_path(mapping_reader& r, std::string& into) {
  if (r.text("json", into) && !is_json_path(into))
    r.refuse(
      "json", quoted(into) + " is no path into JSON", "write keys and positions, like `data.0.id`"
    );
}

std::optional<pattern> read_pattern(mapping_reader& r, std::string_view key) {
  std::string text;
  if (!r.text(key, text))
    return {};
  auto compiled = pattern::compile(text);
  if (compiled)
    return std::move(*compiled);
  r.refuse(
    key,
    quoted(text) + " is no pattern: " + compiled.error(),
    "write an RE2 pattern of at most " + std::to_string(limits::pattern_bytes) + " bytes"
  );
  return {};
}

void read_optional_text(mapping_reader& r, std::string_view key, std::optional<std::string>& into) {
  std::string text;
  if (r.text(key, text))
    into = std::move(text);
}

/// A word for people and rules: `startup_failed`.
void read_means(mapping_reader& r, std::string& into) {
  if (r.require("means", "write a word for what it means, like `startup_failed`"))
    r.name("means", into);
}

std::optional<question> read_question(std::optional<mapping_reader> r) {
  if (!r)
    return {};
  question read;
  if (r->require("get", "write the path to ask"))
    read_path(*r, "get", read.get);
  if (r->require("json", "write the path in the answer"))
    read_json_path(*r, read.json);
  read_optional_text(*r, "equals", read.equals);
  return read;
}

// -- launch -----------------------------------------------------------------------------------

void read_slot_arg(mapping_reader& r, launch_arg& into) {
  std::string slot;
  r.name("slot", slot);
  into.slot = canonical_slot(slot);
  if (r.text("flag", into.flag) && !into.flag.starts_with('-'))
    r.refuse("flag", quoted(into.flag) + " is no flag", "begin it with `-`");
  r.choice("form", into.form, words::arg_forms());
  read_optional_text(r, "default", into.fallback);
  r.flag("required", into.required);
  const bool needs_flag = into.form != arg_form::separate && into.form != arg_form::list;
  if (needs_flag && into.flag.empty())
    r.refuse("form", "this form needs a flag", "add `flag`, or use the form `separate` or `list`");
  if (into.required && into.fallback)
    r.refuse("required", "a slot with a default is never missing", "remove one of both");
}

launch_arg read_arg(mapping_reader& r) {
  launch_arg read;
  if (r.has("slot") == r.has("fixed")) {
    r.refuse("slot", "an argument is either a slot or fixed words", "write one of `slot`, `fixed`");
    return read;
  }
  if (r.has("slot")) {
    read_slot_arg(r, read);
    return read;
  }
  r.texts("fixed", read.fixed);
  for (const auto key : {"flag", "form", "default", "required"})
    if (r.has(key))
      r.refuse(key, "fixed words take no other key", "remove it");
  return read;
}

bool is_variable(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.size() <= limits::name_bytes && !(text[0] >= '0' && text[0] <= '9')
         && std::ranges::all_of(text, fits);
}

void check_variable(mapping_reader& r, std::string_view key, std::string_view variable) {
  if (!is_variable(variable))
    r.refuse(
      key,
      quoted(variable) + " is no environment variable",
      "use letters, digits and `_`, not a digit first"
    );
}

void read_secrets(mapping_reader& r, launch_plan& into) {
  std::map<std::string, std::string> read;
  r.table("secret-env", read);
  for (const auto& [slot, variable] : read) {
    check_variable(r, "secret-env", variable);
    if (!is_name(slot))
      r.refuse("secret-env", quoted(slot) + " is no slot", "write a name, like `api_key`");
    into.secret_env[canonical_slot(slot)] = variable;
  }
}

void read_launch(mapping_reader& parent, std::optional<launch_plan>& into) {
  auto r = parent.mapping("launch", keys::profile_launch);
  if (!r)
    return;
  launch_plan read;
  if (r->require("argv", "write the program and its first words, like `[llama-server]`"))
    r->texts("argv", read.argv);
  if (r->has("argv") && (read.argv.empty() || read.argv.front().empty()))
    r->refuse("argv", "the list names no program", "write the program first");
  for (auto& arg : r->mappings("args", keys::profile_arg))
    read.args.push_back(read_arg(arg));
  r->table("env", read.env);
  for (const auto& [variable, value] : read.env)
    check_variable(*r, "env", variable);
  read_secrets(*r, read);
  r->texts("refuse-operator-flags", read.refuse_operator_flags);
  for (const auto& flag : read.refuse_operator_flags)
    if (!flag.starts_with('-'))
      r->refuse("refuse-operator-flags", quoted(flag) + " is no flag", "begin it with `-`");
  into = std::move(read);
}

// -- devices, ports ---------------------------------------------------------------------------

void read_devices(mapping_reader& parent, std::map<family, device_binding>& into) {
  const auto* n = parent.find("devices");
  if (n == nullptr)
    return;
  if (n->kind != node_kind::mapping)
    return parent.refuse(
      "devices",
      std::string{kind_word(*n)} + " stands where a mapping belongs",
      "write a family and its mapping, like `nvidia: {env: CUDA_VISIBLE_DEVICES}`"
    );
  for (const auto& entry : n->entries) {
    const auto path = parent.path_of("devices") + "." + entry.key.substr(0, limits::name_bytes);
    const auto family = parse_family(entry.key);
    auto r = parent.mapping_of(entry.value, path, keys::profile_device);
    if (!family)
      parent.refuse_word(
        {parent.file(), entry.line, entry.column}, path, entry.key, words::families()
      );
    if (!family || !r)
      continue;
    device_binding read;
    if (r->require("env", "write the variable that names the devices"))
      r->text("env", read.env);
    check_variable(*r, "env", read.env);
    std::string_view identifier = "index";
    r->choice("id", identifier, words::device_ids());
    read.identifier = identifier;
    r->text("separator", read.separator);
    r->texts("unset", read.unset);
    if (!into.emplace(*family, std::move(read)).second)
      parent.refuse_at(entry.value, path, "the family is given twice", "keep one of both");
  }
}

void read_ports(mapping_reader& parent, std::vector<port_plan>& into) {
  for (auto& r : parent.mappings("ports", keys::profile_port)) {
    port_plan read;
    if (r.require("name", "name the port, like `http`"))
      r.name("name", read.name);
    read.slot = read.name == "http" ? "port" : canonical_slot(read.name) + "_port";
    std::string slot;
    if (r.name("slot", slot))
      read.slot = canonical_slot(slot);
    into.push_back(std::move(read));
  }
  if (into.empty())
    into.push_back({"http", "port"});
  const auto is_http = [](const port_plan& p) { return p.name == "http" && p.slot == "port"; };
  if (std::ranges::count_if(into, is_http) != 1)
    parent.refuse(
      "ports", "there is not exactly one port `http`", "the engine is reached at the port `http`"
    );
}

// -- phases -----------------------------------------------------------------------------------

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

// -- ends -------------------------------------------------------------------------------------

void read_stop(mapping_reader& parent, stop_plan& into) {
  auto r = parent.mapping("stop", keys::profile_stop);
  if (!r)
    return;
  r->choice("signal", into.signal, words::stop_signals());
  r->duration("grace", into.grace, 0ms, 1h);
  r->flag("group", into.group);
}

exit_rule read_exit(mapping_reader& r) {
  exit_rule read;
  if (r.has("code") == r.has("signal"))
    r.refuse("code", "an exit is a code or a signal", "write one of `code`, `signal`");
  int code = 0;
  if (r.count("code", code, 0, 255))
    read.code = code;
  int number = 0;
  if (r.choice("signal", number, words::exit_signals()))
    r.text("signal", read.signal);
  run_phase phase{};
  if (r.choice("phase", phase, words::run_phases()))
    read.phase = phase;
  read_means(r, read.means);
  r.choice("act", read.remedy, words::remedies());
  r.flag("ambiguous", read.ambiguous);
  return read;
}

void read_logs(mapping_reader& parent, std::vector<log_rule>& into) {
  for (auto& r : parent.mappings("logs", keys::profile_log)) {
    std::string means;
    auto remedy = remedy::none;
    r.require("re", "write a pattern of the line");
    auto line = read_pattern(r, "re");
    read_means(r, means);
    r.choice("act", remedy, words::remedies());
    if (line)
      into.push_back({std::move(*line), std::move(means), remedy});
  }
}

// -- metrics ----------------------------------------------------------------------------------

signal_source read_source(mapping_reader& r) {
  signal_source read;
  if (r.has("name") == r.has("ratio"))
    r.refuse("name", "a signal is one metric or a ratio of two", "write one of `name`, `ratio`");
  r.text("name", read.name);
  if (r.texts("ratio", read.ratio) && read.ratio.size() != 2)
    r.refuse("ratio", "a ratio has two metrics", "write `[part, whole]`");
  r.table("match", read.match);
  r.table("read-labels", read.read_labels);
  r.choice("type", read.type, words::signal_types());
  r.number("scale", read.scale);
  r.choice("across", read.across, words::across_rules());
  double absent = 0;
  if (r.number("absent-value", absent))
    read.absent_value = absent;
  return read;
}

std::vector<signal_source>
read_sources(mapping_reader& parent, const node& n, const std::string& path) {
  if (n.kind == node_kind::scalar && n.text == "none")
    return {};
  if (n.kind == node_kind::sequence && n.items.empty())
    parent.refuse_at(
      n, path, "the list is empty", "write `none` when the engine has no such signal"
    );
  std::vector<signal_source> sources;
  const auto read = [&](const node& one, const std::string& at) {
    if (auto r = parent.mapping_of(one, at, keys::profile_signal))
      sources.push_back(read_source(*r));
  };
  if (n.kind != node_kind::sequence)
    read(n, path);
  for (std::size_t i = 0; i < n.items.size(); ++i)
    read(n.items[i], path + "[" + std::to_string(i) + "]");
  return sources;
}

void read_signals(mapping_reader& r, metrics_plan& into) {
  const auto* n = r.find("signals");
  if (n == nullptr)
    return;
  if (n->kind != node_kind::mapping)
    return r.refuse(
      "signals",
      std::string{kind_word(*n)} + " stands where a mapping belongs",
      "write a signal and its source, like `running: {name: METRIC}`"
    );
  for (const auto& entry : n->entries) {
    const auto name = canonical_slot(entry.key);
    const auto path = r.path_of("signals") + "." + name.substr(0, limits::name_bytes);
    const auto known = canonical_signals();
    if (std::ranges::find(known, name) == known.end()) {
      r.refuse_word({r.file(), entry.line, entry.column}, path, name, known);
      continue;
    }
    if (!into.signals.emplace(name, read_sources(r, entry.value, path)).second)
      r.refuse_at(entry.value, path, "the signal is given twice", "keep one of both");
  }
}

void read_metrics(mapping_reader& parent, metrics_plan& into) {
  auto r = parent.mapping("metrics", keys::profile_metrics);
  if (!r)
    return;
  read_path(*r, "path", into.path);
  r->duration("every", into.every, 100ms, 10min);
  int status = 0;
  if (r->count("off-status", status, 100, 599))
    into.off_status = status;
  read_paths(*r, "never-scrape", into.never_scrape);
  if (std::ranges::find(into.never_scrape, into.path) != into.never_scrape.end())
    r->refuse("never-scrape", "the path that is scraped stands in the list", "remove it");
  r->table("labels", into.labels);
  read_signals(*r, into);
  if (!into.signals.empty() && into.path.empty())
    r->require("path", "write the path that has the signals, like `/metrics`");
}

// -- protocol ---------------------------------------------------------------------------------

void read_words(
  mapping_reader& r,
  std::string_view key,
  const std::map<std::string, std::string>& seen,
  const std::vector<std::string_view>& allowed
) {
  for (const auto& [engine, ours] : seen)
    if (std::ranges::find(allowed, ours) == allowed.end())
      r.refuse_word(r.place_of(key), r.path_of(key), ours, allowed);
}

void read_errors(mapping_reader& r, std::vector<error_shape>& into) {
  std::vector<std::string> shapes;
  r.texts("errors", shapes);
  for (const auto& word : shapes) {
    const auto shape = words::find(words::error_shapes(), word);
    if (shape)
      into.push_back(*shape);
    else
      r.refuse_word(
        r.place_of("errors"), r.path_of("errors"), word, words::spelled(words::error_shapes())
      );
  }
}

void read_api(mapping_reader& parent, api_plan& into) {
  auto r = parent.mapping("api", keys::profile_api);
  if (!r)
    return;
  r->choice("dialect", into.dialect, words::dialects());
  r->choice("auth", into.auth, words::auths());
  read_errors(*r, into.errors);
  r->table("codes", into.codes);
  read_words(*r, "codes", into.codes, words::failure_codes());
  if (auto stream = r->mapping("stream", keys::profile_stream)) {
    stream->text("end", into.stream_end);
    stream->choice("error", into.stream_failure, words::stream_errors());
  }
  r->choice("usage", into.usage, words::usage_modes());
  r->table("finish", into.finish);
  read_words(*r, "finish", into.finish, words::finish_reasons());
  r->texts("ignores", into.ignores);
  r->texts("refuses", into.refuses);
  r->flag("cancels-on-disconnect", into.cancels_on_disconnect);
  read_paths(*r, "restricted-paths", into.restricted_paths);
}

// -- the whole --------------------------------------------------------------------------------

template <class Value, class Parse>
void read_word_list(
  mapping_reader& r,
  std::string_view key,
  std::vector<Value>& into,
  Parse parse,
  const std::vector<std::string_view>& allowed
) {
  std::vector<std::string> spelled;
  r.texts(key, spelled);
  for (const auto& word : spelled) {
    if (const auto value = parse(word))
      into.push_back(*value);
    else
      r.refuse_word(r.place_of(key), r.path_of(key), word, allowed);
  }
}

void read_applies(mapping_reader& parent, runtime_profile& into) {
  auto r = parent.mapping("applies", keys::profile_applies);
  if (!r)
    return;
  r->text("runtime", into.runtime);
  r->text("versions", into.versions);
  read_word_list(*r, "families", into.families, parse_family, words::families());
}

runtime_profile read_all(mapping_reader& r) {
  runtime_profile read;
  r.name("runtime-profile", read.id);
  r.count("revision", read.revision, 1, 1'000'000);
  read_applies(r, read);
  for (auto& one : r.mappings("identify", keys::profile_question))
    if (auto asked = read_question(one))
      read.identify.push_back(std::move(*asked));
  read_launch(r, read.launch);
  read_devices(r, read.devices);
  read_ports(r, read.ports);
  read_phases(r, read.phases);
  read_stop(r, read.stop);
  for (auto& rule : r.mappings("exits", keys::profile_exit))
    read.exits.push_back(read_exit(rule));
  read_logs(r, read.logs);
  read_metrics(r, read.metrics);
  read_api(r, read.api);
  read.version = read_question(r.mapping("version", keys::profile_question));
  if (auto artifact = r.mapping("artifact", keys::profile_artifact))
    read_word_list(
      *artifact, "kinds", read.artifact_kinds, parse_artifact_kind, words::artifact_kinds()
    );
  return read;
}

} // namespace

std::optional<runtime_profile> read_profile(const yaml_document& document, complaints& out) {
  const auto before = out.count();
  if (document.text.size() > limits::profile_bytes) {
    out.add(
      document.place_of(document.root),
      {},
      "the profile has " + std::to_string(document.text.size()) + " bytes",
      "at most " + std::to_string(limits::profile_bytes) + " are allowed"
    );
    return {};
  }
  mapping_reader r{document.root, keys::profile, document.file, {}, out};
  auto read = read_all(r);
  check_profile(read, r);
  if (out.count() != before)
    return {};
  return read;
}

result<runtime_profile, std::vector<problem>>
parse_profile(std::string_view file, std::string_view text) {
  complaints out;
  const auto documents = read_yaml({std::string{file}, std::string{text}}, out);
  std::optional<runtime_profile> read;
  for (const auto& document : documents) {
    const auto& root = document.root;
    const bool is_profile = root.kind == node_kind::mapping && !root.entries.empty()
                            && canonical_key(root.entries.front().key) == "runtime-profile";
    if (!is_profile || read)
      out.add(
        document.place_of(root),
        {},
        read ? "a second document stands in the file" : "the document is no runtime profile",
        "one document that begins with `runtime-profile: NAME` is expected here"
      );
    else
      read = read_profile(document, out);
  }
  if (!out.empty() || !read)
    return unexpected{out.take()};
  return std::move(*read);
}

} // namespace assay::catalog
