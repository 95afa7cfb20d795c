#pragma once
// The directory that holds everything a process must not lose: made with private modes, on a local
// disk, held by one process at a time.
//
//   config.yaml keys/ raft/ ledger/ blobs/ trace/ run/ agent/

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace assay::store {

struct directory_options {
  bool is_network_accepted = false; ///< For tests only: skips the file system check.
};

/// Holds `run/lock` until destroyed; the kernel lets go when the process dies.
class data_directory {
public:
  /// Makes the directory and its folders (0700) when they are missing, checks the file system (a
  /// network one is refused, an overlay only warned about) and takes the lock. A second holder is
  /// refused with the first one's pid.
  static result<data_directory, problem>
  open(const std::filesystem::path& root, const directory_options& options = {});

  data_directory(data_directory&& other) noexcept;
  data_directory& operator=(data_directory&& other) noexcept;
  ~data_directory();

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path config() const { return root_ / "config.yaml"; }
  std::filesystem::path keys() const { return root_ / "keys"; }
  std::filesystem::path raft() const { return root_ / "raft"; }
  std::filesystem::path ledger() const { return root_ / "ledger"; }
  std::filesystem::path blobs() const { return root_ / "blobs"; }
  std::filesystem::path trace() const { return root_ / "trace"; }
  std::filesystem::path run() const { return root_ / "run"; }
  std::filesystem::path agent() const { return root_ / "agent"; }

private:
  data_directory(std::filesystem::path root, int lock) : root_{std::move(root)}, lock_{lock} {}

  std::filesystem::path root_;
  int lock_ = -1;
};

} // namespace assay::store
