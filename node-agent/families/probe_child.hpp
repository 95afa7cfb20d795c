#pragma once
// A child process that is asked about one family of devices, one line and one answer at a time.
//
// It may hang in the kernel, where not even SIGKILL ends it, or crash; the agent never waits for it
// longer than a deadline, never blocks to reap it, and never has a second one of its family while
// the first has not ended. A child that ended is begun anew after a pause that doubles.

#include "node-agent/host/process.hpp"
#include "src/base/clock.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace assay::agent {

class probe_child {
public:
  /// `argv`: the program by its path, and its words. It gets our environment with LC_ALL=C, a
  /// session of its own, and no file of ours but its three.
  explicit probe_child(std::vector<std::string> argv) : argv_{std::move(argv)} {}

  /// Kills it; what hangs in the kernel is left to it.
  ~probe_child();
  probe_child(const probe_child&) = delete;
  probe_child& operator=(const probe_child&) = delete;

  /// Its answer to a line, without the line's end. Failure: why there is none. Blocks for at most
  /// `patience`.
  result<std::string, problem> ask(std::string_view line, std::chrono::milliseconds patience);

  /// Ends it; the next question goes to a new one, at once.
  void retire();

private:
  result<void, problem> begin();
  result<std::string, problem> read_line(steady_time until);
  bool write_line(std::string_view line, steady_time until) const;
  problem end(const std::string& why);
  bool is_reaped();
  void close_files();

  std::vector<std::string> argv_;
  pid_t pid_ = 0; ///< 0: there is none.
  int to_ = -1;
  int from_ = -1;
  bool is_killed_ = false;
  std::string ended_how_;
  std::chrono::milliseconds pause_{};
  steady_time not_before_{};
};

} // namespace assay::agent
