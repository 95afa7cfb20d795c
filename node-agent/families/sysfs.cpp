#include "node-agent/families/sysfs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace assay::agent {

namespace {

telemetry::reading reading_of(int error) {
  switch (error) {
  case ENOENT:
  case ENODEV:
  case EOPNOTSUPP:
    return telemetry::unsupported{};
  case EBUSY:
  case EAGAIN:
    return telemetry::unavailable{std::strerror(error)};
  default:
    return telemetry::failed{error, std::strerror(error)};
  }
}

} // namespace

small_text read_line(const std::filesystem::path& file) {
  small_text read;
  auto opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0)
    return {{}, errno};
  std::array<char, 4'096> piece{};
  auto got = ::read(opened, piece.data(), piece.size());
  if (got < 0)
    read.error = errno;
  else
    read.text.assign(piece.data(), static_cast<std::size_t>(got));
  ::close(opened);
  read.text.erase(std::min(read.text.find('\n'), read.text.size()));
  read.text.erase(read.text.find_last_not_of(" \t\r") + 1);
  return read;
}

telemetry::reading read_number(const std::filesystem::path& file) {
  auto read = read_line(file);
  if (read.error != 0)
    return reading_of(read.error);
  if (read.text.empty())
    return telemetry::unavailable{"the file is empty"};
  std::uint64_t number = 0;
  std::int64_t negative = 0;
  const auto* begin = read.text.data();
  const auto* end = begin + read.text.size();
  if (auto [at, bad] = std::from_chars(begin, end, number); bad == std::errc{} && at == end)
    return number;
  if (auto [at, bad] = std::from_chars(begin, end, negative); bad == std::errc{} && at == end)
    return negative;
  return telemetry::failed{EINVAL, "'" + read.text.substr(0, 64) + "' is no number"};
}

telemetry::reading read_word(const std::filesystem::path& file) {
  auto read = read_line(file);
  if (read.error != 0)
    return reading_of(read.error);
  if (read.text.empty())
    return telemetry::unavailable{"the file is empty"};
  return read.text;
}

std::optional<std::uint64_t> number_after(const std::string& text, const std::string& key) {
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = std::min(text.find('\n', begin), text.size());
    auto line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with(key))
      continue;
    auto at = line.find_first_not_of(": ", key.size());
    if (at == key.size() || at == std::string::npos)
      continue;
    std::uint64_t number = 0;
    auto [stop, bad] = std::from_chars(line.data() + at, line.data() + line.size(), number);
    if (bad == std::errc{} && stop != line.data() + at)
      return number;
  }
  return {};
}

} // namespace assay::agent
