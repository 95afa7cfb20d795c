// Drives the links between coordinators with real sockets, and peers that misbehave.

#include "src/fabric/peer_roster.hpp"
#include "tests/unit/fabric/peer_stage.hpp"

#include <future>

namespace assay::peers {

namespace {

using namespace test;

constexpr std::size_t mib = 1 << 20;

/// Two coordinators that know each other, each lane up both ways.
struct pair_of_coordinators {
  coordinator one{options_of(1, fabric::new_key_pair())};
  coordinator two{options_of(2, fabric::new_key_pair())};

  void meet() {
    one.links->set_peers({two.entry()});
    two.links->set_peers({one.entry()});
    for (auto which : {lane::consensus, lane::bulk, lane::service}) {
      REQUIRE(one.wait_for_up(2, which));
      REQUIRE(two.wait_for_up(1, which));
    }
  }
};

hello hello_of(std::uint64_t node, std::uint64_t session = 1) {
  return {
    .session = session,
    .cluster = a_cluster(),
    .node = node,
    .disk = "disk-" + std::to_string(node),
  };
}

/// What coordinator 1 answers to the hello of somebody who holds the key of coordinator 2.
message answer_to(const hello& said) {
  auto keys = fabric::new_key_pair();
  coordinator one{options_of(1, fabric::new_key_pair())};
  one.links->set_peers({{2, "127.0.0.1:1", keys.shared, "disk-2"}});
  raw_dialler two{one, keys};
  two.meet();
  REQUIRE(two.say(said));
  auto answer = two.listen();
  REQUIRE(answer);
  REQUIRE(two.say(numbered(2, 1, 1)));
  if (std::holds_alternative<closing>(*answer)) {
    CHECK(one.counted([](const link_counters& n) { return n.dropped_session == 1; }));
    CHECK(one.messages.all().empty());
    CHECK(one.links->counters().hellos_refused == 1);
  }
  return *answer;
}

std::pair<closing_reason, std::string> refusal_of(const hello& said) {
  auto answer = answer_to(said);
  REQUIRE(std::holds_alternative<closing>(answer));
  return {std::get<closing>(answer).reason, std::get<closing>(answer).text};
}

} // namespace

TEST_CASE("coordinators hear each other on every lane, by the key's owner") {
  pair_of_coordinators both;
  both.meet();
  CHECK(both.one.links->send(2, numbered(1, 2, 1)) == send_outcome::queued);
  CHECK(both.two.links->send(1, page(2, 1, 7, 10)) == send_outcome::queued);
  REQUIRE(both.two.messages.wait_for_count(1));
  REQUIRE(both.one.messages.wait_for_count(1));
  CHECK(both.one.links->send(2, ticket(7)) == send_outcome::queued);
  REQUIRE(both.two.messages.wait_for_count(2));
  CHECK(number_of(both.two.messages.all()[1].what) == 7);
  CHECK(both.two.messages.all()[0].node == 1);
  CHECK(number_of(both.two.messages.all()[0].what) == 1);
  CHECK(both.one.messages.all()[0].node == 2);
  CHECK(std::get<state_page>(both.one.messages.all()[0].what).attempt == 7);
  REQUIRE(both.one.greetings.wait_for_count(lanes));
  CHECK(both.one.greetings.all()[0].disk == "disk-2");
}

TEST_CASE("consensus and service overtake 64 MiB of pages, and each keeps its order") {
  constexpr std::uint64_t pages = 64;
  constexpr std::uint64_t words = 16;
  pair_of_coordinators both;
  std::promise<void> queued;
  auto all_queued = queued.get_future().share();
  both.two.on_message = [all_queued](const message&) { all_queued.wait(); };
  both.meet();
  for (std::uint64_t i = 1; i <= pages; ++i)
    REQUIRE(both.one.links->send(2, page(1, 2, i, mib)) == send_outcome::queued);
  for (std::uint64_t i = 1; i <= words; ++i) {
    REQUIRE(both.one.links->send(2, numbered(1, 2, i)) == send_outcome::queued);
    REQUIRE(both.one.links->send(2, ticket(i)) == send_outcome::queued);
  }
  queued.set_value();
  REQUIRE(both.two.messages.wait_for_count(pages + 2 * words));
  std::vector<std::uint64_t> heard[lanes];
  std::size_t pages_before_last_word = 0;
  for (const auto& [node, what] : both.two.messages.all()) {
    auto which = lane_of(what);
    heard[static_cast<std::size_t>(which)].push_back(number_of(what));
    if (which != lane::bulk)
      pages_before_last_word = heard[1].size();
  }
  for (const auto& numbers : heard)
    CHECK(std::is_sorted(numbers.begin(), numbers.end()));
  CHECK(heard[0].size() == words);
  CHECK(heard[2].size() == words);
  CHECK(pages_before_last_word < pages);
}

TEST_CASE("the largest entry gets through, and a message that no frame holds is refused at once") {
  pair_of_coordinators both;
  both.meet();
  consensus::append_entries append{.term = 1, .count = 1};
  append.entries = {
    {1, consensus::entry_kind::command, std::string(limits::batch_frame_bytes, 'x')}};
  CHECK(both.one.links->send(2, consensus::message{1, 2, 1, 1, append}) == send_outcome::queued);
  CHECK(both.two.messages.wait_for_count(1));
  append.entries[0].bytes += 'x';
  CHECK(both.one.links->send(2, consensus::message{1, 2, 1, 2, append}) == send_outcome::invalid);
  CHECK(both.one.links->counters().sends_invalid == 1);
}

TEST_CASE("what is sent to nobody, or to a peer that is not up, is dropped and counted") {
  coordinator one{options_of(1, fabric::new_key_pair())};
  CHECK(one.links->send(2, numbered(1, 2, 1)) == send_outcome::down);
  one.links->set_peers({{2, "127.0.0.1:1", fabric::new_key_pair().shared, {}}});
  CHECK(one.wait_for_down(2, lane::consensus, "nobody answers"));
  CHECK(one.links->send(2, numbered(1, 2, 1)) == send_outcome::down);
  CHECK(one.links->counters().sends_down == 2);
}

TEST_CASE(
  "a coordinator with other keys is heard by who knows them, and with the old ones by nobody"
) {
  pair_of_coordinators both;
  both.meet();
  auto old_keys = both.one.keys;
  both.one.keys = fabric::new_key_pair();
  REQUIRE(both.one.links->change_keys(both.one.keys));
  CHECK(both.one.wait_for_down(2, lane::consensus, "our own keys are changed"));
  CHECK(both.one.wait_for_down(2, lane::consensus, "does not allow our key"));
  both.two.links->set_peers({both.one.entry()});
  REQUIRE(both.one.wait_for_up(2, lane::consensus, 2));
  REQUIRE(both.two.wait_for_up(1, lane::consensus, 2));
  CHECK(both.one.links->send(2, numbered(1, 2, 1)) == send_outcome::queued);
  CHECK(both.two.links->send(1, numbered(2, 1, 1)) == send_outcome::queued);
  REQUIRE(both.two.messages.wait_for_count(1));
  REQUIRE(both.one.messages.wait_for_count(1));
  raw_dialler with_old{both.two, old_keys};
  CHECK(with_old.wait_for_event() == fabric::line_event::refused);
}

TEST_CASE("a revoked coordinator is told, closed and not heard again") {
  pair_of_coordinators both;
  both.meet();
  both.two.links->set_peers({});
  CHECK(both.one.wait_for_down(2, lane::consensus, "revoked"));
  CHECK(both.one.wait_for_down(2, lane::bulk, "revoked"));
  CHECK(both.two.wait_for_down(1, lane::consensus, "no longer"));
  CHECK(both.two.links->send(1, numbered(2, 1, 1)) == send_outcome::down);
  CHECK(both.one.wait_for_down(2, lane::consensus, "does not allow our key"));
  CHECK(both.two.messages.all().empty());
}

TEST_CASE("a revoked coordinator that keeps talking has nothing accepted") {
  auto keys = fabric::new_key_pair();
  coordinator one{options_of(1, fabric::new_key_pair())};
  one.links->set_peers({{2, "127.0.0.1:1", keys.shared, {}}});
  raw_dialler two{one, keys};
  two.meet();
  REQUIRE(two.say(hello_of(2)));
  REQUIRE(std::get<welcome>(two.listen().value()).session == 1);
  REQUIRE(two.say(numbered(2, 1, 1)));
  REQUIRE(one.messages.wait_for_count(1));
  one.links->set_peers({});
  for (std::uint64_t i = 2; i <= 50; ++i)
    REQUIRE(two.say(numbered(2, 1, i)));
  CHECK(one.counted([](const link_counters& n) { return n.dropped_key == 49; }));
  CHECK(one.messages.all().size() == 1);
  CHECK(std::get<closing>(two.listen().value()).reason == closing_reason::revoked);
}

TEST_CASE("a key that no registry names does not pass the handshake of a coordinator") {
  coordinator one{options_of(1, fabric::new_key_pair())};
  auto before = one.links->counters().keys_refused;
  raw_dialler stranger{one, fabric::new_key_pair()};
  CHECK(stranger.wait_for_event() == fabric::line_event::refused);
  CHECK(one.counted([&](const link_counters& n) { return n.keys_refused > before; }));
}

TEST_CASE("who answers with another key than the registry's is not spoken to") {
  coordinator one{options_of(1, fabric::new_key_pair())};
  coordinator two{options_of(2, fabric::new_key_pair())};
  auto entry = two.entry();
  entry.key = fabric::new_key_pair().shared;
  one.links->set_peers({entry});
  two.links->set_peers({one.entry()});
  CHECK(one.changes.wait_for_count(1));
  CHECK_FALSE(one.changes.all()[0].is_up);
  CHECK(one.links->send(2, numbered(1, 2, 1)) == send_outcome::down);
}

TEST_CASE("a coordinator of this cluster, id and disk is welcome") {
  CHECK(std::holds_alternative<welcome>(answer_to(hello_of(2))));
}

TEST_CASE("a coordinator of another cluster is refused with both clusters' ids") {
  auto said = hello_of(2);
  said.cluster = a_cluster(9);
  auto [reason, text] = refusal_of(said);
  CHECK(reason == closing_reason::other_cluster);
  CHECK(text.find(to_text(a_cluster())) != std::string::npos);
  CHECK(text.find(to_text(a_cluster(9))) != std::string::npos);
}

TEST_CASE("a coordinator that names another id than its key's is refused") {
  auto [reason, text] = refusal_of(hello_of(3));
  CHECK(reason == closing_reason::other_node);
  CHECK(text.find("coordinator 2") != std::string::npos);
}

TEST_CASE("a second coordinator of one id, on another disk, is refused with what to do") {
  auto said = hello_of(2);
  said.disk = "copy";
  auto [reason, text] = refusal_of(said);
  CHECK(reason == closing_reason::other_disk);
  CHECK(text.find("new id") != std::string::npos);
}

TEST_CASE("a coordinator of another protocol is refused") {
  auto said = hello_of(2);
  said.protocol = protocol_version + 1;
  CHECK(refusal_of(said).first == closing_reason::protocol);
}

TEST_CASE("of two connections of one lane the newest is heard, and the older is told") {
  auto keys = fabric::new_key_pair();
  coordinator one{options_of(1, fabric::new_key_pair())};
  one.links->set_peers({{2, "127.0.0.1:1", keys.shared, {}}});
  raw_dialler older{one, keys};
  older.meet();
  REQUIRE(older.say(hello_of(2, 5)));
  REQUIRE(std::get<welcome>(older.listen().value()).session == 5);
  raw_dialler newer{one, keys};
  newer.meet();
  REQUIRE(newer.say(hello_of(2, 6)));
  REQUIRE(std::get<welcome>(newer.listen().value()).session == 6);
  auto told = std::get<closing>(older.listen().value());
  CHECK(told.reason == closing_reason::superseded);
  CHECK(told.text.find("a copy of its data directory runs elsewhere") != std::string::npos);
  REQUIRE(older.say(numbered(2, 1, 1)));
  CHECK(one.counted([](const link_counters& n) { return n.dropped_session == 1; }));
  raw_dialler late{one, keys};
  late.meet();
  REQUIRE(late.say(hello_of(2, 6)));
  CHECK(std::get<closing>(late.listen().value()).reason == closing_reason::superseded);
}

TEST_CASE("a message in another's name, for another, or on the wrong lane is refused") {
  auto keys = fabric::new_key_pair();
  coordinator one{options_of(1, fabric::new_key_pair())};
  one.links->set_peers({{2, "127.0.0.1:1", keys.shared, {}}});
  raw_dialler two{one, keys};
  two.meet();
  REQUIRE(two.say(hello_of(2)));
  REQUIRE(two.listen());
  two.say(numbered(3, 1, 1));
  CHECK(one.wait_for_refusal("consensus.from"));
  two.say(numbered(2, 3, 1));
  CHECK(one.wait_for_refusal("consensus.to"));
  two.say(page(2, 1, 1, 1));
  CHECK(one.wait_for_refusal("does not carry it"));
  two.say(welcome{1});
  CHECK(one.counted([](const link_counters& n) { return n.dropped_invalid == 4; }));
  two.say(numbered(2, 1, 1));
  CHECK(one.messages.wait_for_count(1));
  CHECK(one.messages.all().size() == 1);
}

TEST_CASE("a peer that never reads costs its budget and no more") {
  constexpr std::size_t budget = 4 * mib;
  auto how = options_of(1, fabric::new_key_pair());
  how.bulk_bytes = budget;
  coordinator one{how};
  pair_of_coordinators others;
  std::promise<void> done;
  auto is_done = done.get_future().share();
  others.two.on_message = [is_done](const message&) { is_done.wait(); };
  one.links->set_peers({others.two.entry()});
  others.two.links->set_peers({one.entry()});
  REQUIRE(one.wait_for_up(2, lane::bulk));
  // What libzmq and the kernel take is bounded by themselves; then the budget fills.
  std::uint64_t sent = 0;
  auto until = std::chrono::steady_clock::now() + patience;
  while (one.links->counters().sends_full < 100 && std::chrono::steady_clock::now() < until) {
    if (one.links->send(2, page(1, 2, ++sent, mib / 4)) == send_outcome::full)
      std::this_thread::yield();
    CHECK(one.links->counters().waiting_bytes <= budget);
  }
  CHECK(one.links->counters().sends_full >= 100);
  done.set_value();
  CHECK(one.counted([](const link_counters& n) { return n.waiting_bytes == 0; }));
}

TEST_CASE("a coordinator that comes back is spoken to again") {
  pair_of_coordinators both;
  both.meet();
  auto how = options_of(2, both.two.keys);
  how.listen = both.two.links->address();
  how.peers = {both.one.entry()};
  both.two.links.reset();
  CHECK(both.one.wait_for_down(2, lane::consensus, ""));
  coordinator again{how};
  REQUIRE(both.one.wait_for_up(2, lane::consensus, 2));
  REQUIRE(both.one.wait_for_up(2, lane::bulk, 2));
  CHECK(both.one.links->send(2, numbered(1, 2, 2)) == send_outcome::queued);
  CHECK(again.messages.wait_for_count(1));
  REQUIRE(again.wait_for_up(1, lane::consensus));
  CHECK(again.links->send(1, numbered(2, 1, 1)) == send_outcome::queued);
  CHECK(both.one.messages.wait_for_count(1));
}

TEST_CASE("who says hello is dialled at once, whatever pause was left") {
  auto keys = fabric::new_key_pair();
  auto how = options_of(1, fabric::new_key_pair());
  how.retry_first = how.retry_most = 2 * patience; // Nobody waits for that.
  coordinator one{how};
  std::string address;
  { // An address where nobody answers any more.
    coordinator gone{options_of(2, keys)};
    address = gone.links->address();
  }
  one.links->set_peers({{2, address, keys.shared, {}}});
  REQUIRE(one.wait_for_down(2, lane::consensus, "nobody answers"));
  auto again = options_of(2, keys);
  again.listen = address;
  coordinator two{again};
  two.links->set_peers({one.entry()});
  CHECK(one.wait_for_up(2, lane::consensus));
}

TEST_CASE("a peer that takes the hello and says nothing is given up and dialled again") {
  auto keys = fabric::new_key_pair();
  fabric::context own;
  fabric::socket mute{own, ZMQ_ROUTER};
  REQUIRE(set_curve_server(mute, keys));
  REQUIRE(mute.bind("tcp://127.0.0.1:*"));
  auto how = options_of(1, fabric::new_key_pair());
  how.peer_silence = 500ms;
  how.peers = {{2, mute.last_endpoint().substr(6), keys.shared, {}}};
  coordinator one{how};
  zmq_pollitem_t item{mute.get(), 0, ZMQ_POLLIN, 0};
  REQUIRE(zmq_poll(&item, 1, std::chrono::milliseconds{patience}.count()) == 1);
  fabric::frame routing;
  fabric::frame said;
  REQUIRE(mute.receive(routing));
  REQUIRE(mute.receive(said));
  auto greeting = wire::decode_peer_message(said.span());
  REQUIRE(greeting);
  CHECK(std::get<hello>(*greeting).node == 1);
  CHECK(one.wait_for_down(2, std::get<hello>(*greeting).lane, "nothing was heard"));
  REQUIRE(zmq_poll(&item, 1, std::chrono::milliseconds{patience}.count()) == 1);
}

TEST_CASE("a peer that moved is dialled at its new address") {
  pair_of_coordinators both;
  auto stale = both.two.entry();
  stale.address = "127.0.0.1:1";
  both.two.links->set_peers({both.one.entry()});
  both.one.links->set_peers({stale});
  REQUIRE(both.one.wait_for_down(2, lane::consensus, "nobody answers"));
  both.one.links->set_peers({both.two.entry()});
  CHECK(both.one.wait_for_up(2, lane::consensus));
}

TEST_CASE("an address that is taken is a problem that names it, for coordinators too") {
  coordinator one{options_of(1, fabric::new_key_pair())};
  auto how = options_of(2, fabric::new_key_pair());
  how.listen = one.links->address();
  auto second = peer_links::start(how, {});
  REQUIRE_FALSE(second);
  CHECK(second.error().where == how.listen);
}

TEST_CASE("entries of the registry that cannot be are left out, each with its reason") {
  auto own = fabric::new_key_pair().shared;
  auto a = fabric::new_key_pair().shared;
  auto b = fabric::new_key_pair().shared;
  std::vector<peer> all{
    {2, "127.0.0.1:1", a, {}},
    {0, "127.0.0.1:1", b, {}},
    {1, "127.0.0.1:1", b, {}},
    {3, "127.0.0.1:1", a, {}},
    {2, "127.0.0.1:1", b, {}},
    {4, "127.0.0.1:1", own, {}},
    {5, "nowhere", b, {}},
    {6, "127.0.0.1:2", b, "d6"},
  };
  auto problems = sift(all, {a_cluster(), 1, "disk-1", 1}, own);
  CHECK(problems.size() == 6);
  REQUIRE(all.size() == 2);
  CHECK(all[0].node == 2);
  CHECK(all[1].node == 6);
}

} // namespace assay::peers
