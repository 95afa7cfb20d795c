#pragma once
// A child process whose output is read through a pipe, with deadlines; where it is asked things,
// its input is a pipe as well.

#include "src/base/clock.hpp"
#include "src/base/result.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace assay::agent {

struct piped_child {
  pid_t pid = 0;
  int to = -1; ///< Its standard input; -1: it has none.
  int from = -1;
};

/// Whether it is asked: then its input is a pipe, and it leads a session of its own. Else it stays
/// in our process group, so that whoever kills that kills it as well.
enum class child_kind { asked, read_only };

/// `argv[0]` by its path, or from PATH. It gets our environment with LC_ALL=C and no file of ours;
/// both pipes are non-blocking. Failure: an errno.
result<piped_child, int> spawn_piped(std::vector<std::string> argv, child_kind kind);

/// Until `file` has what `poll` calls `events`, or came to its end. False when the time is over.
bool wait_for_file(int file, short events, steady_time until);

} // namespace assay::agent
