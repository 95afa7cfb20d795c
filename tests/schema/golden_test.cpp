// What any version wrote can be read for ever: the files hold it, line by line.

#include "tests/schema/golden.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::test {

namespace {

/// Kinds that no version ever sent. Their numbers stay taken, and nobody reads them any more.
bool is_retired(const golden_line& line) {
  return line.name == "agent log_chunk" || line.name == "coordinator forget_replica"
         || line.name == "coordinator want_log";
}

} // namespace

TEST_CASE("what any version wrote to the ledger is read as it was meant, and written the same") {
  auto lines = read_golden("ledger");
  CHECK(lines.size() >= 63); // Of the first version.
  for (const auto& line : lines) {
    INFO(line.name);
    auto read = read_today("ledger", line);
    REQUIRE(read);
    CHECK(read->value == line.value);
    CHECK(read->bytes == line.bytes);
  }
}

TEST_CASE("a message that any version sent is read as its sample") {
  for (const auto* format : {"peers", "fabric"}) {
    auto samples = written_today(format);
    auto lines = read_golden(format);
    CHECK(lines.size() >= samples.size());
    for (const auto& line : lines) {
      INFO(format << ' ' << line.name);
      auto* sample = newest(samples, line.name);
      auto read = read_today(format, line);
      if (is_retired(line)) {
        CHECK_FALSE(read);
        continue;
      }
      REQUIRE(sample);
      REQUIRE(read);
      CHECK(read->bytes == sample->bytes);
    }
  }
}

TEST_CASE("what this version writes says in the golden file what it was made from") {
  auto lines = read_golden("ledger");
  for (const auto& today : written_today("ledger")) {
    INFO(today.name);
    auto* line = newest(lines, today.name);
    CHECK((line && line->value == today.value));
  }
}

TEST_CASE("the golden files hold everything that this version writes; tests/schema/remake adds it"
) {
  for (const auto* format : {"ledger", "peers", "fabric"})
    for (const auto& missing : missing_from_golden(format))
      FAIL_CHECK(missing.name << " is not in " << golden_path(format));
}

} // namespace assay::test
