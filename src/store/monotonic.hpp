#pragma once
// The clock of the ledger's threads in consensus's unit.

#include <chrono>
#include <cstdint>

namespace assay::store {

inline std::uint64_t now_ms() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
    duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count()
  );
}

inline std::chrono::steady_clock::time_point at_ms(std::uint64_t ms) {
  return std::chrono::steady_clock::time_point{std::chrono::milliseconds{ms}};
}

} // namespace assay::store
