#pragma once
// Waits for a folder's files to change, so that nobody has to look again and again.

#include <chrono>
#include <filesystem>

namespace assay::agent {

class folder_watch {
public:
  /// Changes from now on count. Where the kernel gives no watch, `wait` only lets the time pass.
  explicit folder_watch(const std::filesystem::path& folder);
  ~folder_watch();
  folder_watch(const folder_watch&) = delete;
  folder_watch& operator=(const folder_watch&) = delete;

  /// Returns at once when something changed since the last call, else when it does, at most after
  /// `patience`.
  void wait(std::chrono::milliseconds patience);

private:
  int events_ = -1;
};

} // namespace assay::agent
