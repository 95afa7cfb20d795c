#pragma once
// Digests of files that were read before, so that a weight file is read once and not at each start.
//
// An entry holds while device, inode, size, mtime and ctime are the same; ctime cannot be set by a
// program, so a file that was changed and dated back is read again. Damage to the cache's own file
// costs time, never correctness. All members may be called from any thread.

#include "src/base/digest.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace assay::agent {

struct file_identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  friend auto operator<=>(const file_identity&, const file_identity&) = default;
};

file_identity identity_of(const struct stat& facts);

class digest_cache {
public:
  /// Kept in memory only when `path` is empty.
  explicit digest_cache(std::filesystem::path path);

  std::optional<digest> find(const file_identity& file) const;
  void learn(const file_identity& file, const digest& sum);

  /// Writes what was learnt. A failure is returned; the cache goes on in memory.
  result<void, problem> save() const;

private:
  std::filesystem::path path_;
  mutable std::mutex mutex_;
  std::map<file_identity, digest> known_;
};

/// The digest of an open file: from the cache, or by reading it, which `read` is told of piece by
/// piece. Nothing when `cancelled` became true; a problem when reading failed or the file changed
/// meanwhile.
result<std::optional<digest>, problem> digest_of_file(
  int file,
  const std::string& name,
  digest_cache& cache,
  const std::function<void(std::uint64_t)>& read = {},
  const std::atomic<bool>* cancelled = nullptr
);

} // namespace assay::agent
