// Which records a cluster takes, by schema version.

#include "src/ledger/schema.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

const declared pool_x{catalog::pool{.name = {"x"}}};

record of_version(world& w, std::uint16_t version) {
  auto r = w.next_record(pool_x);
  r.schema_version = version;
  return r;
}

std::string code_of(const verdict& v) {
  auto* no = std::get_if<refusal>(&v);
  return no ? no->code : "taken";
}

tables of_members(std::vector<std::uint64_t> ids) {
  tables t;
  for (auto id : ids)
    t.head.members.push_back({id, "c" + std::to_string(id), "", "", true});
  return t;
}

} // namespace

TEST_CASE("a record above the agreed schema version is refused, and names the version it needs") {
  auto w = world::site();
  auto no = std::get<refusal>(w.say(of_version(w, 2)));
  CHECK(no.code == "newer_schema");
  CHECK(
    no.text.find("needs schema version 2; this cluster takes 1 to 1, and nothing was changed")
    != std::string::npos
  );
  w.must(cluster_version{2});
  CHECK(code_of(w.say(of_version(w, 3))) == "newer_schema");
  CHECK(code_of(w.say(of_version(w, 2))) == "taken");
}

TEST_CASE("the agreed schema version goes up and never down") {
  auto w = world::site();
  CHECK(agreed_schema(w.t.head) == 1);
  CHECK(w.code(cluster_version{1}) == "unchanged");
  CHECK(w.code(cluster_version{0}) == "older_schema");
  CHECK(w.code(cluster_version{3}) == "taken");
  CHECK(agreed_schema(w.t.head) == 3);
  CHECK(w.code(cluster_version{2}) == "older_schema");
  CHECK(w.code(cluster_version{3}) == "unchanged");
  CHECK(agreed_schema(w.t.head) == 3);
}

TEST_CASE("a record states at least the version that its kind needs") {
  auto w = world::site();
  CHECK(code_of(w.say(of_version(w, 0))) == "newer_schema");
  CHECK(schema_needed(payload{pool_x}) == 1);
  CHECK(w.next_record(pool_x).schema_version == 1);
  CHECK(schema_needed(payload{cluster_version{}}) == 1); // The last kind of the first version.
  auto newer = w.next_record(host_standing{{"node"}, host_duty::draining, "x"});
  CHECK(newer.schema_version == 2);
  newer.schema_version = 1;
  CHECK(code_of(w.say(newer)) == "bad_envelope");
}

TEST_CASE("a version is due once every member's program knows it") {
  auto t = of_members({1, 2, 3});
  CHECK(due_version(t, {{1, 2}, {2, 2}, {3, 2}}) == cluster_version{2});
  CHECK(due_version(t, {{1, 3}, {2, 2}, {3, 4}}) == cluster_version{2});
  CHECK_FALSE(due_version(t, {{1, 2}, {2, 1}, {3, 2}}));
  CHECK_FALSE(due_version(t, {{1, 2}, {2, 2}}));
  t.head.schema_version = 2;
  CHECK_FALSE(due_version(t, {{1, 2}, {2, 2}, {3, 2}}));
  CHECK_FALSE(due_version(of_members({}), {{1, 2}}));
}

TEST_CASE("a program that knows what was agreed on may go on, an older one is told where it stands"
) {
  head_row head;
  head.seq = 57;
  CHECK(too_old(head, 1).empty());
  head.schema_version = 2;
  CHECK(too_old(head, 2).empty());
  CHECK(
    too_old(head, 1).find("at seq 57, is written under schema version 2; this program knows 1 to 1")
    != std::string::npos
  );
}

TEST_CASE("who joins has to know what was agreed on, and what was agreed on first is version 1") {
  head_row head;
  CHECK(too_old_to_join(head, 1).empty());
  CHECK(too_old_to_join(head, 0).find("agreed on schema version 1") != std::string::npos);
  head.schema_version = 2;
  CHECK(too_old_to_join(head, 2).empty());
  CHECK(
    too_old_to_join(head, 1).find("agreed on schema version 2, and the assayd that would join "
                                  "knows no newer one than 1")
    != std::string::npos
  );
}

} // namespace assay::ledger::test
