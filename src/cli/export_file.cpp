#include "src/cli/export_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace assay::cli {

namespace {

bool is_full(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

std::filesystem::path folder_of(const std::filesystem::path& place) {
  return place.has_parent_path() ? place.parent_path() : std::filesystem::path{"."};
}

/// 0, or errno: a rename is durable once its folder is.
int sync_folder(const std::filesystem::path& folder) {
  auto fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return errno;
  auto error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

} // namespace

problem file_problem(int error, std::string_view deed, const std::filesystem::path& place) {
  auto what = std::string{deed} + ": " + std::strerror(error);
  if (error == ENOENT)
    return {problem_kind::not_found, what, place.string(), "is the name right?"};
  if (error == EACCES || error == EPERM)
    return {problem_kind::forbidden, what, place.string(), "ask its owner for the rights"};
  if (is_full(error))
    return {problem_kind::exhausted, what, place.string(), "make room, or name another place"};
  return {problem_kind::unavailable, what, place.string(), "name another file"};
}

result<export_file, problem>
export_file::open(const std::filesystem::path& place, file_writer write) {
  auto partial = place;
  partial += ".partial";
  auto fd = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return unexpected{file_problem(errno, "the file cannot be made", partial)};
  return export_file{fd, place, write == nullptr ? ::write : write};
}

export_file::export_file(int fd, std::filesystem::path place, file_writer write)
  : fd_{fd}, place_{std::move(place)}, partial_{place_}, write_{write} {
  partial_ += ".partial";
}

export_file::export_file(export_file&& other) noexcept
  : fd_{std::exchange(other.fd_, -1)}, place_{std::move(other.place_)},
    partial_{std::move(other.partial_)}, write_{other.write_}, bytes_{other.bytes_} {}

export_file::~export_file() {
  if (fd_ < 0)
    return;
  ::close(fd_);
  ::unlink(partial_.c_str());
}

problem export_file::failed(int error, std::string_view deed) const {
  auto p = file_problem(error, deed, place_);
  p.what += " after " + std::to_string(bytes_)
            + " bytes; what was written of it was removed, and nothing else was changed";
  return p;
}

result<void, problem> export_file::add(std::string_view bytes) {
  while (!bytes.empty()) {
    auto count = write_(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return unexpected{failed(errno, "the file cannot be written")};
    bytes_ += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

result<void, problem> export_file::finish() {
  if (::fsync(fd_) != 0)
    return unexpected{failed(errno, "the file cannot be synced")};
  if (::rename(partial_.c_str(), place_.c_str()) != 0)
    return unexpected{failed(errno, "the file cannot be put in its place")};
  ::close(std::exchange(fd_, -1));
  if (auto error = sync_folder(folder_of(place_)); error != 0)
    return unexpected{
      file_problem(error, "the file is there, but its folder cannot be synced", place_)};
  return {};
}

} // namespace assay::cli
