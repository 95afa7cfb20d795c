#pragma once
// Exactly-once output. The result of a job is the concatenation of its checkpoints' blobs, in item
// order, each item's line once.
//
// A checkpoint names the next contiguous items and the blob with their lines. The blob is on a
// majority's disk before the state entry is proposed; a crash between the two leaves a blob that
// nobody names. Whoever resumes starts at the first item that no entry covers.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::jobs {

struct checkpoint {
  std::uint32_t number = 0; ///< 0, 1, 2, ... of its job
  std::uint32_t first = 0;  ///< Item.
  std::uint32_t end = 0;    ///< One past the last item.
  digest blob;
  std::uint64_t blob_bytes = 0;
  std::uint32_t good = 0; ///< Items with a 2xx answer; the others are error lines.

  friend bool operator==(const checkpoint&, const checkpoint&) = default;
};

/// What the stored checkpoints say.
struct progress {
  std::uint32_t checkpoints = 0;
  std::uint32_t next_item = 0; ///< Everything below is in blobs.
  std::uint32_t good = 0;
  std::uint64_t output_bytes = 0;

  friend bool operator==(const progress&, const progress&) = default;
};

/// May `next` follow `done`? Used at apply, so that a repeated or late checkpoint is refused:
/// its number and first item must be the next ones, and it must hold something.
result<progress, problem> follow(const progress& done, const checkpoint& next);

/// Where a job with these checkpoints stands; a gap or an overlap is a problem, never repaired.
result<progress, problem> progress_of(const std::vector<checkpoint>& in_order);

/// Lines that are finished and not yet in a stored checkpoint. Answers may come in any order; only
/// the contiguous head is cut into checkpoints, one at a time.
class collected {
public:
  collected(const progress& from, std::uint32_t items, steady_time now);

  /// Keeps the first line of each item and ignores any other: late and repeated answers are
  /// harmless. The line gets its line end here.
  void add(std::uint32_t item, std::string line, bool good);
  bool has(std::uint32_t item) const;

  struct cut_blob {
    checkpoint entry;
    std::string bytes;
  };
  /// The next checkpoint, when one is due (enough items, or enough time with something to keep, or
  /// the last item is there) and none is on its way.
  std::optional<cut_blob> cut(steady_time now);
  /// The same, with whatever the head holds: before a hold, a cancel or a hand-over.
  std::optional<cut_blob> cut_now(steady_time now);

  /// The entry of the checkpoint on its way is applied.
  void kept(steady_time now);
  /// It was not: the same checkpoint will be cut again, after a pause, for each try reads, copies
  /// and hashes all of it.
  void not_kept(steady_time now);

  bool complete() const;                        ///< Every item is in a stored checkpoint.
  bool may_run_ahead(std::uint32_t item) const; ///< The limits on waiting answers allow it.
  const progress& stored() const { return stored_; }
  std::size_t waiting() const { return lines_.size(); }
  bool is_on_its_way() const { return on_its_way_.has_value(); }
  std::uint32_t head_end() const { return head_end_; } ///< The first item without a line.
  std::uint32_t finished_below() const;                ///< One past the last item with a line.

private:
  struct finished_line {
    std::string bytes;
    bool good = false;
  };

  progress stored_;
  std::uint32_t items_ = 0;
  std::map<std::uint32_t, finished_line> lines_;
  std::uint32_t head_end_ = 0;
  std::uint64_t head_bytes_ = 0;    ///< Of the contiguous head.
  std::uint64_t waiting_bytes_ = 0; ///< Of all lines.
  std::optional<checkpoint> on_its_way_;
  std::optional<checkpoint> refused_; ///< To be cut again, the very same,
  steady_time retry_at_;              ///< and not before this.
  steady_time last_;
};

} // namespace assay::jobs
