#include "src/jobs/checkpoint.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"

#include <fmt/format.h>

namespace assay::jobs {

result<progress, problem> follow(const progress& done, const checkpoint& next) {
  if (next.number != done.checkpoints || next.first != done.next_item || next.end <= next.first
      || next.good > next.end - next.first)
    return unexpected{problem{
      problem_kind::refused,
      fmt::format(
        "checkpoint {} holds items {} to {}, and checkpoint {} has to begin at item {}",
        next.number,
        next.first,
        next.end,
        done.checkpoints,
        done.next_item
      ),
      {},
      "resume the job from its stored checkpoints",
    }};
  return progress{
    done.checkpoints + 1, next.end, done.good + next.good, done.output_bytes + next.blob_bytes};
}

result<progress, problem> progress_of(const std::vector<checkpoint>& in_order) {
  progress done;
  for (const auto& c : in_order) {
    auto next = follow(done, c);
    if (!next)
      return next;
    done = *next;
  }
  return done;
}

collected::collected(const progress& from, std::uint32_t items, steady_time now)
  : stored_{from}, items_{items}, head_end_{from.next_item}, last_{now} {
  check(from.next_item <= items, "more items are stored than there are");
}

void collected::add(std::uint32_t item, std::string line, bool good) {
  check(item < items_, "an item beyond the last");
  if (has(item))
    return;
  line.push_back('\n');
  waiting_bytes_ += line.size();
  lines_.emplace(item, finished_line{std::move(line), good});
  for (auto at = lines_.find(head_end_); at != lines_.end() && at->first == head_end_; ++at) {
    head_bytes_ += at->second.bytes.size();
    ++head_end_;
  }
}

bool collected::has(std::uint32_t item) const {
  return item < stored_.next_item || lines_.contains(item);
}

std::optional<collected::cut_blob> collected::cut(steady_time now) {
  const auto head = head_end_ - stored_.next_item;
  const bool due = refused_ || head >= limits::checkpoint_items
                   || head_bytes_ >= limits::checkpoint_bytes || head_end_ == items_
                   || now - last_ >= limits::checkpoint_every;
  return due ? cut_now(now) : std::nullopt;
}

std::optional<collected::cut_blob> collected::cut_now(steady_time now) {
  if (on_its_way_ || head_end_ == stored_.next_item || (refused_ && now < retry_at_))
    return std::nullopt;
  // A checkpoint that seemed refused may have been taken: only the very same one is harmless then.
  const auto end = refused_ ? refused_->end : head_end_;
  cut_blob cut;
  cut.entry.number = stored_.checkpoints;
  cut.entry.first = stored_.next_item;
  cut.entry.end = cut.entry.first;
  for (auto at = lines_.begin(); cut.entry.end < end; ++at, ++cut.entry.end) {
    const bool full = cut.entry.end - cut.entry.first >= limits::checkpoint_items
                      || cut.bytes.size() >= limits::checkpoint_bytes;
    if (full && !refused_)
      break;
    cut.bytes += at->second.bytes;
    cut.entry.good += at->second.good ? 1 : 0;
  }
  cut.entry.blob = sha256(cut.bytes);
  cut.entry.blob_bytes = cut.bytes.size();
  refused_.reset();
  on_its_way_ = cut.entry;
  return cut;
}

void collected::kept(steady_time now) {
  check(on_its_way_.has_value(), "no checkpoint is on its way");
  const auto next = follow(stored_, *on_its_way_);
  check(next.has_value(), "a checkpoint that does not follow was cut");
  stored_ = *next;
  for (auto at = lines_.begin(); at != lines_.end() && at->first < stored_.next_item;
       at = lines_.erase(at)) {
    waiting_bytes_ -= at->second.bytes.size();
    head_bytes_ -= at->second.bytes.size();
  }
  on_its_way_.reset();
  last_ = now;
}

void collected::not_kept(steady_time now) {
  check(on_its_way_.has_value(), "no checkpoint is on its way");
  retry_at_ = now + limits::full_disk_retry;
  refused_ = on_its_way_;
  on_its_way_.reset();
}

bool collected::complete() const {
  return stored_.next_item == items_;
}

bool collected::may_run_ahead(std::uint32_t item) const {
  if (item == head_end_) // The one that all others wait for.
    return true;
  return item < head_end_ + limits::job_answers_ahead && waiting_bytes_ < limits::job_answers_bytes;
}

std::uint32_t collected::finished_below() const {
  return lines_.empty() ? stored_.next_item : std::prev(lines_.end())->first + 1;
}

} // namespace assay::jobs
