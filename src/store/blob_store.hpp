#pragma once
// Content-addressed files under `blobs/`: evidence, uploads, job output. A blob is there whole or
// not at all, its name is its SHA-256, and it is checked whenever it is read.
//
// Safe for many threads; one writer object belongs to one thread.

#include "src/base/digest.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace assay::store {

/// That this file has another content than its name says.
problem damaged_blob(const std::filesystem::path& path, const digest& seen);

class blob_store {
public:
  /// `quota_bytes` 0: no quota but the disk's own end. Leftovers of writers that died are removed.
  static result<std::unique_ptr<blob_store>, problem>
  open(const std::filesystem::path& folder, std::uint64_t quota_bytes = 0);

  ~blob_store();
  blob_store(const blob_store&) = delete;
  blob_store& operator=(const blob_store&) = delete;

  /// Takes a blob in pieces, for what does not fit in memory. Dropped without `finish`, it leaves
  /// nothing behind.
  class writer {
  public:
    writer(writer&&) noexcept;
    writer& operator=(writer&&) noexcept;
    ~writer();

    /// `exhausted` at the quota or on a full disk.
    result<void, problem> write(std::string_view piece);
    /// The blob is durable under the returned digest when this returns.
    result<digest, problem> finish();
    /// The same for content that must be `expected`: `invalid` and nothing kept when it is not. It
    /// takes the place of what is there, which may be damaged.
    result<void, problem> finish(const digest& expected);
    std::uint64_t size() const;

  private:
    friend class blob_store;
    struct file;
    explicit writer(std::unique_ptr<file> open);
    result<void, problem> put_in_place(const std::filesystem::path& place);
    std::unique_ptr<file> file_;
  };

  result<writer, problem> start();

  /// Durable when it returns; a blob that is there already is not written again.
  result<digest, problem> put(std::string_view bytes);

  /// The whole blob, checked against its digest. `not_found`; `invalid` when what is stored was
  /// damaged or is longer than `bytes_max`.
  result<std::string, problem> get(const digest& name, std::uint64_t bytes_max = 64 << 20) const;

  /// Hands the blob over in pieces of at most 256 KiB; the check comes at the end, so what `take`
  /// was given counts only when this returns success. `take` returns false to stop.
  result<void, problem>
  read(const digest& name, const std::function<bool(std::string_view)>& take) const;

  /// The bytes from `offset` on, at most so many, and the whole size. Not checked: whoever has all
  /// of them can.
  struct part {
    std::string bytes;
    std::uint64_t size = 0;
  };
  result<part, problem>
  read_part(const digest& name, std::uint64_t offset, std::size_t bytes_max) const;

  /// What memory still has of it is given up: the next read is the disk's.
  void forget(const digest& name) const;

  bool has(const digest& name) const;
  result<std::uint64_t, problem> size(const digest& name) const;
  std::filesystem::path path(const digest& name) const;
  result<void, problem> remove(const digest& name);
  std::uint64_t used_bytes() const;

private:
  struct shared;
  explicit blob_store(std::shared_ptr<shared> state);
  std::shared_ptr<shared> shared_;
};

} // namespace assay::store
