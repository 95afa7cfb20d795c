#include "src/store/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace assay::store {

descriptor::descriptor(descriptor&& other) noexcept : fd_{other.release()} {}

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

descriptor::~descriptor() {
  close();
}

void descriptor::close() {
  if (fd_ >= 0)
    ::close(std::exchange(fd_, -1));
}

int descriptor::release() {
  return std::exchange(fd_, -1);
}

problem file_problem(int error, std::string_view deed, const std::filesystem::path& path) {
  auto what = "cannot " + std::string{deed} + ": " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT)
    return {problem_kind::exhausted, what, path.string(), "free space on this disk and try again"};
  if (error == ENOENT)
    return {problem_kind::not_found, what, path.string(), "check the path"};
  return {problem_kind::unavailable, what, path.string(), "check the path and its permissions"};
}

result<descriptor, problem> open_file(const std::filesystem::path& path, int flags) {
  descriptor fd{::open(path.c_str(), flags | O_CLOEXEC, 0600)};
  if (!fd.is_open())
    return unexpected{file_problem(errno, "open the file", path)};
  return fd;
}

result<void, problem> write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    auto done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return unexpected{file_problem(errno, "write", path)};
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

result<void, problem> sync_file(int fd, const std::filesystem::path& path) {
  if (::fsync(fd) != 0)
    return unexpected{file_problem(errno, "make the file durable", path)};
  return {};
}

result<void, problem> sync_folder(const std::filesystem::path& folder) {
  auto fd = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (!fd)
    return unexpected{fd.error()};
  return sync_file(fd->get(), folder);
}

result<void, problem> make_folder(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST)
    return {};
  return unexpected{file_problem(errno, "make the directory", folder)};
}

} // namespace assay::store
