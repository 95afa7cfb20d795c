#include "src/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace assay {

void check_failed(std::string_view what, std::source_location where) {
  std::fprintf(
    stderr,
    "assay: this is a bug: %.*s (%s:%u in %s)\n",
    static_cast<int>(what.size()),
    what.data(),
    where.file_name(),
    where.line(),
    where.function_name()
  );
  std::abort();
}

} // namespace assay
