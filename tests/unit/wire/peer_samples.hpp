#pragma once
// What the tests of the codec between coordinators share: samples, their bytes and their faults.

#include "src/base/peer_limits.hpp"
#include "src/wire/peer_checks.hpp"
#include "src/wire/peer_codec.hpp"
#include "tests/support/peer_samples.hpp"

#include <catch2/catch_test_macros.hpp>

#include <span>
#include <string>

namespace assay::wire::test {

using namespace assay::peers;
using namespace assay::peers::test;

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

inline bool are_same(const pool::pool_view& a, const pool::pool_view& b) {
  return a.pool == b.pool && a.epoch == b.epoch && a.hosts == b.hosts && a.replicas == b.replicas
         && a.implementations == b.implementations && a.queue == b.queue;
}

inline std::string encoded(const message& what) {
  auto bytes = encode(what);
  INFO((bytes ? std::string{} : to_text(bytes.error())));
  REQUIRE(bytes);
  return *bytes;
}

/// The place of the fault; empty when there is none.
inline std::string fault_of(const message& what) {
  auto wrong = refuse(what);
  return wrong ? wrong->where : std::string{};
}

} // namespace assay::wire::test
