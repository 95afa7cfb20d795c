// Whole clusters from seeds: a thousand in CI, more by hand.
//
//   ASSAY_SEED=17 build/dev/bin/test_simulation "[replay]"                        one again
//   ASSAY_FIRST=1001 ASSAY_SEEDS=100000 build/dev/bin/test_simulation "[more]"    many more

#include "tests/simulation/cluster.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace assay::simulation {

namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void add(verdict& sum, const verdict& one) {
  sum.acknowledged += one.acknowledged;
  sum.reads += one.reads;
  sum.terms += one.terms;
  sum.entries += one.entries;
  sum.crashes += one.crashes;
  sum.fetches += one.fetches;
  sum.changes += one.changes;
  sum.virtual_ms += one.virtual_ms;
  sum.suffered += one.suffered;
  sum.longest_calm_ms = std::max(sum.longest_calm_ms, one.longest_calm_ms);
}

/// All seeds from `first` on; what they did, so that a run in which nothing happens is seen too.
verdict sail(std::uint64_t first, std::uint64_t count) {
  verdict sum;
  for (auto seed = first; seed < first + count; ++seed) {
    const auto said = cluster{seed, profile_of(seed)}.run();
    INFO("again: ASSAY_SEED=" << seed << " build/dev/bin/test_simulation \"[replay]\"");
    CHECK(said.failure == "");
    if (std::getenv("ASSAY_CALM") != nullptr && said.longest_calm_ms > number_from("ASSAY_CALM", 0))
      std::cout << "seed " << seed << ": " << said.longest_calm_ms << " ms" << std::endl;
    add(sum, said);
  }
  return sum;
}

void print(std::uint64_t count, const verdict& sum) {
  std::cout << count << " seeds: " << sum.virtual_ms / 1'000 << " virtual seconds, "
            << sum.acknowledged << " records acknowledged, " << sum.reads << " reads, "
            << sum.entries << " entries, " << sum.terms << " terms, " << sum.crashes << " crashes, "
            << sum.fetches << " states fetched, " << sum.changes << " changes of the group\n"
            << to_text(sum.suffered) << "\nall agreed at most " << sum.longest_calm_ms
            << " ms after the last fault\n";
}

void expect_much(const verdict& sum, std::uint64_t count) {
  CHECK(sum.acknowledged > 20 * count);
  CHECK(sum.reads > 5 * count);
  CHECK(sum.terms > count);
  CHECK(sum.crashes > count);
  CHECK(sum.fetches > count / 8);
  CHECK(sum.changes > count / 4);
  // Catch-up and compaction, interrupted at each step.
  for (auto during : {stage::fetching, stage::adopting, stage::replacing, stage::forgetting})
    CHECK(sum.suffered.of(during, mishap::killed) > 0);
  for (auto during : {stage::adopting, stage::replacing, stage::committing, stage::forgetting})
    CHECK(sum.suffered.of(during, mishap::disk_full) > 0);
  CHECK(sum.suffered.of(stage::fetching, mishap::link_cut) > 0);
}

} // namespace

// Four cases, so that they share the cores.
TEST_CASE("a cluster keeps every promise, whatever breaks: the first 250 seeds") {
  expect_much(sail(1, 250), 250);
}
TEST_CASE("a cluster keeps every promise, whatever breaks: the second 250 seeds") {
  expect_much(sail(251, 250), 250);
}
TEST_CASE("a cluster keeps every promise, whatever breaks: the third 250 seeds") {
  expect_much(sail(501, 250), 250);
}
TEST_CASE("a cluster keeps every promise, whatever breaks: the fourth 250 seeds") {
  expect_much(sail(751, 250), 250);
}

TEST_CASE("one seed again", "[.][replay]") {
  print(1, sail(number_from("ASSAY_SEED", 1), 1));
}

TEST_CASE("more seeds", "[.][more]") {
  const auto count = number_from("ASSAY_SEEDS", 1'000);
  print(count, sail(number_from("ASSAY_FIRST", 1'001), count));
}

TEST_CASE("a run of a cluster is a number: one seed gives one trace, another seed another") {
  for (std::uint64_t seed = 3; seed <= 6; ++seed) {
    const auto once = cluster{seed, profile_of(seed)}.run();
    CHECK(once.trace == cluster{seed, profile_of(seed)}.run().trace);
    CHECK(once.trace != cluster{seed + 1, profile_of(seed + 1)}.run().trace);
  }
}

} // namespace assay::simulation
