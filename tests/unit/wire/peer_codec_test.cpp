#include "tests/unit/wire/peer_samples.hpp"

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <random>
#include <string>

namespace assay::wire {

namespace {

using namespace test;

template <class Body>
std::string fault_with(Body body, const std::function<void(Body&)>& damage) {
  damage(body);
  return fault_of(from_2(body));
}

std::string append_fault(const std::function<void(consensus::append_entries&)>& damage) {
  return fault_with(an_append(), damage);
}

std::string install_fault(const std::function<void(consensus::install_snapshot&)>& damage) {
  return fault_with(an_install(), damage);
}

} // namespace

TEST_CASE("every message between coordinators survives the wire") {
  for (const auto& [name, what] : samples()) {
    CAPTURE(name);
    auto bytes = encoded(what);
    auto back = decode_peer_message(bytes_of(bytes));
    INFO((back ? std::string{} : to_text(back.error())));
    REQUIRE(back);
    CHECK(back->index() == what.index());
    CHECK(encoded(*back) == bytes);
  }
  CHECK(std::get<hello>(*decode_peer_message(bytes_of(encoded(a_hello())))) == a_hello());
  CHECK(std::get<state_page>(*decode_peer_message(bytes_of(encoded(a_page())))) == a_page());
}

TEST_CASE("the entries and members of a message come back as they were") {
  auto append = decode_peer_message(bytes_of(encoded(from_2(an_append()))));
  REQUIRE(append);
  const auto& one = std::get<consensus::message>(*append);
  CHECK(one.from == 2);
  CHECK(one.to == 1);
  CHECK(one.run == 7);
  CHECK(one.sequence == 9);
  const auto& body = std::get<consensus::append_entries>(one.body);
  CHECK(body.entries == an_append().entries);
  CHECK(body.count == 3);
  CHECK(body.version == 1);
  CHECK(body.term == 5);
  auto install = decode_peer_message(bytes_of(encoded(from_2(an_install()))));
  REQUIRE(install);
  const auto& mark =
    std::get<consensus::install_snapshot>(std::get<consensus::message>(*install).body).mark;
  CHECK(mark == an_install().mark);
}

TEST_CASE("a coordinator's message cut at any length is a problem with a place") {
  for (const auto& [name, what] : samples()) {
    auto whole = encoded(what);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      auto cut = decode_peer_message(bytes_of(whole.substr(0, size)));
      REQUIRE_FALSE(cut);
      CHECK_FALSE(cut.error().where.empty());
      CHECK_FALSE(cut.error().what.empty());
    }
  }
}

TEST_CASE("damaged bytes are refused, or are a message that passes every check") {
  std::mt19937 chance{20'261'202};
  for (const auto& [name, what] : samples())
    for (int i = 0; i < 500; ++i) {
      auto bytes = encoded(what);
      for (unsigned flips = 1 + chance() % 4; flips > 0; --flips)
        bytes[chance() % bytes.size()] ^= static_cast<char>(1u << chance() % 8);
      auto back = decode_peer_message(bytes_of(bytes));
      if (back)
        CHECK_FALSE(refuse(*back));
      else
        CHECK_FALSE(back.error().where.empty());
    }
}

TEST_CASE("any bytes at all are refused or read, and nothing throws") {
  std::mt19937 chance{4'711};
  for (int i = 0; i < 5'000; ++i) {
    std::string bytes(8 * (chance() % 16), '\0');
    for (auto& c : bytes)
      c = static_cast<char>(chance() % 3 == 0 ? chance() : 0);
    CHECK_NOTHROW(decode_peer_message(bytes_of(bytes)).has_value());
  }
}

TEST_CASE("a kind that only a newer schema knows is refused as such, not as damage") {
  auto bytes = encoded(beat{});
  auto tag = bytes.find('\x02', 16);
  REQUIRE(tag != std::string::npos);
  bytes[tag] = static_cast<char>(std::variant_size_v<message>); // One past the last.
  auto back = decode_peer_message(bytes_of(bytes));
  REQUIRE_FALSE(back);
  CHECK(back.error().kind == problem_kind::refused);
  CHECK(back.error().where == "peer message");
}

TEST_CASE("the largest entry travels in one frame, and one byte more is refused") {
  auto append = an_append();
  append.entries.resize(1);
  append.count = 1;
  append.entries[0].bytes.assign(limits::batch_frame_bytes, 'x');
  auto back = decode_peer_message(bytes_of(encoded(from_2(append))));
  REQUIRE(back);
  append.entries[0].bytes += 'x';
  auto larger = encode(from_2(append));
  REQUIRE_FALSE(larger);
  CHECK(larger.error().where == "append_entries.entries[0].bytes");
}

TEST_CASE("a message that no frame holds is refused by its writer and not looked at by its reader"
) {
  auto page = a_page();
  page.rows = {{"a", std::string(limits::row_bytes, 'x')}};
  CHECK(encode(page));
  page.rows.push_back({"b", std::string(limits::row_bytes, 'x')});
  auto larger = encode(page);
  REQUIRE_FALSE(larger);
  CHECK(larger.error().kind == problem_kind::exhausted);
  auto frame = std::string(limits::peer_frame_bytes + 8, '\0');
  auto back = decode_peer_message(bytes_of(frame));
  REQUIRE_FALSE(back);
  CHECK(back.error().what.find("bytes") != std::string::npos);
}

TEST_CASE("more segments than allowed are refused before a peer's message is parsed") {
  auto bytes = encoded(beat{});
  bytes[0] = 16;
  CHECK_FALSE(decode_peer_message(bytes_of(bytes)));
}

TEST_CASE("sender, receiver, run, sequence and term count from 1") {
  auto fault = [](std::uint64_t from, std::uint64_t to, std::uint64_t run, std::uint64_t sequence) {
    return fault_of(consensus::message{
      from, to, run, sequence, consensus::append_entries_result{.term = 1}});
  };
  CHECK(fault(2, 1, 1, 1).empty());
  CHECK(fault(0, 1, 1, 1) == "consensus.from");
  CHECK(fault(2, 0, 1, 1) == "consensus.from");
  CHECK(fault(1, 1, 1, 1) == "consensus.from");
  CHECK(fault(2, 1, 0, 1) == "consensus.run");
  CHECK(fault(2, 1, 1, 0) == "consensus.sequence");
  constexpr std::uint64_t most = 1ULL << 62;
  CHECK(fault_of(from_2(consensus::append_entries_result{.term = 0})) == "consensus.term");
  CHECK(fault_of(from_2(consensus::append_entries_result{.term = most})).empty());
  CHECK(fault_of(from_2(consensus::append_entries_result{.term = most + 1})) == "consensus.term");
}

TEST_CASE("a coordinator asks for votes only for itself, with an end of its log that can be") {
  using vote = consensus::request_vote;
  auto fault = [](std::uint64_t candidate, std::uint64_t index, std::uint64_t term) {
    return fault_of(from_2(vote{1, 5, candidate, index, term}));
  };
  CHECK(fault(2, 10, 5).empty());
  CHECK(fault(2, 0, 0).empty());
  CHECK(fault(3, 10, 5) == "request_vote.candidate");
  CHECK(fault(2, 10, 0) == "request_vote.last");
  CHECK(fault(2, 0, 1) == "request_vote.last");
  CHECK(fault(2, 10, 6) == "request_vote.last.term");
  CHECK(fault(2, (1ULL << 62) + 1, 5) == "request_vote.last.index");
  CHECK(fault_of(from_2(consensus::timeout_now{1, 5, 10, 6})) == "timeout_now.last.term");
}

TEST_CASE("terms of entries do not fall, and none is above its message's") {
  using append = consensus::append_entries;
  CHECK(append_fault([](append&) {}).empty());
  CHECK(append_fault([](append& m) { m.entries[1].term = 3; }) == "append_entries.entries[1].term");
  CHECK(append_fault([](append& m) { m.entries[0].term = 3; }) == "append_entries.entries[0].term");
  CHECK(append_fault([](append& m) { m.entries[2].term = 6; }) == "append_entries.entries[2].term");
  CHECK(
    append_fault([](append& m) {
      m.previous_index = m.previous_term = 0;
      m.entries[0].term = 0;
    })
    == "append_entries.entries[0].term"
  );
  CHECK(append_fault([](append& m) { m.previous_term = 0; }) == "append_entries.previous");
  CHECK(append_fault([](append& m) { m.previous_index = 0; }) == "append_entries.previous");
  CHECK(append_fault([](append& m) { m.previous_term = 6; }) == "append_entries.previous.term");
  CHECK(append_fault([](append& m) { m.commit = ~0ULL; }) == "append_entries.commit");
  CHECK(append_fault([](append& m) { m.count = 2; }) == "append_entries.count");
}

TEST_CASE("an entry is of a known kind, and a change holds a configuration") {
  using append = consensus::append_entries;
  for (auto kind : {0, 4, 255})
    CHECK(
      append_fault([&](append& m) { m.entries[0].kind = static_cast<entry_kind>(kind); })
      == "append_entries.entries[0].kind"
    );
  CHECK(append_fault([](append& m) { m.entries[2].bytes.pop_back(); }).empty()); // Padding.
  CHECK(
    append_fault([](append& m) { m.entries[2].bytes.resize(20); })
    == "append_entries.entries[2].bytes"
  );
  CHECK(
    append_fault([](append& m) { m.entries[2].bytes.clear(); }) == "append_entries.entries[2].bytes"
  );
}

TEST_CASE("an append may have the limit's entries and not one more") {
  consensus::append_entries m{.term = 1};
  m.entries.assign(limits::peer_entries, {1, entry_kind::command, "x"});
  m.count = limits::peer_entries;
  CHECK(decode_peer_message(bytes_of(encoded(from_2(m)))));
  m.entries.push_back({1, entry_kind::command, "x"});
  ++m.count;
  CHECK(fault_of(from_2(m)) == "append_entries.entries");
}

TEST_CASE("a snapshot's mark is whole and not of the future") {
  using install = consensus::install_snapshot;
  CHECK(install_fault([](install& m) { m.mark.configuration_index = 10; }).empty());
  CHECK(install_fault([](install& m) { m.mark.index = 0; }) == "install_snapshot.index");
  CHECK(install_fault([](install& m) { m.mark.term = 0; }) == "install_snapshot.term");
  CHECK(install_fault([](install& m) { m.mark.term = 6; }) == "install_snapshot.term");
  for (auto index : {0, 11})
    CHECK(
      install_fault([&](install& m) {
        m.mark.configuration_index = static_cast<std::uint64_t>(index);
      })
      == "install_snapshot.configuration_index"
    );
  CHECK(
    install_fault([](install& m) { m.mark.configuration.clear(); })
    == "install_snapshot.configuration"
  );
  CHECK(
    install_fault([](install& m) { m.mark.configuration[1].address.clear(); })
    == "install_snapshot.configuration"
  );
  CHECK(install_fault([](install& m) {
          m.mark.configuration[1].address.assign(limits::peer_address_bytes, 'a');
        }).empty());
  CHECK(
    install_fault([](install& m) {
      m.mark.configuration[1].address.assign(limits::peer_address_bytes + 1, 'a');
    })
    == "install_snapshot.configuration"
  );
}

TEST_CASE("keys of a page ascend, and keys and values have their sizes") {
  auto fault = [](const std::function<void(state_page&)>& damage) {
    auto page = a_page();
    damage(page);
    return fault_of(page);
  };
  CHECK(fault([](state_page& p) { p.rows[1].key.assign(limits::key_bytes, 'z'); }).empty());
  CHECK(
    fault([](state_page& p) { p.rows[1].key.assign(limits::key_bytes + 1, 'z'); })
    == "state_page.rows[1].key"
  );
  CHECK(fault([](state_page& p) { p.rows[0].key.clear(); }) == "state_page.rows[0].key");
  CHECK(fault([](state_page& p) { p.rows[1].key = "a"; }) == "state_page.rows[1].key");
  CHECK(fault([](state_page& p) { p.rows[1].value.assign(limits::row_bytes, 'x'); }).empty());
  CHECK(
    fault([](state_page& p) { p.rows[1].value.assign(limits::row_bytes + 1, 'x'); })
    == "state_page.rows[1].value"
  );
  CHECK(fault([](state_page& p) { p.is_refused = true; }) == "state_page");
  CHECK(fault([](state_page& p) { p.index = 0; }) == "state_page.index");
  CHECK(fault([](state_page& p) { p.attempt = 0; }) == "state_page.attempt");
  CHECK(fault([](state_page& p) { p.after = "a"; }) == "state_page.rows[0].key");
  CHECK(fault([](state_page& p) { p.from = 0; }) == "state_page.from");
  state_request ask{2, 1, 1, 0, std::string(limits::key_bytes, 'k')};
  CHECK(fault_of(ask).empty());
  ask.after += 'k';
  CHECK(fault_of(ask) == "state_request.after");
  ask = {2, 1, 0, 0, {}};
  CHECK(fault_of(ask) == "state_request.attempt");
}

TEST_CASE("a hello names a cluster, a coordinator, a disk and a connection") {
  auto fault = [](const std::function<void(hello&)>& damage) {
    auto said = a_hello();
    damage(said);
    return fault_of(said);
  };
  CHECK(fault([](hello&) {}).empty());
  CHECK(fault([](hello& h) { h.node = 0; }) == "hello.node");
  CHECK(fault([](hello& h) { h.session = 0; }) == "hello.session");
  CHECK(fault([](hello& h) { h.cluster = {}; }) == "hello.cluster");
  CHECK(fault([](hello& h) { h.disk.clear(); }) == "hello.disk");
  CHECK(fault([](hello& h) { h.disk.assign(limits::name_bytes, 'd'); }).empty());
  CHECK(fault([](hello& h) { h.disk.assign(limits::name_bytes + 1, 'd'); }) == "hello.disk");
}

TEST_CASE("a message is from whom its key says, and for us") {
  consensus::message m{2, 1, 1, 1, consensus::append_entries_result{.term = 1}};
  CHECK_FALSE(refuse_route(m, 2, 1));
  CHECK(refuse_route(m, 3, 1)->where == "consensus.from");
  CHECK(refuse_route(m, 2, 3)->where == "consensus.to");
  CHECK(refuse_route(m, 2, 2)->where == "consensus.from");
  CHECK_FALSE(refuse_route(a_page(), 2, 1));
  CHECK(refuse_route(a_page(), 3, 1)->where == "state_page.from");
  CHECK(refuse_route(state_request{2, 1, 1, 0, {}}, 2, 3)->where == "state_request.to");
}

TEST_CASE("pages and the admin API travel on the bulk lane, pools and ingresses on theirs") {
  CHECK(lane_of(a_page()) == lane::bulk);
  CHECK(lane_of(state_request{}) == lane::bulk);
  CHECK(lane_of(an_admin_ask()) == lane::bulk);
  CHECK(lane_of(admin_answer{}) == lane::bulk);
  for (const auto& [name, what] : samples()) {
    CAPTURE(name);
    auto is_service =
      (what.index() >= 7 && what.index() <= 15) || what.index() == 18 || what.index() >= 23;
    CHECK((lane_of(what) == lane::service) == is_service);
  }
  CHECK(lane_of(from_2(an_append())) == lane::consensus);
  CHECK(lane_of(beat{}) == lane::consensus);
}

} // namespace assay::wire
