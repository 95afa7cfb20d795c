#pragma once
// An exported ledger read from a file and believed in nothing: frame by frame through the auditor,
// so that a file of any size takes the memory of one frame beside what is kept.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/ledger/chronicle.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace assay::cli {

/// Feeds every frame of the file to the auditor, up to the first thing that is wrong. `next` is
/// told how many bytes were read, of how many.
result<void, problem> audit_file(
  const std::filesystem::path& file,
  ledger::auditor& auditor,
  const std::function<void(std::uint64_t done, std::uint64_t total)>& next = {}
);

/// Audits the file and keeps what may be asked of it.
result<std::unique_ptr<ledger::replayed_chronicle>, problem>
replay(const std::filesystem::path& file);

/// How far a long deed is, on standard error when that is a terminal and two seconds have passed.
class slow_progress {
public:
  slow_progress();
  ~slow_progress() { clear(); }
  slow_progress(const slow_progress&) = delete;
  slow_progress& operator=(const slow_progress&) = delete;

  /// In bytes; a total of 0 is not known.
  void show(std::uint64_t done, std::uint64_t total, std::string_view what);
  void clear();

private:
  std::chrono::steady_clock::time_point next_;
  bool is_tty_;
  bool is_drawn_ = false;
};

/// Follows frames that go by in pieces, and keeps the last one.
class frame_follower {
public:
  void add(std::string_view piece);
  /// The signed head, when the last frame is one and is whole.
  std::optional<ledger::export_head> head() const;

private:
  std::string frame_; ///< Length and bytes of the frame that is coming in, or of the last one.
};

} // namespace assay::cli
