// Adds what this version writes, and the golden files do not hold yet, at their ends. Nothing that
// is there changes: a line that this version cannot read any more is a mistake, not an old line.

#include "tests/schema/golden.hpp"
#include "tests/support/hex.hpp"

#include <fstream>
#include <iostream>

int main() {
  using namespace assay::test;
  for (const auto* format : {"ledger", "peers", "fabric"}) {
    auto missing = missing_from_golden(format);
    std::ofstream file{golden_path(format), std::ios::app};
    for (const auto& line : missing) {
      file << line.name << ' ' << hex(line.bytes) << '\n';
      if (!line.value.empty())
        file << "  " << line.value << '\n';
      std::cout << golden_path(format) << ": " << line.name << '\n';
    }
    if (!file.flush()) {
      std::cerr << golden_path(format) << " cannot be written\n";
      return 1;
    }
  }
}
