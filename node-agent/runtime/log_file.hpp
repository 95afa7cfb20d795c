#pragma once
// A log file that never grows past its limit: when full it becomes `NAME.1` and a new one begins.
// A disk that is full loses log lines and nothing else: writing never blocks and never fails.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay::agent {

class log_file {
public:
  log_file(std::filesystem::path path, std::uint64_t bytes_max);
  ~log_file();
  log_file(const log_file&) = delete;
  log_file& operator=(const log_file&) = delete;

  void append(std::string_view bytes);

private:
  void rotate();

  std::filesystem::path path_;
  std::uint64_t bytes_max_ = 0;
  std::uint64_t bytes_ = 0;
  int file_ = -1;
};

/// The last `bytes_max` of a log, from whole lines, going back into `NAME.1` where needed.
std::string read_log_tail(const std::filesystem::path& path, std::size_t bytes_max);

} // namespace assay::agent
