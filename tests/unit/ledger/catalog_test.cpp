#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <functional>

namespace assay::ledger::test {

TEST_CASE("a declaration that changes nothing is refused as unchanged") {
  auto w = world::site();
  CHECK(w.code(declared{lenient}) == "unchanged");
  auto other = lenient;
  other.items_at_least = 30;
  CHECK(w.code(declared{other}) == "taken");
  CHECK(w.t.policies->at({"lenient"}).what.items_at_least == 30);
}

TEST_CASE("a policy's life: declared, replaced by a version of its own, taken away when not needed"
) {
  auto stricter = lenient;
  stricter.items_at_least = 30;
  auto absent = [](world& w) {
    w.must(declared{catalog::model{.id = {"m"}, .name = "m"}});
    w.must(retired{declaration_kind::policy, "lenient"});
  };
  auto idle = [](world& w) { w.must(declared{catalog::model{.id = {"m"}, .name = "m"}}); };
  auto needed = [](world&) {};
  struct pair {
    std::function<void(world&)> from;
    payload what;
    std::string code;
  };
  const retired gone{declaration_kind::policy, "lenient"};
  const std::vector<pair> all{
    {absent, declared{lenient}, "taken"},
    {absent, declared{stricter}, "taken"},
    {absent, gone, "not_found"},
    {idle, declared{lenient}, "unchanged"},
    {idle, declared{stricter}, "taken"},
    {idle, gone, "taken"},
    {needed, declared{lenient}, "unchanged"},
    {needed, declared{stricter}, "taken"},
    {needed, gone, "in_use"},
  };
  const auto first = world::site().t.policies->at({"lenient"}).record;
  for (const auto& one : all) {
    auto w = world::site();
    one.from(w);
    CHECK(w.code(one.what) == one.code);
    auto* now = find(w.t.policies, policy_id{"lenient"});
    if (now && now->what == stricter)
      CHECK(now->record != first);
  }
}

TEST_CASE("what something depends on cannot be taken away, and the refusal names the dependents") {
  auto w = world::site();
  struct needed {
    declaration_kind kind;
    std::string name;
    std::string by;
  };
  auto c = GENERATE(
    needed{declaration_kind::pool, "cpu-a", "m/cpu-a/a"},
    needed{declaration_kind::model, "m", "m/a"},
    needed{declaration_kind::artifact, "m/a", "m/cpu-a/a"},
    needed{declaration_kind::runtime_profile, "p", "m/a"},
    needed{declaration_kind::suite, "s", "lenient"},
    needed{declaration_kind::policy, "lenient", "\"m\""},
    needed{declaration_kind::project, "lab", "\"k\""}
  );
  auto no = std::get<refusal>(w.say(retired{c.kind, c.name}));
  CHECK(no.code == "in_use");
  CHECK(no.text.find(c.by) != std::string::npos);
}

TEST_CASE("an implementation on a route cannot be taken away until traffic has left it") {
  auto w = world::site();
  qualify(w, {"q1"}, impl_a);
  promote(w, "mv1", impl_a, {"q1"});
  CHECK(w.code(retired{declaration_kind::implementation, impl_a.value}) == "in_use");
  qualify(w, {"q2"}, impl_b);
  promote(w, "mv2", impl_b, {"q2"});
  CHECK(w.code(retired{declaration_kind::implementation, impl_a.value}) == "taken");
}

TEST_CASE("a site can be taken down from the top") {
  auto w = world::site();
  w.must(retired{declaration_kind::implementation, impl_a.value});
  w.must(retired{declaration_kind::implementation, impl_b.value});
  w.must(retired{declaration_kind::artifact, "m/a"});
  w.must(retired{declaration_kind::model, "m"});
  w.must(retired{declaration_kind::policy, "lenient"});
  w.must(retired{declaration_kind::suite, "s"});
  w.must(retired{declaration_kind::runtime_profile, "p"});
  w.must(retired{declaration_kind::pool, "cpu-a"});
  w.must(retired{declaration_kind::pool, "cpu-b"});
  w.must(retired{declaration_kind::key, "k"});
  w.must(retired{declaration_kind::project, "lab"});
  CHECK(all_declarations(w.t).empty());
  CHECK(w.t.artifact_states->empty());
}

TEST_CASE("what is not there cannot be taken away") {
  auto w = world::site();
  CHECK(w.code(retired{declaration_kind::pool, "cpu-z"}) == "not_found");
}

TEST_CASE("taking a key away revokes its secret") {
  auto w = world::site();
  w.must(key_issued{{"k"}, some_digest("secret")});
  w.must(retired{declaration_kind::key, "k"});
  CHECK(w.t.keys->at({"k"}).revoked);
}

TEST_CASE("a profile or suite whose text does not match its digest is refused") {
  auto w = world::site();
  CHECK(
    w.code(declared{catalog::profile_document{{"q"}, "text", sha256("other")}}) == "digest_mismatch"
  );
  CHECK(
    w.code(declared{catalog::suite_document{{"q"}, "text", sha256("other")}}) == "digest_mismatch"
  );
}

TEST_CASE("new files under an old name start the artifact's life again") {
  auto w = world::site();
  auto changed = artifact_a();
  changed.files[0].sha256 = some_digest("other bytes");
  w.must(declared{changed});
  CHECK(w.t.artifact_states->at({"m/a"}).state == artifact_state::registered);
}

TEST_CASE("a new place for the same files leaves the artifact verified") {
  auto w = world::site();
  auto moved = artifact_a();
  moved.location = "/elsewhere";
  w.must(declared{moved});
  CHECK(w.t.artifact_states->at({"m/a"}).state == artifact_state::verified);
}

TEST_CASE("the files of an artifact on a route cannot change under it") {
  auto w = world::site();
  qualify(w, {"q1"}, impl_a);
  promote(w, "mv1", impl_a, {"q1"});
  auto changed = artifact_a();
  changed.files[0].sha256 = some_digest("other bytes");
  CHECK(w.code(declared{changed}) == "in_use");
}

} // namespace assay::ledger::test
