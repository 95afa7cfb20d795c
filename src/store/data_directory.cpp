#include "src/store/data_directory.hpp"

#include "src/store/file_system.hpp"
#include "src/store/posix_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace assay::store {

namespace {

constexpr std::array folders{"keys", "raft", "ledger", "blobs", "trace", "run", "agent"};

std::string holder_of(int fd) {
  std::array<char, 32> text{};
  auto size = ::pread(fd, text.data(), text.size() - 1, 0);
  long pid = 0;
  if (size > 0)
    std::from_chars(text.data(), text.data() + size, pid);
  return pid > 0 ? "process " + std::to_string(pid) : "another process";
}

result<descriptor, problem> take_lock(const std::filesystem::path& path) {
  auto fd = open_file(path, O_RDWR | O_CREAT);
  if (!fd)
    return unexpected{fd.error()};
  if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return unexpected{file_problem(errno, "lock the file", path)};
    return unexpected{problem{
      problem_kind::refused,
      holder_of(fd->get()) + " is using this data directory",
      path.string(),
      "stop it first, or choose another directory"}};
  }
  // The number is for the eyes of the next one; the lock is what counts. So a full disk, where it
  // cannot be written, is no reason to stay away.
  auto pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd->get(), 0) == 0) [[maybe_unused]]
    auto written = ::pwrite(fd->get(), pid.data(), pid.size(), 0);
  return fd;
}

} // namespace

result<data_directory, problem>
data_directory::open(const std::filesystem::path& root, const directory_options& options) {
  std::error_code failed;
  auto absolute = std::filesystem::absolute(root, failed).lexically_normal();
  if (absolute.filename().empty() && absolute.has_parent_path())
    absolute = absolute.parent_path();
  std::filesystem::create_directories(absolute.parent_path(), failed);
  if (auto made = make_folder(absolute); !made)
    return unexpected{made.error()};
  if (!options.is_network_accepted)
    if (auto kind = check_file_system(absolute); !kind)
      return unexpected{kind.error()};
  for (const auto* name : folders)
    if (auto made = make_folder(absolute / name); !made)
      return unexpected{made.error()};
  auto lock = take_lock(absolute / "run" / "lock");
  if (!lock)
    return unexpected{lock.error()};
  return data_directory{absolute, lock->release()};
}

data_directory::data_directory(data_directory&& other) noexcept
  : root_{std::move(other.root_)}, lock_{std::exchange(other.lock_, -1)} {}

data_directory& data_directory::operator=(data_directory&& other) noexcept {
  if (this != &other) {
    if (lock_ >= 0)
      ::close(lock_);
    root_ = std::move(other.root_);
    lock_ = std::exchange(other.lock_, -1);
  }
  return *this;
}

data_directory::~data_directory() {
  if (lock_ >= 0)
    ::close(lock_);
}

} // namespace assay::store
