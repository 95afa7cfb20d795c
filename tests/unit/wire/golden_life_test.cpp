// A ledger that an earlier program wrote is one that today's auditor believes. The golden files of
// tests/schema hold what is read; this holds what is ruled: a rule that refuses what was taken
// before, or makes other rows of it, breaks every ledger that stands, and belongs to a new schema
// version (docs/invariants.md).

#include "src/wire/export_codec.hpp"
#include "tests/support/forged_export.hpp"
#include "tests/support/hex.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>

namespace assay::ledger::test {

namespace {

constexpr auto path = ASSAY_SOURCE_DIR "/tests/schema/golden/life-1.golden";

/// Everything that later records are held against: qualifications and their runs, a waiver, moves
/// that came to all their ends, keys and jobs.
world life() {
  auto w = world::site();
  qualify(w, {"qa"}, impl_a);
  promote(w, "first", impl_a, {"qa"});
  w.must(waiver{"w", impl_b, {4, 5}, {w.now.value + 3'600'000}, "before it is qualified"});
  qualify(w, {"qb"}, impl_b);
  promote(w, "second", impl_b, {"qb"});
  w.must(plan(w, "third", all_to(impl_a)));
  w.must(move_authorised{{"third"}, {{"qa"}, {"qb"}}, {}});
  w.must(move_acked{{"third"}, moves::event::stage, {}});
  w.must(move_changed{{"third"}, moves::event::abort, observation::none, "on purpose"});
  w.must(key_issued{{"own"}, some_digest("own"), true});
  w.must(key_issued{{"k"}, some_digest("k")});
  w.must(job_submitted{
    .id = {"j"}, .model = {"m"}, .input = some_digest("in"), .items = 3, .name = "j"});
  w.now.value += 1'000;
  qualify(w, {"qa-again"}, impl_a);
  w.must(key_revoked{{"k"}, "lost"});
  w.must(cluster_version{2});
  w.must(identity_added{"node", identity_role::host, std::string(40, 'n'), {"cpu-a"}, {}});
  for (auto duty : {host_duty::draining, host_duty::quarantined, host_duty::in_service})
    w.must(host_standing{{"node"}, duty, "a new fan"});
  return w;
}

std::string exported(const world& w) {
  forger f{*w.t.head.cluster};
  for (const auto& one : w.story)
    f.put(one);
  f.found();
  return f.exported();
}

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes += static_cast<char>(std::stoi(std::string{hex.substr(at, 2)}, nullptr, 16));
  return bytes;
}

} // namespace

TEST_CASE("a ledger that any version wrote is believed by today's auditor, up to the last record") {
  std::ifstream file{path};
  std::size_t lives = 0;
  for (std::string line; std::getline(file, line); ++lives) {
    auto wrong = wire::audit(bytes_of(line));
    INFO((wrong ? std::to_string(wrong->seq) + ": " + wrong->text : std::string{}));
    CHECK_FALSE(wrong);
  }
  CHECK(lives >= 1);
}

TEST_CASE("a life as this version writes it is believed as well") {
  CHECK_FALSE(wire::audit(exported(life())));
}

// Adds a life as it is written today. What is there stays.
TEST_CASE("write a life", "[.write]") {
  auto written = assay::test::hex(exported(life()));
  std::ofstream file{path, std::ios::app};
  file << written << '\n';
  REQUIRE(file.flush());
}

} // namespace assay::ledger::test
