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

inline digest filled(std::uint8_t with) {
  digest d;
  d.bytes.fill(with);
  return d;
}

/// The last one.
inline blob_page a_blob_page() {
  return {
    .blob = filled(7), .offset = 512 << 10, .size = (512 << 10) + 8, .bytes = {"any\0byte", 8}};
}

inline pool::pool_view a_view() {
  pool::pool_view view{.pool = {"gpu"}, .epoch = 5};
  view.hosts = {{{"h"}, 3, true, true, 8, 7, 1ULL << 40, filled(1), {filled(2), filled(3)}}};
  pool::replica_view replica{
    .id = {"m/gpu/a/1@h"},
    .implementation = {"m/gpu/a"},
    .host = {"h"},
    .generation = 9,
    .phase = pool::phase::saturated,
    .takes_traffic = true,
    .address = "10.0.0.7:7200",
    .secret = "s3cret",
    .fingerprint = filled(1),
    .slots = 4,
    .credits = 3,
    .in_flight = 2,
    .devices = {"0", "1"},
    .reason = "why",
  };
  view.replicas = {replica};
  view.implementations = {{{"m/gpu/a"}, 1, 2, 3, 4, 5, true, true, "a host"}};
  view.queue = {{1, 2, 3, 4}, std::chrono::milliseconds{55}, 1.5};
  return view;
}

inline constexpr std::chrono::milliseconds ms(int count) {
  return std::chrono::milliseconds{count};
}

inline ingress_report a_report() {
  return {5, {"gpu"}, ms(123'456), {{{"10.0.0.7:7200", 9}, 4, 3, 2, 1}}, {7, 8}};
}

/// As it is since ingresses say by which records they route.
inline ingress_report a_newer_report() {
  auto report = a_report();
  report.seq = 12;
  return report;
}

inline ticket_ask an_ask() {
  return {
    .epoch = 5,
    .pool = {"gpu"},
    .ticket = 7,
    .traffic = contract::traffic_class::shadow,
    .project = {"p"},
    .acceptable = {{"m/gpu/a"}, {"m/gpu/b"}},
    .excluded = {{"10.0.0.7:7200", 9}},
    .left = ms(30'000),
  };
}

inline lease a_lease() {
  return {
    .epoch = 5,
    .pool = {"gpu"},
    .endpoint = {"10.0.0.7:7200", 9},
    .credits = 4,
    .degraded = contract::degraded_rule::stop,
    .waiting = pool::contention::interactive_waits,
    .number = 11,
    .heard = ms(123'456),
    .left = ms(9'999),
  };
}

inline ticket_refuse a_refusal() {
  return {5, {"gpu"}, 7, pool::ticket_refusal::no_replica, std::chrono::seconds{9}, true};
}

inline admin_ask an_admin_ask() {
  return {3, "POST", "/v1/apply", "dry=1", std::string("a\0b", 3), "root", 2};
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
    {"ingress_hello", ingress_hello{5, {"in-2"}, 77}},
    {"ingress_report", a_report()},
    {"ingress_report_2", a_newer_report()},
    {"ticket_ask", an_ask()},
    {"ticket_withdraw", ticket_withdraw{5, {"gpu"}, 7}},
    {"pools_now", pools_now{5, {{"cpu"}, {"gpu"}}}},
    {"pool_state", pool_state{5, a_view()}},
    {"lease", a_lease()},
    {"ticket_admit", ticket_admit{5, {"gpu"}, 7, {"m/gpu/a"}, {"10.0.0.7:7200", 9}}},
    {"ticket_refuse", a_refusal()},
    {"admin_ask", an_admin_ask()},
    {"admin_answer", admin_answer{3, 409, "application/json", "{}"}},
    {"clock_told", clock_told{{1'700'000'000'000}}},
    {"blob_offer", blob_offer{filled(7), 1 << 20}},
    {"blob_want", blob_want{filled(7), 512 << 10}},
    {"blob_page", a_blob_page()},
    {"blob_page_missing", blob_page{.blob = filled(7), .is_missing = true}},
    {"blob_kept", blob_kept{filled(7)}},
    {"service_told", service_told{std::string("r\0x", 3)}},
    {"service_kept", service_kept{a_hello().cluster, "bad_hour"}},
    {"sync_told", sync_told{ms(321)}},
    {"disk_told", disk_told{.is_full = false, .is_damaged = true}},
  };
}

} // namespace assay::peers::test
