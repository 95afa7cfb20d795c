#pragma once
// Reads the blobs that the ledger names again, a piece at a time and without end, so that bits that
// flipped on the disk are found before somebody needs them.
//
// It says what it found and mends nothing: the keeper gets another copy. One thread.

#include "src/ledger/tables.hpp"
#include "src/store/blob_store.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace assay::app {

class blob_scrub {
public:
  static constexpr std::size_t piece_bytes = 512 << 10; ///< In one look: 2 MiB in a second,
  static constexpr auto every = std::chrono::milliseconds{250};
  static constexpr auto rest = std::chrono::minutes{1}; ///< and so long after the last one.

  explicit blob_scrub(const store::blob_store& blobs) : blobs_{&blobs} {}

  struct verdict {
    digest blob;
    std::optional<problem> wrong; ///< Damaged, not there, or not to be read; nothing: it is sound.
  };
  /// Every now and then; `at` is the time. A verdict when a blob came to its end, or to nothing.
  std::optional<verdict> look(const ledger::tables& names, steady_time at);

  /// How often all of them were read.
  std::uint64_t rounds() const { return rounds_; }

private:
  bool begin(const ledger::tables& names);
  void begin_blob();
  verdict end_blob(std::optional<problem> wrong);

  const store::blob_store* blobs_;
  std::vector<digest> left_; ///< Of this round; the last one is being read.
  std::optional<hasher> content_;
  std::uint64_t offset_ = 0;
  bool is_doubted_ = false; ///< It is read a second time: it may have been replaced meanwhile.
  steady_time next_look_;
  std::uint64_t rounds_ = 0;
};

/// For a person: which one, why, and what happens next.
std::string damaged_blob_text(const digest& blob, const std::string& why);

} // namespace assay::app
