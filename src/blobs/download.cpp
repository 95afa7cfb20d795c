#include "src/blobs/download.hpp"

#include "src/base/check.hpp"
#include "src/base/peer_limits.hpp"

#include <algorithm>

namespace assay::blobs {

download::download(const digest& blob, std::deque<node> sources, steady_time now)
  : blob_{blob}, sources_{std::move(sources)}, asked_{now}, moved_{now} {
  check(!sources_.empty(), "a download has somebody to ask");
  source_ = sources_.front();
  sources_.pop_front();
}

void download::add_source(node one) {
  std::erase(sources_, one);
  if (one != source_)
    sources_.push_front(one);
}

want download::ask(steady_time now) {
  asked_ = now;
  return {blob_, offset_};
}

bool download::is_ask_due(steady_time now) const {
  return now - asked_ >= limits::blob_said_again;
}

bool download::is_stuck(steady_time now) const {
  return now - moved_ >= limits::blob_silence;
}

bool download::waits_for(node from, const page& what) const {
  return from == source_ && what.offset == offset_ && !is_whole();
}

bool download::take(const page& what, steady_time now) {
  if (size_.value_or(what.size) != what.size)
    return false;
  size_ = what.size;
  offset_ += what.bytes.size();
  moved_ = now;
  return true;
}

bool download::pass_over(const std::string& why, bool is_missing_there, steady_time now) {
  complaints_ +=
    (complaints_.empty() ? "member " : "; member ") + std::to_string(source_) + " " + why;
  is_missing_everywhere_ &= is_missing_there;
  if (sources_.empty())
    return false;
  source_ = sources_.front();
  sources_.pop_front();
  offset_ = 0;
  size_.reset();
  moved_ = now;
  return true;
}

problem download::why_not() const {
  return {
    is_missing_everywhere_ ? problem_kind::not_found : problem_kind::unavailable,
    "the blob " + to_text(blob_) + " is not here and no other coordinator gave it: " + complaints_,
    "blobs",
    is_missing_everywhere_
      ? "a coordinator that was removed, or a backup of its blobs/, may hold it"
      : "assay cluster status shows who is away; ask again when they are back"};
}

} // namespace assay::blobs
