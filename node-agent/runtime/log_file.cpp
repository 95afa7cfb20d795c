#include "node-agent/runtime/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace assay::agent {

namespace {

std::string read_end(const std::filesystem::path& path, std::size_t bytes_max) {
  auto file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  auto size = ::lseek(file, 0, SEEK_END);
  auto wanted = std::min(static_cast<std::size_t>(std::max<off_t>(size, 0)), bytes_max);
  std::string result(wanted, '\0');
  auto got = ::pread(file, result.data(), wanted, size - static_cast<off_t>(wanted));
  ::close(file);
  result.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return result;
}

} // namespace

log_file::log_file(std::filesystem::path path, std::uint64_t bytes_max)
  : path_{std::move(path)}, bytes_max_{bytes_max} {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  struct stat facts {};
  if (file_ >= 0 && ::fstat(file_, &facts) == 0)
    bytes_ = static_cast<std::uint64_t>(facts.st_size);
}

log_file::~log_file() {
  if (file_ >= 0)
    ::close(file_);
}

void log_file::append(std::string_view bytes) {
  if (bytes_ + bytes.size() > bytes_max_ && bytes_ > 0)
    rotate();
  while (file_ >= 0 && !bytes.empty()) {
    auto written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) // A full disk: the rest of this piece is lost, the runtime goes on.
      return;
    bytes_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void log_file::rotate() {
  if (file_ >= 0)
    ::close(file_);
  auto older = path_.native() + ".1";
  ::rename(path_.c_str(), older.c_str());
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0640);
  bytes_ = 0;
}

std::string read_log_tail(const std::filesystem::path& path, std::size_t bytes_max) {
  auto result = read_end(path, bytes_max);
  if (result.size() < bytes_max)
    result = read_end(path.native() + ".1", bytes_max - result.size()) + result;
  auto cut = result.size() == bytes_max ? result.find('\n') : std::string::npos;
  if (cut != std::string::npos && cut + 1 < result.size())
    result.erase(0, cut + 1);
  return result;
}

} // namespace assay::agent
