// The chain on disk, looked at again.

#include "src/ledger/chain.hpp"
#include "src/ledger/chain_walk.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

const uuid cluster{{1, 2, 3}};

/// Three records that follow each other.
std::vector<record_row> three() {
  std::vector<record_row> all;
  auto chain = genesis(cluster);
  for (std::uint64_t seq = 1; seq <= 3; ++seq) {
    record_row row;
    row.canonical = "record " + std::to_string(seq);
    row.stamp.seq = seq;
    row.stamp.stamped_at = {1'000 + static_cast<std::int64_t>(seq)};
    row.stamp.record = record_hash(row.canonical);
    row.stamp.previous_chain = chain;
    chain = chain_hash(chain, seq, row.stamp.record, row.stamp.stamped_at);
    row.stamp.chain = chain;
    all.push_back(row);
  }
  return all;
}

std::optional<finding> first_wrong(const std::vector<record_row>& all) {
  chain_walk w{cluster};
  for (const auto& row : all)
    if (auto wrong = w.take(row))
      return wrong;
  return {};
}

} // namespace

TEST_CASE("records that follow each other are passed one by one") {
  CHECK_FALSE(first_wrong(three()));
}

TEST_CASE("a bit that flipped is found at its record, wherever in the row it is") {
  auto all = three();
  SECTION("in what was written") {
    all[1].canonical[0] ^= 1;
  }
  SECTION("in the record's hash") {
    all[1].stamp.record.bytes[5] ^= 1;
  }
  SECTION("in the chain") {
    all[1].stamp.chain.bytes[5] ^= 1;
  }
  SECTION("in the chain before") {
    all[1].stamp.previous_chain.bytes[5] ^= 1;
  }
  SECTION("in its time") {
    all[1].stamp.stamped_at.value ^= 1;
  }
  SECTION("in its number") {
    all[1].stamp.seq ^= 4;
  }
  auto wrong = first_wrong(all);
  REQUIRE(wrong);
  CHECK(wrong->seq == 2);
  CHECK(wrong->text.starts_with("record 2 "));
}

TEST_CASE("what was wrong may be handed in again, and then the walk goes on") {
  chain_walk w{cluster};
  auto all = three();
  REQUIRE_FALSE(w.take(all[0]));
  CHECK(w.take(all[2]));
  CHECK(w.next() == 2);
  CHECK_FALSE(w.take(all[1]));
  CHECK_FALSE(w.take(all[2]));
}

TEST_CASE("a walk that begins behind a believed record takes only what follows it") {
  auto all = three();
  chain_walk w{all[0].stamp.seq, all[0].stamp.chain};
  CHECK(w.take(all[2]));
  CHECK_FALSE(w.take(all[1]));
  CHECK_FALSE(w.take(all[2]));
  CHECK(w.chain() == all[2].stamp.chain);
  chain_walk other{all[0].stamp.seq, all[1].stamp.chain};
  CHECK(other.take(all[1]));
}

TEST_CASE("the records of another cluster are not this one's") {
  chain_walk w{uuid{{9}}};
  CHECK(w.take(three()[0]));
}

} // namespace assay::ledger::test
