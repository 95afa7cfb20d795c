#include "src/consensus/configuration.hpp"
#include "src/consensus/guards.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::consensus {

namespace {

const configuration three{{1, "1"}, {2, "2"}, {3, "3"}};

situation follower() {
  situation out;
  out.self = 1;
  out.term = 5;
  out.first_index = 1;
  out.last_index = 10;
  out.members = &three;
  return out;
}

message from(std::uint64_t sender, message_body body) {
  return {sender, 1, 1, 1, std::move(body)};
}

append_entries probe(std::uint64_t term, std::uint64_t previous, std::vector<entry> entries = {}) {
  append_entries out;
  out.term = term;
  out.previous_index = previous;
  out.previous_term = previous == 0 ? 0 : 5;
  out.entries = std::move(entries);
  return out;
}

request_vote vote(std::uint64_t term, std::uint64_t candidate) {
  request_vote out;
  out.term = term;
  out.candidate = candidate;
  return out;
}

append_entries_result success(std::uint64_t last) {
  append_entries_result out;
  out.term = 5;
  out.last_index = last;
  return out;
}

entry change() {
  return {5, entry_kind::change, encode(three)};
}

} // namespace

TEST_CASE("a sender that is nobody or ourselves is not heard") {
  auto here = follower();
  CHECK_FALSE(refuse(from(2, probe(5, 10)), here));
  for (std::uint64_t id : {0, 1})
    CHECK(refuse(from(id, probe(5, 10)), here));
}

TEST_CASE("requests come from members we do not know yet, answers only from those we know") {
  // Who lags behind the change that added its leader would else refuse that leader for ever.
  auto here = follower();
  here.is_candidate = true;
  CHECK_FALSE(refuse(from(77, probe(5, 10)), here));
  CHECK_FALSE(refuse(from(77, vote(6, 77)), here));
  CHECK(refuse(from(77, success(10)), here));
  CHECK_FALSE(refuse(from(2, success(10)), here));
}

TEST_CASE("a term is believed up to the largest leap and not one further") {
  auto here = follower();
  CHECK(refuse(from(2, vote(0, 2)), here));
  CHECK_FALSE(refuse(from(2, vote(5 + term_leap_max, 2)), here));
  CHECK(refuse(from(2, vote(5 + term_leap_max + 1, 2)), here));
}

TEST_CASE("nobody asks for a vote in another's name, and votes count only in an election") {
  auto here = follower();
  CHECK(refuse(from(2, vote(6, 3)), here));
  request_vote_result granted;
  granted.term = 5;
  CHECK(refuse(from(2, granted), here));
  here.is_candidate = true;
  CHECK_FALSE(refuse(from(2, granted), here));
}

TEST_CASE("entries must be in order of terms, of known kinds and with sound changes") {
  auto here = follower();
  auto refused = [&](std::vector<entry> entries) {
    return refuse(from(2, probe(6, 10, std::move(entries))), here).has_value();
  };
  CHECK_FALSE(refused({{5, entry_kind::command, "x"}, {6, entry_kind::command, "y"}}));
  CHECK(refused({{6, entry_kind::command, "x"}, {5, entry_kind::command, "y"}}));
  CHECK(refused({{7, entry_kind::command, "x"}}));
  CHECK(refused({{0, entry_kind::command, "x"}}));
  CHECK(refused({{5, static_cast<entry_kind>(4), "x"}}));
  CHECK(refused({{5, entry_kind::change, "x"}}));
}

TEST_CASE("index and term of the previous entry must agree that there is one") {
  auto here = follower();
  auto odd = probe(5, 0);
  CHECK_FALSE(refuse(from(2, odd), here));
  odd.previous_term = 3;
  CHECK(refuse(from(2, odd), here));
  CHECK(refuse(from(2, probe(5, 1ULL << 63)), here));
}

TEST_CASE("a leader hears no other leader of its own term") {
  auto here = follower();
  here.is_leader = true;
  CHECK(refuse(from(2, probe(5, 10)), here));
  CHECK_FALSE(refuse(from(2, probe(6, 10)), here));
}

TEST_CASE("a follower cannot claim an entry that the leader never had") {
  auto here = follower();
  CHECK_FALSE(refuse(from(2, success(10)), here));
  CHECK(refuse(from(2, success(11)), here));
}

TEST_CASE("a snapshot must be whole, and one at a time") {
  auto here = follower();
  install_snapshot good;
  good.term = 5;
  good.mark = {20, 4, 1, three};
  CHECK_FALSE(refuse(from(2, good), here));
  auto worse = good;
  worse.mark.configuration.clear();
  CHECK(refuse(from(2, worse), here));
  worse = good;
  worse.mark.configuration_index = 21;
  CHECK(refuse(from(2, worse), here));
  here.is_installing = true;
  CHECK(refuse(from(2, good), here));
}

TEST_CASE("a probe into our compacted past is moved to the snapshot") {
  auto here = follower();
  here.first_index = 8;
  here.snapshot_index = 9;
  here.snapshot_term = 4;
  std::vector<entry> entries(5, entry{5, entry_kind::command, "x"});
  auto moved = probe(5, 6, entries);
  skip_compacted(moved, here);
  CHECK(moved.previous_index == 9);
  CHECK(moved.previous_term == 4);
  CHECK(moved.entries.size() == 2);
  auto known = probe(5, 8, entries);
  skip_compacted(known, here);
  CHECK(known.previous_index == 8);
}

TEST_CASE("a message is split so that each change comes first in its own") {
  auto command = entry{5, entry_kind::command, "x"};
  auto parts = split_at_changes(probe(5, 10, {command, change(), command, command, change()}));
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].entries.size() == 1);
  CHECK(parts[1].previous_index == 11);
  CHECK(parts[1].previous_term == 5);
  CHECK(parts[1].entries.size() == 3);
  CHECK(parts[2].previous_index == 14);
  CHECK(split_at_changes(probe(5, 10)).size() == 1);
}

TEST_CASE("messages pass in their order, each once, and a new run begins again") {
  arrival_order order;
  auto numbered = [](std::uint64_t run, std::uint64_t sequence) {
    return message{2, 1, run, sequence, timeout_now{}};
  };
  CHECK(order.take(numbered(1, 1)));
  CHECK(order.take(numbered(1, 3)));
  CHECK_FALSE(order.take(numbered(1, 3)));
  CHECK_FALSE(order.take(numbered(1, 2)));
  CHECK(order.take(numbered(2, 1)));
  CHECK_FALSE(order.take(numbered(1, 4)));
}

} // namespace assay::consensus
