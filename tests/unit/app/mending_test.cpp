// When a damaged copy is mended, and what is said of it.

#include "src/app/mending.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::app {

namespace {

using namespace std::chrono_literals;
constexpr steady_time begun{1h};

store::engine_status follower() {
  store::engine_status out;
  out.server_id = 2;
  out.leader_id = 1;
  for (std::uint64_t id = 1; id <= 3; ++id)
    out.members.push_back({id, "there", consensus::member_role::voter});
  return out;
}

bool is_due(const store::engine_status& now, bool is_leader_sound = true) {
  mending m;
  m.found(begun);
  return m.is_due(now, is_leader_sound, begun + mending::pause);
}

} // namespace

TEST_CASE("a damaged follower asks the leader, if that is sound") {
  CHECK(is_due(follower()));
  CHECK_FALSE(is_due(follower(), false));
  auto now = follower();
  now.leader_id = 0;
  CHECK_FALSE(is_due(now));
  now = follower();
  now.is_leader = true;
  CHECK_FALSE(is_due(now));
  now = follower();
  now.is_fetching = true;
  CHECK_FALSE(is_due(now));
  now = follower();
  now.members.resize(1);
  CHECK_FALSE(is_due(now));
}

TEST_CASE("the others hear of the damage first, and one try comes a while after the other") {
  mending m;
  m.found(begun);
  CHECK_FALSE(m.is_due(follower(), true, begun + mending::pause - 1ns));
  CHECK(m.is_due(follower(), true, begun + mending::pause));
  auto at = begun + mending::pause;
  for (auto pause : {1, 2, 4, 8, 16, 16}) {
    CHECK_FALSE(m.is_due(follower(), true, at + pause * mending::pause - 1ns));
    at += pause * mending::pause;
    CHECK(m.is_due(follower(), true, at));
  }
}

TEST_CASE("a disk that is damaged again and again is not mended for ever, and is to be replaced") {
  mending m;
  for (unsigned i = 0; i < mending::most; ++i) {
    m.found(begun);
    CHECK(m.text("record 7", follower()).find("takes its place") != std::string::npos);
    CHECK(m.is_due(follower(), true, begun + mending::pause));
    m.ended();
  }
  m.found(begun);
  CHECK_FALSE(m.is_due(follower(), true, begun + mending::pause));
  const auto text = m.text("record 7", follower());
  CHECK(text.starts_with("the ledger on this disk is damaged: record 7, after it was mended 3 times"
  ));
  CHECK(text.find("assay cluster remove") != std::string::npos);
}

TEST_CASE("who is alone is told to go on from a backup") {
  auto now = follower();
  now.members.resize(1);
  CHECK(mending{}.text("record 7", now).find("from a backup") != std::string::npos);
}

} // namespace assay::app
