#include "src/catalog/profile_reader.hpp"

#include "src/base/limits.hpp"
#include "src/catalog/keys.hpp"
#include "src/catalog/profile_parts.hpp"
#include "src/catalog/profile_rules.hpp"
#include "src/catalog/profile_words.hpp"
#include "src/catalog/reader.hpp"

namespace assay::catalog {

namespace {

using namespace parts;
using namespace std::chrono_literals;

/// A word for people and rules: `startup_failed`.
void read_means(mapping_reader& r, std::string& into) {
  if (r.require("means", "write a word for what it means, like `startup_failed`"))
    r.name("means", into);
}

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
