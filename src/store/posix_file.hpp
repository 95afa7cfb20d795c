#pragma once
// A file descriptor that closes itself, and the few calls that durable files need, with the text of
// what went wrong.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace assay::store {

class descriptor {
public:
  descriptor() = default;
  explicit descriptor(int fd) : fd_{fd} {}
  descriptor(descriptor&& other) noexcept;
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor();

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();
  int release();

private:
  int fd_ = -1;
};

/// `exhausted` for a full disk or quota, `unavailable` for the rest, naming errno's text.
problem file_problem(int error, std::string_view deed, const std::filesystem::path& path);

/// With O_CLOEXEC and mode 0600.
result<descriptor, problem> open_file(const std::filesystem::path& path, int flags);
result<void, problem> write_all(int fd, std::string_view bytes, const std::filesystem::path& path);

/// After a failed sync the file must be given up: the next one falsely succeeds.
result<void, problem> sync_file(int fd, const std::filesystem::path& path);
result<void, problem> sync_folder(const std::filesystem::path& folder);

/// 0700, and its parents' existence is the caller's. An existing folder is left as it is.
result<void, problem> make_folder(const std::filesystem::path& folder);

} // namespace assay::store
