#pragma once
// LMDB believes its file: a page that rotted may lead it to memory that is not mapped, or past its
// own assertions. While it runs for us that is a matter of the disk, and the process ends with what
// is wrong and what to do instead of a bare signal.

#include <string>

namespace assay::store {

/// Of one thread, from here to the end of the block: SIGSEGV, SIGBUS and SIGABRT end the process
/// with 74 (EX_IOERR) and write `text` to standard error. Outside of any, they do what they did
/// before. Guards nest; `text` outlives its guard.
class fault_guard {
public:
  explicit fault_guard(const std::string& text);
  ~fault_guard();
  fault_guard(const fault_guard&) = delete;
  fault_guard& operator=(const fault_guard&) = delete;

private:
  const std::string* outer_;
};

} // namespace assay::store
