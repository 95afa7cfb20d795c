#include "src/catalog/complaints.hpp"

#include "src/base/limits.hpp"

#include <algorithm>
#include <numeric>

namespace assay::catalog {

namespace {

constexpr std::size_t shown_bytes = 60;

/// Levenshtein's distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const auto replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

} // namespace

void complaints::add(
  const source_place& at, std::string_view key, std::string what, std::string next
) {
  if (told_.size() >= limits::problems) {
    ++untold_;
    return;
  }
  auto where = to_text(at);
  if (!key.empty())
    where += ": " + std::string{key};
  const problem told{problem_kind::invalid, std::move(what), std::move(where), std::move(next)};
  told_.push_back({order_of(at.file), at, told});
}

std::size_t complaints::order_of(const std::string& file) {
  const auto at = std::ranges::find(files_, file);
  const auto position = static_cast<std::size_t>(at - files_.begin());
  if (at == files_.end())
    files_.push_back(file);
  return position;
}

std::vector<problem> complaints::take() {
  std::ranges::stable_sort(told_, {}, [](const entry& e) {
    return std::tuple{e.file, e.at.line, e.at.column};
  });
  std::vector<problem> all;
  for (auto& e : told_)
    all.push_back(std::move(e.what));
  if (untold_ > 0)
    all.push_back(
      {problem_kind::invalid,
       std::to_string(untold_) + " more problems are not shown",
       {},
       "mend those above first"}
    );
  return all;
}

std::string nearest(std::string_view seen, const std::vector<std::string_view>& candidates) {
  if (seen.size() > limits::name_bytes)
    return {};
  std::string_view best;
  auto least = std::max<std::size_t>(1, seen.size() / 3) + 1;
  for (const auto candidate : candidates) {
    const auto d = distance(seen, candidate);
    if (d < least && d < candidate.size()) {
      least = d;
      best = candidate;
    }
  }
  return std::string{best};
}

std::string listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (const auto word : words) {
    if (!text.empty())
      text += ", ";
    text += word;
  }
  return text;
}

std::string in_quotes(std::string_view seen) {
  std::string text{"`"};
  for (const char c : seen.substr(0, shown_bytes))
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  // A cut in the middle of a character would make the message itself bad UTF-8.
  if (seen.size() > shown_bytes) {
    while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
      text.pop_back();
    if (static_cast<unsigned char>(text.back()) >= 0xc0)
      text.pop_back();
    text += "...";
  }
  return text + "`";
}

} // namespace assay::catalog
