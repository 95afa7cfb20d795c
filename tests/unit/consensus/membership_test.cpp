#include "src/consensus/membership.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

namespace assay::consensus {

namespace {

const configuration three{{1, "a"}, {2, "b"}, {3, "c"}};

configuration with(configuration members, member one) {
  members.push_back(std::move(one));
  return members;
}

} // namespace

TEST_CASE("a new member comes last and without a vote, whatever it asks for") {
  auto after = changed(three, add_spare{{4, "d", member_role::voter}});
  REQUIRE(after);
  CHECK(*after == with(three, {4, "d", member_role::spare}));
}

TEST_CASE("a standby has no vote, whatever it asks for, until it is promoted") {
  auto after = changed(three, add_standby{{4, "d", member_role::voter}});
  REQUIRE(after);
  CHECK(*after == with(three, {4, "d", member_role::standby}));
  CHECK(voters_of(*after) == 3);
  CHECK(changed(*after, promote{4}));
}

TEST_CASE("an id or an address that is taken joins nobody, nor does id 0") {
  CHECK_FALSE(changed(three, add_spare{{3, "d"}}));
  CHECK_FALSE(changed(three, add_spare{{4, "c"}}));
  CHECK_FALSE(changed(three, add_spare{{0, "d"}}));
}

TEST_CASE("64 members are as many as there can be") {
  configuration many;
  for (std::uint64_t id = 1; id <= 63; ++id)
    many.push_back({id, std::to_string(id)});
  auto full = changed(many, add_spare{{64, "x"}});
  REQUIRE(full);
  CHECK_FALSE(changed(*full, add_spare{{65, "y"}}));
}

TEST_CASE("only who has no vote gets one, at its old place") {
  const auto four = with(three, {4, "d", member_role::spare});
  auto after = changed(four, promote{4});
  REQUIRE(after);
  CHECK(*after == with(three, {4, "d", member_role::voter}));
  CHECK_FALSE(changed(four, promote{3}));
  CHECK_FALSE(changed(four, promote{5}));
}

TEST_CASE("the last voter stays, and nobody leaves who is not there") {
  CHECK(changed(three, remove_member{2}).value() == configuration{{1, "a"}, {3, "c"}});
  CHECK_FALSE(changed(three, remove_member{4}));
  const configuration last{{1, "a"}, {2, "b", member_role::spare}};
  CHECK_FALSE(changed(last, remove_member{1}));
  CHECK(changed(last, remove_member{2}));
}

TEST_CASE("one change is one member that came, went or got another role") {
  const configuration swapped{{1, "a"}, {4, "d"}, {3, "c"}};
  const configuration turned{{2, "b"}, {1, "a"}, {3, "c"}};
  CHECK(is_one_change(three, three));
  CHECK(is_one_change(three, with(three, {4, "d"})));
  CHECK(is_one_change(three, {{1, "a"}, {3, "c"}}));
  CHECK(is_one_change(three, {{1, "a"}, {2, "b", member_role::spare}, {3, "c"}}));
  CHECK_FALSE(is_one_change(three, swapped)); // Its majority could be two that know nothing.
  CHECK_FALSE(is_one_change(three, turned));
  CHECK_FALSE(is_one_change(three, {{1, "a"}}));
  CHECK_FALSE(is_one_change(three, with(with(three, {4, "d"}), {5, "e"})));
}

TEST_CASE("who was promoted is who votes now and did not before") {
  const auto four = with(three, {4, "d", member_role::spare});
  CHECK(promoted_between(four, with(three, {4, "d"})) == 4);
  CHECK(promoted_between(three, four) == 0);
  CHECK(promoted_between(four, three) == 0);
}

TEST_CASE("whatever is asked for, the group afterwards is one change away") {
  // So the guard `changes_one` of the core has nothing to refuse while changes come from here.
  std::vector<configuration> groups{three, {{1, "a"}}};
  groups.push_back(with(three, {4, "d", member_role::spare}));
  groups.push_back(with(groups.back(), {5, "e", member_role::standby}));
  int allowed = 0;
  for (const auto& before : groups)
    for (std::uint64_t id = 1; id <= 6; ++id)
      for (const membership_change& how : {
             membership_change{add_spare{{id, "new"}}},
             membership_change{add_standby{{id, "new"}}},
             membership_change{promote{id}},
             membership_change{remove_member{id}},
           })
        if (auto after = changed(before, how)) {
          ++allowed;
          CHECK(is_one_change(before, *after));
          CHECK_FALSE(before == *after);
        }
  CHECK(allowed > 30);
}

} // namespace assay::consensus
