#include "src/ledger/chronicle.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace assay::ledger {

namespace {

/// Roles of the subjects whose records are kept.
constexpr std::array<std::string_view, 6> kept_roles{
  "route", "move", "qualification", "waiver", "service", "host_standing"};

constexpr std::size_t page = 16; ///< Records of a subject looked at together.

problem no_record(std::uint64_t seq) {
  return {
    problem_kind::not_found,
    "there is no record " + std::to_string(seq) + " to read",
    {},
    "assay ledger log lists them"};
}

} // namespace

result<std::uint64_t, problem> last_record_at(const chronicle& c, wall_ms at) {
  std::uint64_t low = 0, high = c.now().head.seq;
  while (low < high) {
    auto middle = low + (high - low + 1) / 2;
    auto stamped = c.stamped_at(middle);
    if (!stamped)
      return unexpected{stamped.error()};
    if (*stamped <= at)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

result<bool, problem> has_indexes(const chronicle& c) {
  auto found = c.about(subject_of(indexes::mark, indexes::mark), 1, direction::newer, 1);
  if (!found)
    return unexpected{found.error()};
  return !found->empty();
}

result<std::optional<kept_record>, problem> record_walk::step() {
  if (at_ == seqs_.size())
    if (auto filled = fill(); !filled)
      return unexpected{filled.error()};
  if (seqs_.empty())
    return std::optional<kept_record>{};
  auto record = chronicle_.record_at(seqs_[at_++]);
  if (!record)
    return unexpected{record.error()};
  return std::optional{*std::move(record)};
}

result<void, problem> record_walk::fill() {
  at_ = 0;
  seqs_.clear();
  if (is_over_)
    return {};
  auto found = chronicle_.about(subject_, next_, where_, count_);
  if (!found)
    return unexpected{found.error()};
  seqs_ = *std::move(found);
  is_over_ = seqs_.size() < count_;
  count_ = page;
  if (seqs_.empty())
    return {};
  is_over_ = is_over_ || (where_ == direction::older && seqs_.back() <= 1);
  next_ = where_ == direction::older ? seqs_.back() - 1 : seqs_.back() + 1;
  return {};
}

auditor::applied_sink replayed_chronicle::taker() {
  return [this](const batch_outcome& outcome) { take(outcome); };
}

void replayed_chronicle::take(const batch_outcome& outcome) {
  std::set<std::uint64_t> wanted;
  for (const auto& change : outcome.rows)
    if (const auto* about = change.row ? std::get_if<subject_row>(&*change.row) : nullptr) {
      auto& numbers = subjects_[about->what];
      if (numbers.empty() || numbers.back() != about->seq)
        numbers.push_back(about->seq);
      if (std::ranges::find(kept_roles, about->role) != kept_roles.end())
        wanted.insert(about->seq);
    }
  for (const auto& change : outcome.rows)
    if (const auto* row = change.row ? std::get_if<record_row>(&*change.row) : nullptr) {
      stamps_.push_back(row->stamp.stamped_at);
      if (wanted.contains(row->stamp.seq))
        kept_.emplace(row->stamp.seq, *row);
    }
}

result<kept_record, problem> replayed_chronicle::record_at(std::uint64_t seq) const {
  auto at = kept_.find(seq);
  if (at == kept_.end())
    return unexpected{no_record(seq)};
  auto record = read_(at->second.canonical);
  if (!record)
    return unexpected{no_record(seq)};
  return kept_record{at->second.stamp, *std::move(record)};
}

result<wall_ms, problem> replayed_chronicle::stamped_at(std::uint64_t seq) const {
  if (seq == 0 || seq > stamps_.size())
    return unexpected{no_record(seq)};
  return stamps_[seq - 1];
}

result<std::vector<std::uint64_t>, problem> replayed_chronicle::about(
  const digest& subject, std::uint64_t from, direction where, std::size_t count
) const {
  std::vector<std::uint64_t> found;
  auto at = subjects_.find(subject);
  if (at == subjects_.end())
    return found;
  const auto& all = at->second;
  if (where == direction::newer) {
    for (auto one = std::ranges::lower_bound(all, from); one != all.end() && found.size() < count;
         ++one)
      found.push_back(*one);
    return found;
  }
  for (auto one = std::ranges::upper_bound(all, from); one != all.begin() && found.size() < count;)
    found.push_back(*--one);
  return found;
}

} // namespace assay::ledger
