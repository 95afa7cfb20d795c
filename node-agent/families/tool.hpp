#pragma once
// A vendor's tool, run by a probe child: once for its output, or on and on for its lines. It stays
// in the child's process group, so that whoever kills that kills the tool as well.

#include "src/base/clock.hpp"
#include "src/base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace assay::agent {

/// Runs `argv[0]` from PATH and gives what it wrote to standard output. Failure: one clause; a tool
/// that takes longer than `patience` is killed.
result<std::string, std::string>
output_of(const std::vector<std::string>& argv, std::chrono::milliseconds patience);

/// A tool that writes a line now and then.
class line_stream {
public:
  line_stream(std::vector<std::string> argv, std::chrono::milliseconds silence);
  ~line_stream();
  line_stream(const line_stream&) = delete;
  line_stream& operator=(const line_stream&) = delete;

  /// The newest whole line, or the one before where there is none; when it came. A tool that ended,
  /// or was silent for too long, is begun anew.
  struct newest_line {
    std::string text; ///< Empty: there is none.
    wall_ms at;
    std::string why_none;
  };
  newest_line newest();

private:
  void begin();
  void end(const std::string& why);

  std::vector<std::string> argv_;
  std::chrono::milliseconds silence_;
  pid_t pid_ = 0;
  int file_ = -1;
  std::string partial_;
  newest_line newest_;
  steady_time heard_{};
  steady_time not_before_{};
};

} // namespace assay::agent
