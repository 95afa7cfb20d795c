#include "src/store/fault_guard.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <mutex>

namespace assay::store {

namespace {

constexpr int io_error = 74; // EX_IOERR, as after a commit that failed.
constexpr std::array signals{SIGSEGV, SIGBUS, SIGABRT};

std::array<struct sigaction, signals.size()> before;
thread_local const std::string* volatile inside = nullptr;

/// Only what may be called from a signal handler.
void on_fault(int which) {
  if (const auto* text = inside) {
    [[maybe_unused]] auto written = ::write(STDERR_FILENO, text->data(), text->size());
    ::_exit(io_error);
  }
  for (std::size_t i = 0; i < signals.size(); ++i)
    if (signals[i] == which)
      ::sigaction(which, &before[i], nullptr);
  // What faulted is tried again and faults for whoever was there before; what was raised is raised.
  if (which == SIGABRT)
    ::raise(which);
}

void install() {
  struct sigaction how {};
  how.sa_handler = on_fault;
  ::sigemptyset(&how.sa_mask);
  for (std::size_t i = 0; i < signals.size(); ++i)
    ::sigaction(signals[i], &how, &before[i]);
}

} // namespace

fault_guard::fault_guard(const std::string& text) : outer_{inside} {
  static std::once_flag once;
  std::call_once(once, install);
  inside = &text;
}

fault_guard::~fault_guard() {
  inside = outer_;
}

} // namespace assay::store
