#include "src/store/private_files.hpp"

#include "src/store/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace assay::store {

namespace {

std::string octal(mode_t mode) {
  std::string out;
  for (int shift = 6; shift >= 0; shift -= 3)
    out.push_back(static_cast<char>('0' + (mode >> shift & 7)));
  return "0" + out;
}

result<void, problem> check_private(int fd, const std::filesystem::path& path) {
  struct stat seen {};
  if (::fstat(fd, &seen) != 0)
    return unexpected{file_problem(errno, "look at the file", path)};
  if ((seen.st_mode & 077) != 0)
    return unexpected{problem{
      problem_kind::refused,
      "others may read this secret: its mode is " + octal(seen.st_mode & 0777),
      path.string(),
      "run `chmod 600 " + path.string()
        + "`, and make a new key if somebody else may have seen it"}};
  if (seen.st_size > static_cast<off_t>(private_file_bytes))
    return unexpected{problem{
      problem_kind::invalid,
      "the file has " + std::to_string(seen.st_size) + " bytes",
      path.string(),
      "a secret has at most " + std::to_string(private_file_bytes) + " bytes; is this the file?"}};
  return {};
}

result<std::string, problem> read_whole(int fd, const std::filesystem::path& path) {
  std::string out(private_file_bytes + 1, '\0');
  std::size_t size = 0;
  while (size < out.size()) {
    auto done = ::read(fd, out.data() + size, out.size() - size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return unexpected{file_problem(errno, "read", path)};
    if (done == 0)
      break;
    size += static_cast<std::size_t>(done);
  }
  out.resize(size);
  return out;
}

result<void, problem> write_and_sync(const std::filesystem::path& path, std::string_view bytes) {
  auto fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!fd)
    return unexpected{fd.error()};
  if (auto done = write_all(fd->get(), bytes, path); !done)
    return done;
  return sync_file(fd->get(), path);
}

} // namespace

result<void, problem>
write_private_file(const std::filesystem::path& path, std::string_view bytes) {
  auto temporary = path;
  temporary += "." + std::to_string(::getpid()) + ".tmp";
  ::unlink(temporary.c_str()); // Left over by a process of the same number that died.
  auto done = write_and_sync(temporary, bytes);
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0)
    done = unexpected{file_problem(errno, "put the file in place", path)};
  if (!done) {
    ::unlink(temporary.c_str());
    return done;
  }
  return sync_folder(path.parent_path().empty() ? "." : path.parent_path());
}

result<std::string, problem> read_private_file(const std::filesystem::path& path) {
  auto fd = open_file(path, O_RDONLY);
  if (!fd)
    return unexpected{fd.error()};
  if (auto fine = check_private(fd->get(), path); !fine)
    return unexpected{fine.error()};
  return read_whole(fd->get(), path);
}

} // namespace assay::store
