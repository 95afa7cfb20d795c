#pragma once
// A run in a process of its own: what a missing guard breaks may be the process.

#include "src/base/check.hpp"
#include "tests/simulation/cluster.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace assay::simulation {

/// What went wrong; empty when nothing did.
inline std::string failure_in_child(std::uint64_t seed, const profile& how) {
  int ends[2];
  check(::pipe(ends) == 0, "a pipe can be made");
  const auto child = ::fork();
  check(child >= 0, "a process can be made");
  if (child == 0) {
    ::close(ends[0]);
    for (int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGTERM})
      ::signal(signal, SIG_DFL); // The parent reports, not the framework in the child.
    ::close(STDERR_FILENO);
    const auto said = cluster{seed, how}.run().failure;
    bool is_told = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(is_told ? 0 : 1);
  }
  ::close(ends[1]);
  std::string out(4'096, '\0');
  const auto size = ::read(ends[0], out.data(), out.size());
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return "the process died";
  out.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return out;
}

} // namespace assay::simulation
