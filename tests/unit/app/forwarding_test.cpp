#include "src/app/forwarding.hpp"
#include "tests/support/eventually.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>

namespace assay::app {

namespace {

/// Two ends: whatever one tells the other, that hears. Node 1 leads and answers, node 2 asks.
struct two_ends {
  std::function<http::service_response(const http::service_request&, const ledger::author&)> serve;
  std::function<peers::send_outcome(std::uint64_t, const peers::message&)> to_leader =
    [this](std::uint64_t, const peers::message& what) {
      leader.hear(2, std::get<peers::admin_ask>(what));
      return peers::send_outcome::queued;
    };
  forwarding leader{
    {[this](std::uint64_t, const peers::message& what) {
       follower.hear(1, std::get<peers::admin_answer>(what));
       return peers::send_outcome::queued;
     },
     [this](const auto& request, const auto& author) { return serve(request, author); }}};
  forwarding follower{
    {[this](std::uint64_t to, const peers::message& what) { return to_leader(to, what); }, {}}};
};

const ledger::author somebody{"root", ledger::authentication::socket};

} // namespace

TEST_CASE("the leader hears the whole request and who asked, and its answer comes back whole") {
  two_ends ends;
  ends.serve = [](const http::service_request& r, const ledger::author& a) {
    auto all = r.method + " " + r.path + " " + r.query.at("a b") + " " + r.body + " " + a.who;
    CHECK_FALSE(r.peer_uid); // Nobody sits at a socket here, and it is not passed on again.
    CHECK(a.how == ledger::authentication::socket);
    return http::service_response{201, "text/plain", all};
  };
  auto got =
    ends.follower.ask(1, {"POST", "/assay/v1/apply", {{"a b", "c&d=e"}}, "{}", 0}, somebody);
  REQUIRE(got);
  CHECK(got->status == 201);
  CHECK(got->content_type == "text/plain");
  CHECK(got->body == "POST /assay/v1/apply c&d=e {} root");
}

TEST_CASE("what could not be sent is told at once, and was surely not done") {
  two_ends ends;
  for (auto why :
       {peers::send_outcome::down, peers::send_outcome::full, peers::send_outcome::invalid}) {
    ends.to_leader = [why](auto, const auto&) { return why; };
    auto got = ends.follower.ask(1, {"GET", "/assay/v1/status", {}, {}, 0}, somebody);
    REQUIRE_FALSE(got);
    CHECK(got.error().what.find("outcome unknown") == std::string::npos);
    CHECK_FALSE(got.error().next.empty());
  }
}

TEST_CASE("an answer that is lost with its leader leaves the outcome unknown, and says so") {
  two_ends ends;
  ends.to_leader = [&ends](std::uint64_t to, const auto&) {
    ends.follower.lost(to);
    return peers::send_outcome::queued;
  };
  auto got = ends.follower.ask(1, {"POST", "/assay/v1/apply", {}, {}, 0}, somebody);
  REQUIRE_FALSE(got);
  CHECK(got.error().what.find("outcome unknown") != std::string::npos);
}

TEST_CASE("an answer to somebody who cannot be reached yet waits until he can") {
  std::atomic<bool> is_up = false;
  std::atomic<int> refused = 0;
  std::atomic<std::uint64_t> said = 0;
  forwarding leader{
    {[&](std::uint64_t, const peers::message& what) {
       if (is_up)
         said = std::get<peers::admin_answer>(what).number;
       else
         ++refused;
       return is_up ? peers::send_outcome::queued : peers::send_outcome::down;
     },
     [](const auto&, const auto&) {
       return http::service_response{200, "t", "b"};
     }}};
  leader.hear(2, {.number = 7, .method = "GET", .path = "/", .who = "root"});
  REQUIRE(test::eventually([&] { return refused > 0; }));
  leader.reached(2); // It is down again: the answer goes on waiting.
  CHECK(said == 0);
  is_up = true;
  CHECK(test::eventually([&] {
    leader.reached(2);
    return said == 7;
  }));
}

TEST_CASE("a late answer, or one to a question of nobody, changes nothing") {
  two_ends ends;
  ends.follower.hear(1, peers::admin_answer{77, 200, "text/plain", "late"});
  ends.serve = [](const auto&, const auto&) { return http::service_response{200, "t", "now"}; };
  auto got = ends.follower.ask(1, {"GET", "/assay/v1/status", {}, {}, 0}, somebody);
  REQUIRE(got);
  CHECK(got->body == "now");
}

} // namespace assay::app
