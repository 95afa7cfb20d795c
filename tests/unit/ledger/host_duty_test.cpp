// What a host may be used for: who may say it, what becomes of it, and what it means.

#include "src/ledger/host_duty.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

identity_added host(std::string name, char key, std::string pool = "cpu-a") {
  return {std::move(name), identity_role::host, std::string(40, key), {std::move(pool)}, {}};
}

world with_hosts() {
  auto w = world::site();
  w.must(cluster_version{2});
  w.must(host("node", 'n'));
  w.must(host("other", 'o', "cpu-b"));
  w.must(host("everywhere", 'e', ""));
  return w;
}

host_standing is(host_duty duty, std::string name = "node") {
  return {{std::move(name)}, duty, "because " + std::string{words_of(duty)}};
}

using enum host_duty;

} // namespace

TEST_CASE("a host is drained and quarantined from any standing but the same, and resumed from any"
) {
  constexpr std::array all{in_service, draining, quarantined};
  for (auto from : all)
    for (auto to : all) {
      auto w = with_hosts();
      if (from != in_service)
        w.must(is(from));
      INFO(name(from) << " to " << name(to));
      auto is_same = from == to && to != in_service;
      CHECK(w.code(is(to)) == (is_same ? "unchanged" : "taken"));
      CHECK(duty_of(w.t, {"node"}) == to);
    }
}

TEST_CASE("what a host may be used for is decided with a reason, and of a host that is there") {
  auto w = with_hosts();
  CHECK(w.code(host_standing{{"node"}, draining, ""}) == "no_reason");
  CHECK(w.code(is(draining, "nobody")) == "not_found");
  w.must(identity_revoked{"other", "gone"});
  CHECK(w.code(is(draining, "other")) == "revoked");
  CHECK(w.t.identities->at("other").standing == std::nullopt);
}

TEST_CASE("it waits for the version of the cluster that knows it") {
  auto w = world::site();
  w.must(host("node", 'n'));
  CHECK(w.code(is(draining)) == "newer_schema");
  w.must(cluster_version{2});
  CHECK(w.code(is(draining)) == "taken");
}

TEST_CASE("a host that joins again with another key is where it was") {
  auto w = with_hosts();
  w.must(is(quarantined));
  w.must(host("node", 'x'));
  CHECK(duty_of(w.t, {"node"}) == quarantined);
  w.must(host("other", 'y', "cpu-b"));
  CHECK(w.t.identities->at("other").standing == std::nullopt);
}

TEST_CASE("pools are told of hosts that are kept from work, and people by whom, when and why") {
  auto w = with_hosts();
  CHECK(kept_hosts(w.t).empty());
  CHECK(why_kept(w.t, {"node"}).empty());
  w.must(is(draining));
  w.must(is(quarantined, "other"));
  auto kept = kept_hosts(w.t);
  REQUIRE(kept.size() == 2);
  CHECK_FALSE(kept.at({"node"}).quarantined);
  CHECK(kept.at({"other"}).quarantined);
  auto why = why_kept(w.t, {"node"});
  CHECK(why.starts_with("host node is draining since 2027-"));
  CHECK(why.ends_with(", by " + w.t.identities->at("node").standing->author + ": because draining")
  );
  CHECK(kept.at({"node"}).why == why);
  w.must(is(in_service));
  CHECK(why_kept(w.t, {"node"}).empty());
  CHECK(kept_hosts(w.t).size() == 1);
}

TEST_CASE("an explanation names the hosts of the pools that it is about, and those of every pool") {
  auto w = with_hosts();
  for (const auto* name : {"node", "other", "everywhere"})
    w.must(is(draining, name));
  auto lines = kept_lines(w.t, {{"cpu-a"}});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("host everywhere "));
  CHECK(lines[1].starts_with("host node "));
}

} // namespace assay::ledger::test
