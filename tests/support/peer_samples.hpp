#pragma once
// Messages between coordinators for tests of their codec.

#include "src/consensus/configuration.hpp"
#include "src/wire/peer_messages.hpp"

#include <string>
#include <utility>
#include <vector>

namespace assay::peers::test {

using consensus::entry_kind;

inline consensus::configuration members() {
  return {
    {1, "10.0.0.1:7104", consensus::member_role::voter},
    {2, "10.0.0.2:7104", consensus::member_role::spare},
  };
}

inline message from_2(consensus::message_body body) {
  return consensus::message{2, 1, 7, 9, std::move(body)};
}

inline consensus::append_entries an_append() {
  return {
    .version = 1,
    .term = 5,
    .previous_index = 10,
    .previous_term = 4,
    .commit = 9,
    .count = 3,
    .entries =
      {
        {4, entry_kind::command, std::string("any\0byte", 8)},
        {5, entry_kind::barrier, "12345678"},
        {5, entry_kind::change, consensus::encode(members())},
      },
  };
}

inline consensus::install_snapshot an_install() {
  return {.version = 1, .term = 5, .mark = {10, 4, 3, members()}};
}

inline state_page a_page() {
  state_page page{
    .from = 2,
    .to = 1,
    .attempt = 4,
    .after = "A",
    .rows = {{"a", "1"}, {"b", std::string("\0", 1)}},
    .is_last = true,
    .index = 12,
    .term = 5,
  };
  page.root.bytes.fill(99);
  return page;
}

inline hello a_hello() {
  return {1, 77, lane::bulk, {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}, 2, "d", 3};
}

/// One of each kind, with every field set to something that is not its default, by name. What
/// tests/schema/golden holds is read as these for ever, so a message that gets a field gets a
/// second sample, and the first stays as it is.
inline std::vector<std::pair<std::string, message>> samples() {
  return {
    {"hello", a_hello()},
    {"welcome", welcome{77}},
    {"beat", beat{}},
    {"closing", closing{closing_reason::other_disk, "another disk"}},
    {"request_vote", from_2(consensus::request_vote{1, 5, 2, 10, 4, true, true})},
    {"request_vote_result", from_2(consensus::request_vote_result{1, 5, true, true, 3, 4})},
    {"append_entries", from_2(an_append())},
    {"append_entries_result", from_2(consensus::append_entries_result{1, 5, 6, 7, 3, 4})},
    {"install_snapshot", from_2(an_install())},
    {"timeout_now", from_2(consensus::timeout_now{1, 5, 10, 4})},
    {"state_request", state_request{2, 1, 4, 12, "b"}},
    {"state_page", a_page()},
  };
}

} // namespace assay::peers::test
