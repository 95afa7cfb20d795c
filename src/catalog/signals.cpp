// A scrape of an engine's metrics, read by its profile: what the router may know of its load.

#include "src/catalog/profile.hpp"
#include "src/catalog/prometheus_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace assay::catalog {

namespace {

constexpr std::string_view signal_names[] = {
  "running",
  "waiting",
  "waiting_by_reason",
  "kv_used",
  "kv_capacity",
  "prefix_hit",
  "ttft",
  "itl",
  "e2e",
  "queue_time",
  "prefill_time",
  "decode_time",
  "tokens_in",
  "tokens_in_cached",
  "tokens_out",
  "finished",
  "failed",
  "preempted",
  "adapters",
  "load_time",
  "slots",
};

/// Samples by name. Names point into the scrape, which outlives this.
using scrape = std::unordered_map<std::string_view, std::vector<metric_sample>>;

scrape read_scrape(std::string_view text) {
  scrape all;
  for_each_sample(text, [&](const metric_sample& s) { all[s.name].push_back(s); });
  return all;
}

bool has_labels(const metric_sample& s, const signal_source& source) {
  return std::ranges::all_of(source.match, [&](const auto& wanted) {
    return s.label(wanted.first) == wanted.second;
  });
}

/// What the samples of one metric say together; nothing when there is none that counts.
std::optional<double>
combined(const scrape& all, const std::string& name, const signal_source& source) {
  const auto at = all.find(name);
  if (at == all.end())
    return {};
  double sum = 0;
  double most = -std::numeric_limits<double>::infinity();
  double count = 0;
  for (const auto& s : at->second) {
    const bool unknown = source.absent_value && s.value == *source.absent_value;
    if (!std::isfinite(s.value) || unknown || !has_labels(s, source))
      continue;
    sum += s.value;
    most = std::max(most, s.value);
    count += 1;
  }
  if (count == 0)
    return {};
  switch (source.across) {
  case across_rule::sum:
    return sum;
  case across_rule::max:
    return most;
  case across_rule::mean:
    return sum / count;
  }
  return sum;
}

/// A counter may be written with or without `_total`.
std::optional<double>
counted(const scrape& all, const std::string& name, const signal_source& source) {
  if (auto value = combined(all, name, source))
    return value;
  return combined(all, name + "_total", source);
}

std::optional<signal_reading> read_ratio(const scrape& all, const signal_source& source) {
  const auto part = counted(all, source.ratio.front(), source);
  const auto whole = counted(all, source.ratio.back(), source);
  if (!part || !whole || *whole == 0)
    return {};
  signal_reading reading{.what = signal_reading::state::value, .type = source.type};
  reading.value = *part / *whole * source.scale;
  reading.source = source.ratio.front() + "/" + source.ratio.back();
  return reading;
}

std::optional<signal_reading> read_parts(const scrape& all, const signal_source& source) {
  const auto at = all.find(source.name);
  if (at == all.end())
    return {};
  signal_reading reading{.what = signal_reading::state::value, .type = source.type};
  reading.source = source.name;
  for (const auto& s : at->second)
    for (const auto& [part, label] : source.read_labels) {
      const auto text = s.label(label);
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (has_labels(s, source) && !text.empty() && error == std::errc{}
          && end == text.data() + text.size() && std::isfinite(value))
        reading.parts[part] = value * source.scale;
    }
  if (reading.parts.empty())
    return {};
  return reading;
}

std::optional<signal_reading> read_histogram(const scrape& all, const signal_source& source) {
  const auto sum = combined(all, source.name + "_sum", source);
  const auto count = combined(all, source.name + "_count", source);
  if (!sum || !count)
    return {};
  signal_reading reading{.what = signal_reading::state::value, .type = source.type};
  reading.value = *sum * source.scale;
  reading.count = *count;
  reading.source = source.name;
  return reading;
}

std::optional<signal_reading> read_source(const scrape& all, const signal_source& source) {
  if (!source.ratio.empty())
    return read_ratio(all, source);
  if (!source.read_labels.empty())
    return read_parts(all, source);
  if (source.type == signal_type::histogram)
    return read_histogram(all, source);
  const auto value = source.type == signal_type::counter ? counted(all, source.name, source)
                                                         : combined(all, source.name, source);
  if (!value)
    return {};
  signal_reading reading{.what = signal_reading::state::value, .type = source.type};
  reading.value = *value * source.scale;
  reading.source = source.name;
  return reading;
}

signal_reading read_first(const scrape& all, const std::vector<signal_source>& sources) {
  for (const auto& source : sources)
    if (auto reading = read_source(all, source))
      return std::move(*reading);
  signal_reading missing;
  missing.what = sources.empty() ? signal_reading::state::none : signal_reading::state::absent;
  return missing;
}

} // namespace

std::vector<std::string_view> canonical_signals() {
  return {std::begin(signal_names), std::end(signal_names)};
}

std::map<std::string, signal_reading>
extract_signals(const runtime_profile& p, std::string_view prometheus_text) {
  const auto all = read_scrape(prometheus_text);
  std::map<std::string, signal_reading> readings;
  for (const auto& [name, sources] : p.metrics.signals)
    readings[name] = read_first(all, sources);
  return readings;
}

} // namespace assay::catalog
