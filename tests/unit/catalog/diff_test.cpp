#include "src/catalog/diff.hpp"
#include "src/catalog/render.hpp"
#include "tests/unit/catalog/builders.hpp"
#include "tests/unit/catalog/chance.hpp"

namespace assay::catalog {

using namespace testing;

namespace {

constexpr auto small_catalog =
  "pool: p\nfamily: cpu\n---\nmodel: m\nimplementations:\n  - {pool: p, artifact: a, slots: 2}\n";

} // namespace

TEST_CASE("a first apply adds everything, with its fields") {
  const auto wanted = values_of(small_catalog);
  const auto changes = diff(wanted, {});
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].kind == "pool");
  CHECK(changes[0].name == "p");
  CHECK(changes[0].what == change_kind::added);
  CHECK(changes[0].fields.front() == field_change{"family", "", "cpu"});
}

TEST_CASE("a second apply finds everything unchanged") {
  const auto wanted = values_of(small_catalog);
  for (const auto& change : diff(wanted, wanted)) {
    CHECK(change.what == change_kind::unchanged);
    CHECK(change.fields.empty());
  }
}

TEST_CASE("a change names each field with its old and its new value, and no other") {
  const auto current = values_of("implementation: m/p/a\nslots: 2\nargs: {threads: 2, old: x}\n");
  const auto wanted = values_of("implementation: m/p/a\nslots: 4\nargs: {threads: 2, new: y}\n");
  const auto changes = diff(wanted, current);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].what == change_kind::changed);
  CHECK(
    changes[0].fields
    == std::vector<field_change>{{"slots", "2", "4"}, {"args.new", "", "y"}, {"args.old", "x", ""}}
  );
}

TEST_CASE("what is declared and not named in the files is left alone") {
  const auto current = values_of("project: a\n---\nproject: b\n");
  const auto wanted = values_of("project: b\n");
  const auto changes = diff(wanted, current);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].what == change_kind::unchanged);
}

TEST_CASE("two declarations of one name and two kinds are not mixed up") {
  const auto current = values_of("project: x\n");
  const auto wanted = values_of("pool: x\nfamily: cpu\n");
  CHECK(diff(wanted, current).front().what == change_kind::added);
}

TEST_CASE("a changed suite shows its digest and size") {
  const auto current = values_of("suite: s\nitems: [1]\n");
  const auto wanted = values_of("suite: s\nitems: [1, 2]\n");
  const auto changes = diff(wanted, current);
  REQUIRE(changes[0].fields.size() == 2);
  CHECK(changes[0].fields[0].field == "sha256");
  CHECK(changes[0].fields[1] == field_change{"bytes", "20", "23"});
}

TEST_CASE("two declarations differ exactly when a field shows it") {
  // Nothing that a declaration holds may be invisible in its fields.
  for (std::uint32_t seed = 1; seed <= 2'000; ++seed) {
    const auto a = chance{seed}.declaration();
    const auto b = chance{seed + 1}.declaration();
    INFO("seed " << seed);
    const bool same_name = kind_of(a) == kind_of(b) && name_of(a) == name_of(b);
    CHECK((!same_name || a == b || fields_of(a) != fields_of(b)));
    CHECK(diff({&a, 1}, {&a, 1}).front().what == change_kind::unchanged);
  }
}

TEST_CASE("missing names are listed with who needs them") {
  const auto wanted = values_of(small_catalog);
  CHECK(missing(wanted, {}) == std::vector<reference>{{"artifact", "m/a", "implementation m/p/a"}});
  const auto current = values_of("artifact: a\nmodel: m\nkind: adopted\n");
  CHECK(missing(wanted, current).empty());
}

TEST_CASE("an evaluation policy is met by a suite of that name") {
  const auto wanted = values_of("model: m\nevaluation-policy: e\n");
  CHECK(missing(wanted, {}) == std::vector<reference>{{"policy", "e", "model m"}});
  CHECK(missing(wanted, values_of("suite: e\nitems: []\n")).empty());
  CHECK(missing(wanted, values_of("policy: e\nsuite: s\nscore-at-least: 1 %\n")).empty());
}

} // namespace assay::catalog
