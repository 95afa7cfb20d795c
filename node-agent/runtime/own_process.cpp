#include "node-agent/runtime/own_process.hpp"

#include "node-agent/runtime/holder_files.hpp"

namespace assay::agent {

bool belongs_to_replica(std::int64_t pid, const std::filesystem::path& replicas) {
  auto environment = read_small_file("/proc/" + std::to_string(pid) + "/environ");
  if (!environment)
    return false;
  auto entries = '\0' + *environment + '\0';
  std::error_code none; // No folder: no replica was ever started.
  for (std::filesystem::directory_iterator entry{replicas, none}, end; !none && entry != end;
       entry.increment(none)) {
    auto held = read_holding(entry->path());
    if (held && entries.find('\0' + hold_mark(held->holder) + '\0') != std::string::npos)
      return true;
  }
  return false;
}

} // namespace assay::agent
