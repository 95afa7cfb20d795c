#include "src/catalog/kinds.hpp"

#include "src/base/limits.hpp"
#include "src/catalog/keys.hpp"
#include "src/catalog/profile_reader.hpp"
#include "src/catalog/profile_words.hpp"
#include "src/catalog/reader.hpp"

#include <algorithm>

namespace assay::catalog {

namespace {

using namespace std::chrono_literals;

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
      in_quotes(read.path) + " is no path under the location",
      "write a relative path without `.` or `..` parts"
    );
  if (r.require("sha256", "write its digest, as `sha256sum FILE` prints it"))
    r.hash("sha256", read.sha256);
  r.bytes("size", read.bytes, std::uint64_t{1} << 50);
  const auto twice = std::ranges::any_of(into, [&](const auto& f) { return f.path == read.path; });
  if (twice && !read.path.empty())
    r.refuse("path", "the file " + in_quotes(read.path) + " is listed twice", "keep one of both");
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
      in_quotes(model) + " is no model",
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
    r.choice("kind", read.kind, parse_artifact_kind, words::artifact_kinds());
  const bool adopted = read.kind == artifact_kind::adopted;
  if (!adopted)
    r.require("location", "write the directory that holds its files on every host of the pool");
  auto is_url = [&] { return adopted && read.location.starts_with("http://"); };
  if (r.text("location", read.location) && !read.location.starts_with('/') && !is_url())
    r.refuse("location", in_quotes(read.location) + " is no absolute path", "begin it with `/`");
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
    r.choice("family", read.family, parse_family, words::families());
  r.flag("compatibility", read.compatibility);
  r.choice("plaintext", read.plaintext_accepted, std::span{plaintext_words});
  r.names("data-classes", read.data_classes);
  r.table("labels", read.labels);
  for (const auto& [label, value] : read.labels)
    if (label.size() > limits::name_bytes)
      r.refuse("labels", in_quotes(label) + " is too long a label", "at most 64 bytes are allowed");
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
    r.refuse(
      "cost-ceiling",
      "nothing here knows what an answer costs yet, so a ceiling would refuse every request",
      "leave it out"
    );
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
    first.value.kind == node_kind::scalar ? in_quotes(first.value.text) + " is no name"
                                          : std::string{kind_word(first.value)} + " is no name",
    std::string{name_rule}
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
  auto what = "the first key " + in_quotes(first.key) + " names no kind";
  const auto later = std::ranges::find_if(document.root.entries, [](const node_entry& e) {
    return find_kind(canonical_key(e.key)) != nullptr;
  });
  if (const auto near = nearest(canonical_key(first.key), words); !near.empty())
    what += "; did you mean `" + near + "`?";
  else if (later != document.root.entries.end())
    what += "; put " + in_quotes(later->key) + " first, if that is the kind";
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
