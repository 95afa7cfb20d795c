#pragma once
// A file that is there whole or not at all: written beside its place as `FILE.partial`, synced, and
// renamed. Whatever goes wrong before that takes the partial file away and says so.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace assay::cli {

/// write(2); tests bring a disk that is full.
using file_writer = ssize_t (*)(int, const void*, std::size_t);

class export_file {
public:
  static result<export_file, problem>
  open(const std::filesystem::path& place, file_writer write = nullptr);

  export_file(export_file&& other) noexcept;
  export_file& operator=(export_file&&) = delete;
  ~export_file();

  result<void, problem> add(std::string_view bytes);
  /// Durable and in its place when this returns.
  result<void, problem> finish();

  std::uint64_t bytes() const { return bytes_; }

private:
  export_file(int fd, std::filesystem::path place, file_writer write);
  problem failed(int error, std::string_view deed) const;

  int fd_;
  std::filesystem::path place_, partial_;
  file_writer write_;
  std::uint64_t bytes_ = 0;
};

/// What errno's number means for somebody who named this file.
problem file_problem(int error, std::string_view deed, const std::filesystem::path& place);

} // namespace assay::cli
