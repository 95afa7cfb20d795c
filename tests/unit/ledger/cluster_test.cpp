#include "src/base/limits.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

constexpr std::int64_t quarter_ms = 15 * 60'000;

token_issued token(std::int64_t for_ms) {
  return {"t1", some_digest("token"), identity_role::host, {"cpu-a"}, {dawn.value + for_ms}};
}

identity_added host(std::string name, char key, std::string token = "t1") {
  return {std::move(name), identity_role::host, std::string(40, key), {"cpu-a"}, std::move(token)};
}

member voter(std::uint64_t id) {
  auto n = std::to_string(id);
  member m{id, "c" + n, "127.0.0.1:" + n, std::string(63, 'a') + n, true};
  m.curve_public = std::string(39, 'k') + n;
  m.disk = "disk " + n;
  return m;
}

job_checkpoint range(std::uint64_t first, std::uint64_t count, std::string_view output = "out") {
  return {{"j1"}, first, count, count, 0, some_digest(output), {}};
}

world with_job() {
  auto w = world::site();
  w.must(job_submitted{.id = {"j1"}, .model = {"m"}, .input = some_digest("in"), .items = 20});
  return w;
}

} // namespace

TEST_CASE("members are sorted, have a key that checks signatures, and at least one votes") {
  auto w = world::site();
  CHECK(w.code(membership{{}}) == "bad_membership");
  CHECK(w.code(membership{{voter(2), voter(1)}}) == "bad_membership");
  CHECK(w.code(membership{{voter(1), voter(1)}}) == "bad_membership");
  auto keyless = voter(1);
  keyless.signing_public = "x";
  CHECK(w.code(membership{{keyless}}) == "bad_membership");
  auto spare = voter(1);
  spare.voter = false;
  CHECK(w.code(membership{{spare}}) == "bad_membership");
  CHECK(w.code(membership{{voter(1)}}) == "taken");
  CHECK(w.code(membership{{voter(1)}}) == "unchanged");
}

TEST_CASE("two members share no name, address or key") {
  auto w = world::site();
  auto shares = [&](auto field) {
    auto other = voter(2);
    other.*field = voter(1).*field;
    return w.code(membership{{voter(1), other}});
  };
  CHECK(shares(&member::name) == "bad_membership");
  CHECK(shares(&member::address) == "bad_membership");
  CHECK(shares(&member::signing_public) == "bad_membership");
  CHECK(shares(&member::curve_public) == "bad_membership");
  auto nameless = voter(2);
  nameless.name = "";
  CHECK(w.code(membership{{voter(1), nameless}}) != "taken");
  CHECK(w.code(membership{{voter(1), voter(2)}}) == "taken");
}

TEST_CASE("one member comes, goes or changes at a time, so that an old list undoes nothing") {
  auto w = world::site();
  w.must(membership{{voter(1)}});
  w.must(membership{{voter(1), voter(2)}}); // Somebody else read {1} as well:
  CHECK(w.code(membership{{voter(1), voter(3)}}) == "one_at_a_time");
  CHECK(w.code(membership{{voter(1), voter(2), voter(3), voter(4)}}) == "one_at_a_time");
  auto moved = voter(2);
  moved.address = "127.0.0.2:1";
  CHECK(w.code(membership{{voter(1), moved, voter(3)}}) == "one_at_a_time");
  CHECK(w.code(membership{{voter(1), moved}}) == "taken");
  CHECK(w.code(membership{{voter(1)}}) == "taken");
}

TEST_CASE("a cluster whose members are lost goes on in one new one with the name and key of one") {
  auto lost = [] {
    auto w = world::site();
    w.must(membership{{voter(1), voter(2), voter(3)}});
    return w;
  };
  auto risen = voter(4);
  risen.name = voter(2).name;
  risen.signing_public = voter(2).signing_public;
  auto refused = [&](auto change) {
    auto other = risen;
    change(other);
    return lost().code(membership{{other}});
  };
  CHECK(refused([](member& m) { m.name = "c4"; }) == "one_at_a_time");
  CHECK(refused([](member& m) { m.signing_public = voter(1).signing_public; }) == "one_at_a_time");
  CHECK(refused([](member& m) { m.id = 2; }) == "reused_id");
  CHECK(lost().code(membership{{risen, voter(5)}}) == "one_at_a_time");
  CHECK(lost().code(membership{{voter(2)}}) == "one_at_a_time");
  CHECK(lost().code(membership{{risen}}) == "taken");
}

TEST_CASE("a member's id is never another disk's, even after the member is gone") {
  auto w = world::site();
  w.must(membership{{voter(1), voter(2), voter(3)}});
  auto wiped = voter(3);
  wiped.disk = "a new disk";
  CHECK(w.code(membership{{voter(1), voter(2), wiped}}) == "reused_id");
  w.must(membership{{voter(1), voter(2)}});
  CHECK(w.code(membership{{voter(1), voter(2), wiped}}) == "reused_id");
  CHECK(w.code(membership{{voter(1), voter(2), voter(3)}}) == "reused_id");
  CHECK(w.code(membership{{voter(1), voter(2), voter(4)}}) == "taken");
}

TEST_CASE("a secret is issued for a declared key, or for an internal one that is not declared") {
  auto w = world::site();
  CHECK(w.code(key_issued{{"none"}, some_digest("s1")}) == "wrong_key");
  CHECK(w.code(key_issued{{"k"}, some_digest("s1"), true}) == "wrong_key");
  CHECK(w.code(key_issued{{"k"}, {}}) == "bad_key");
  CHECK(w.code(key_issued{{"k"}, some_digest("s1")}) == "taken");
  CHECK(w.code(key_issued{{"evaluator"}, some_digest("s2"), true}) == "taken");
  CHECK(w.code(key_issued{{"evaluator"}, some_digest("s1"), true}) == "secret_reused");
}

TEST_CASE("a new secret replaces the old one, and a revoked key can be issued again") {
  auto w = world::site();
  w.must(key_issued{{"k"}, some_digest("s1")});
  w.must(key_revoked{{"k"}, ""});
  CHECK(w.code(key_revoked{{"k"}, ""}) == "unchanged");
  CHECK(w.code(key_issued{{"k"}, some_digest("s1")}) == "secret_reused");
  w.must(key_issued{{"k"}, some_digest("s2")});
  CHECK_FALSE(w.t.keys->at({"k"}).revoked);
}

TEST_CASE("a token lives for 15 minutes at most") {
  auto w = world::site();
  CHECK(w.code(token(quarter_ms + 1)) == "bad_token");
  CHECK(w.code(token(0)) == "bad_token");
  CHECK(w.code(token(quarter_ms)) == "taken");
  CHECK(w.code(token(quarter_ms)) == "exists");
}

TEST_CASE("a token admits one host, in its time, to its pool") {
  auto w = world::site();
  w.must(token(quarter_ms));
  auto elsewhere = host("h1", 'a');
  elsewhere.pool = {"cpu-b"};
  CHECK(w.code(elsewhere) == "wrong_token");
  CHECK(w.code(host("h1", 'a', "none")) == "unknown_token");
  auto late = w;
  late.now.value += quarter_ms;
  CHECK(late.code(host("h1", 'a')) == "token_expired");
  CHECK(w.code(host("h1", 'a')) == "taken");
  CHECK(w.code(host("h2", 'b')) == "token_used");
}

TEST_CASE("a CURVE key belongs to one name, and a revoked one to nobody") {
  auto w = world::site();
  CHECK(w.code(identity_added{"h1", identity_role::host, "short", {}, ""}) == "bad_key");
  w.must(host("h1", 'a', ""));
  CHECK(w.code(host("h1", 'a', "")) == "unchanged");
  CHECK(w.code(host("h2", 'a', "")) == "key_in_use");
  w.must(identity_revoked{"h1", ""});
  CHECK(w.code(identity_revoked{"h1", ""}) == "unchanged");
  CHECK(w.code(host("h1", 'a', "")) == "revoked");
  CHECK(w.code(host("h1", 'b', "")) == "taken");
}

TEST_CASE("a job has items, a model and input") {
  auto w = world::site();
  job_submitted j{.id = {"j1"}, .model = {"m"}, .input = some_digest("in"), .items = 0};
  CHECK(w.code(j) == "bad_job");
  j.items = limits::job_items + 1;
  CHECK(w.code(j) == "bad_job");
  j.items = limits::job_items;
  j.input = {};
  CHECK(w.code(j) == "bad_job");
  j.input = some_digest("in");
  j.model = {"none"};
  CHECK(w.code(j) == "not_found");
  j.model = {"m"};
  CHECK(w.code(j) == "taken");
  CHECK(w.code(j) == "exists");
}

TEST_CASE("a job ends once, and is finished only when every item is accounted for") {
  auto w = with_job();
  CHECK(w.code(job_ended{{"j1"}, job_end::finished, 19, 0, ""}) == "bad_counts");
  CHECK(w.code(job_ended{{"j1"}, job_end::cancelled, 21, 0, ""}) == "bad_counts");
  CHECK(w.code(job_ended{{"j1"}, job_end::finished, 19, 1, ""}) == "taken");
  CHECK(w.code(job_ended{{"j1"}, job_end::cancelled, 0, 0, ""}) == "not_allowed");
  CHECK(w.code_of_state(range(0, 1)) == "not_allowed");
}

TEST_CASE("no item of a job is done twice, and a repeated checkpoint is harmless") {
  auto w = with_job();
  CHECK(w.code_of_state(range(5, 5)) == "taken");
  CHECK(w.code_of_state(range(5, 5)) == "taken");
  CHECK(w.code_of_state(range(5, 5, "other")) == "overlap");
  CHECK(w.code_of_state(range(9, 2)) == "overlap");
  CHECK(w.code_of_state(range(4, 2)) == "overlap");
  CHECK(w.code_of_state(range(0, 20)) == "overlap");
  CHECK(w.code_of_state(range(10, 2)) == "taken");
  CHECK(w.code_of_state(range(3, 2)) == "taken");
  CHECK(checkpoints_of(w.t, {"j1"}).size() == 3);
}

TEST_CASE("a checkpoint stays within the job") {
  auto w = with_job();
  CHECK(w.code_of_state(range(19, 2)) == "bad_checkpoint");
  CHECK(w.code_of_state(range(20, 1)) == "bad_checkpoint");
  CHECK(w.code_of_state(range(0, 0)) == "bad_checkpoint");
  CHECK(w.code_of_state(range(1, ~std::uint64_t{0})) == "bad_checkpoint");
  CHECK(w.code_of_state(range(19, 1)) == "taken");
}

TEST_CASE("state entries get no seq, and a later one replaces the earlier") {
  auto w = world::site();
  auto seq = w.t.head.seq;
  w.say(state_entry{usage{{"k"}, dawn, 1, 0, 0}});
  w.say(state_entry{usage{{"k"}, dawn, 2, 0, 0}});
  CHECK(w.t.head.seq == seq);
  CHECK(w.t.usage->at({{"k"}, dawn.value}).requests == 2);
}

TEST_CASE("a holding that is given up is gone") {
  auto w = world::site();
  w.say(state_entry{holding{"h1", some_digest("blob"), true}});
  CHECK(w.t.holdings->size() == 1);
  w.say(state_entry{holding{"h1", some_digest("blob"), false}});
  CHECK(w.t.holdings->empty());
  REQUIRE(w.last.rows.front().table == table::holdings);
  CHECK_FALSE(w.last.rows.front().row);
}

} // namespace assay::ledger::test
