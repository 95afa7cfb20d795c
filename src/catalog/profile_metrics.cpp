// What an engine says of itself: its load, its answers, its errors.

#include "src/base/limits.hpp"
#include "src/catalog/keys.hpp"
#include "src/catalog/profile_parts.hpp"
#include "src/catalog/profile_words.hpp"
#include "src/catalog/slots.hpp"

#include <algorithm>

namespace assay::catalog::parts {

namespace {

using namespace std::chrono_literals;

// -- metrics

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

// -- protocol

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

void read_offers(mapping_reader& r, std::vector<contract::operation>& into) {
  std::vector<std::string> spelled;
  if (!r.has("offers"))
    return;
  r.texts("offers", spelled);
  into.clear();
  for (const auto& word : spelled) {
    if (auto operation = contract::parse_operation(word))
      into.push_back(*operation);
    else
      r.refuse_word(r.place_of("offers"), r.path_of("offers"), word, words::operations());
  }
}

} // namespace

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

void read_api(mapping_reader& parent, api_plan& into) {
  auto r = parent.mapping("api", keys::profile_api);
  if (!r)
    return;
  r->choice("dialect", into.dialect, words::dialects());
  r->choice("auth", into.auth, words::auths());
  read_offers(*r, into.offers);
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

} // namespace assay::catalog::parts
