#pragma once
// Waits for something that another process brings about. The pause only spares the processor; no
// test depends on its length.

#include <chrono>
#include <thread>

namespace assay::test {

/// True as soon as `holds` is, false when it was not within `patience`.
template <class Condition>
bool eventually(Condition holds, std::chrono::seconds patience = std::chrono::seconds{20}) {
  auto until = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return true;
}

} // namespace assay::test
