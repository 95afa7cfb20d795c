#include "src/app/blob_scrub.hpp"

#include "src/ledger/working.hpp"

namespace assay::app {

std::optional<blob_scrub::verdict> blob_scrub::look(const ledger::tables& names, steady_time at) {
  if (at < next_look_ || (left_.empty() && !begin(names)))
    return {};
  next_look_ = at + every;
  if (!content_)
    begin_blob();
  const auto blob = left_.back();
  auto part = blobs_->read_part(blob, offset_, piece_bytes);
  if (!part)
    return end_blob(part.error());
  content_->add(part->bytes);
  offset_ += part->bytes.size();
  if (offset_ < part->size)
    return {};
  const auto seen = content_->finish();
  if (seen == blob)
    return end_blob({});
  if (!std::exchange(is_doubted_, true)) {
    content_.reset();
    return {};
  }
  return end_blob(store::damaged_blob(blobs_->path(blob), seen));
}

bool blob_scrub::begin(const ledger::tables& names) {
  ledger::for_each_blob(names, [&](const digest& blob) { left_.push_back(blob); });
  return !left_.empty();
}

/// From the disk, and not from what memory still has of it.
void blob_scrub::begin_blob() {
  blobs_->forget(left_.back());
  content_.emplace();
  offset_ = 0;
}

blob_scrub::verdict blob_scrub::end_blob(std::optional<problem> wrong) {
  verdict out{left_.back(), std::move(wrong)};
  left_.pop_back();
  content_.reset();
  is_doubted_ = false;
  if (left_.empty()) {
    ++rounds_;
    next_look_ += rest;
  }
  return out;
}

std::string damaged_blob_text(const digest& blob, const std::string& why) {
  return "blob " + to_text(blob) + " cannot be read from this disk (" + why
         + "); other members are asked for it again and again, and a standalone has no other copy";
}

} // namespace assay::app
