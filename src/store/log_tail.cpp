#include "src/store/log_tail.hpp"

#include "src/base/check.hpp"
#include "src/store/log_values.hpp"

namespace assay::store {

using consensus::entry;
using consensus::entry_kind;

namespace {

/// None when the frame ends before its entries do.
std::optional<consensus::append> take_append(std::string_view& from) {
  consensus::append out;
  out.index = take_number(from);
  for (auto count = take_number(from); count > 0; --count) {
    const auto length = take_number(from);
    if (length < entry_head || length > from.size())
      return {};
    out.entries.push_back(to_entry(from.substr(0, length), true));
    from.remove_prefix(length);
  }
  return out;
}

} // namespace

std::string to_frame(
  const std::optional<consensus::hard_state>& hard, const std::vector<consensus::append>& appends
) {
  std::string out;
  put_number(out, hard ? 1 : 0);
  if (hard)
    out += to_value(*hard);
  for (const auto& a : appends) {
    put_number(out, a.index);
    put_number(out, a.entries.size());
    for (const auto& e : a.entries) {
      put_number(out, entry_head + e.bytes.size());
      put_entry(out, e);
    }
  }
  return out;
}

std::uint64_t bytes_of(const std::vector<consensus::append>& appends) {
  std::uint64_t bytes = 64;
  for (const auto& a : appends)
    for (const auto& e : a.entries)
      bytes += e.bytes.size() + 64;
  return bytes;
}

bool log_tail::follows(std::uint64_t index) const {
  return !entries_ || index <= entries_->index + entries_->entries.size();
}

const entry* log_tail::at(std::uint64_t index) const {
  if (!entries_ || index < entries_->index || is_behind(index))
    return nullptr;
  return &entries_->entries[index - entries_->index];
}

bool log_tail::is_behind(std::uint64_t index) const {
  return entries_ && index >= entries_->index + entries_->entries.size();
}

void log_tail::add(
  const std::optional<consensus::hard_state>& hard, const std::vector<consensus::append>& appends
) {
  if (hard)
    hard_ = hard;
  for (const auto& a : appends)
    add(a);
}

void log_tail::add(const consensus::append& what) {
  check(follows(what.index), "a log has no gap");
  bytes_ += bytes_of({what});
  if (!entries_ || what.index < entries_->index) {
    entries_ = what;
    return;
  }
  auto& all = entries_->entries;
  all.resize(what.index - entries_->index);
  all.insert(all.end(), what.entries.begin(), what.entries.end());
}

bool log_tail::take_up(std::string_view frame) {
  if (take_number(frame) != 0) {
    hard_.emplace();
    hard_->term = take_number(frame);
    hard_->vote = take_number(frame);
  }
  while (!frame.empty()) {
    auto next = take_append(frame);
    if (!next || !follows(next->index))
      return false;
    add(*next);
  }
  return true;
}

bool log_tail::lay_over(std::uint64_t first, std::vector<entry>& entries) const {
  if (!entries_)
    return true;
  const auto index = entries_->index;
  if (index < first || index > first + entries.size())
    return false;
  entries.resize(index - first);
  for (const auto& e : entries_->entries)
    entries.push_back(e.kind == entry_kind::change ? e : entry{e.term, e.kind, {}});
  return true;
}

} // namespace assay::store
