// What agents saw, as records: asked of the tables first, taken by apply afterwards.

#include "src/base/limits.hpp"
#include "src/ledger/observed.hpp"
#include "src/ledger/serving.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

const host_id h1{"h1"};

artifact_seen seen(bool matches) {
  return {{"m/a"}, manifest_digest(artifact_a()), h1, matches, matches ? "" : "model.gguf"};
}

/// `site` with a profile for adopted servers and host `node` registered for pool `cpu-a`.
world site_with_adopter() {
  auto w = world::site();
  w.must(declared{catalog::profile_document{{"http"}, "text", sha256("text")}});
  w.must(identity_added{"node", identity_role::host, std::string(40, 'k'), {"cpu-a"}, {}});
  return w;
}

adoption offer() {
  return {{"node"}, {"cpu-a"}, "http://127.0.0.1:8000", {"m"}, {"http"}, {"lab"}};
}

const artifact_id adopted{"m/adopted-node-8000"};
const implementation_id adopted_impl{"m/cpu-a/adopted-node-8000"};

void take_offer(world& w) {
  auto what = declarations_for(w.t, offer());
  REQUIRE(what);
  for (auto& one : *what) {
    auto said = w.next_record(one, trust::claimed);
    said.author = {"node", authentication::curve};
    CHECK(std::holds_alternative<receipt>(w.say(said)));
  }
}

/// The offer taken and the server ready.
world adopted_world() {
  auto w = site_with_adopter();
  take_offer(w);
  for (auto& one : changes_for_adopted(w.t, adopted_impl, {"node"}))
    w.must(one, trust::claimed);
  return w;
}

} // namespace

// -- files ----------------------------------------------------------------------------------------

TEST_CASE("files that match lead from any earlier state to verified, by steps the ledger takes") {
  auto w = world::site();
  auto other = artifact_a();
  other.id = {"m/b"};
  other.files.front().bytes = 11;
  w.must(declared{other});
  artifact_seen what{other.id, manifest_digest(other), h1, true, ""};
  auto steps = changes_for(w.t, what);
  REQUIRE(steps.size() == 2);
  w.must(steps[0]);
  auto rest = changes_for(w.t, what);
  CHECK(rest == std::vector{steps[1]});
  w.must(steps[1]);
  CHECK(changes_for(w.t, what).empty());
}

TEST_CASE("files that do not match quarantine what was verified, and nothing else") {
  auto w = world::site();
  auto steps = changes_for(w.t, seen(false));
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].to == artifact_state::quarantined);
  CHECK(steps[0].detail == "model.gguf");
  w.must(steps[0]);
  CHECK(changes_for(w.t, seen(false)).empty());
}

TEST_CASE("an agent's word does not lift a quarantine") {
  auto w = world::site();
  w.must(changes_for(w.t, seen(false)).at(0));
  CHECK(changes_for(w.t, seen(true)).empty());
}

TEST_CASE("a report about files that are no longer the declared ones changes nothing") {
  auto w = world::site();
  auto old = seen(false);
  old.manifest = some_digest("before");
  CHECK(changes_for(w.t, old).empty());
  old.artifact = {"m/unknown"};
  CHECK(changes_for(w.t, old).empty());
}

// -- stacks ---------------------------------------------------------------------------------------

TEST_CASE("a host's stack is recorded once, and again when it changes or moves to another pool") {
  auto w = world::site();
  auto one = some_digest("stack 1");
  auto two = some_digest("stack 2");
  CHECK_FALSE(change_for(w.t, h1, {"cpu-a"}, one, {}));
  CHECK(change_for(w.t, h1, {"cpu-b"}, one, {}));
  CHECK(change_for(w.t, {"h2"}, {"cpu-a"}, one, {}));
  auto change = change_for(w.t, h1, {"cpu-a"}, two, {{"kernel", "6.2"}});
  REQUIRE(change);
  CHECK(change->fields == std::vector<stack_field>{{"kernel", "6.2"}});
  w.must(*change);
  SECTION("and back") {
    CHECK(change_for(w.t, h1, {"cpu-a"}, one, {}));
  }
}

// -- adopted servers ------------------------------------------------------------------------------

TEST_CASE("an offer becomes an artifact and an implementation that the ledger takes") {
  auto w = site_with_adopter();
  auto what = declarations_for(w.t, offer());
  REQUIRE(what);
  REQUIRE(what->size() == 2);
  for (auto& one : *what)
    w.must(one, trust::claimed);
  CHECK(w.t.artifacts->at(adopted).what.location == "http://127.0.0.1:8000");
  CHECK(w.t.implementations->at(adopted_impl).what.artifact == adopted);
  SECTION("and the same offer again is nothing new") {
    CHECK(declarations_for(w.t, offer())->empty());
  }
  SECTION("which does not take back what an operator changed") {
    auto more = w.t.implementations->at(adopted_impl).what;
    more.slots = 8;
    w.must(declared{more});
    CHECK(declarations_for(w.t, offer())->empty());
  }
  SECTION("and another project replaces the artifact alone") {
    auto other = offer();
    w.must(declared{catalog::project{.name = {"other"}}});
    other.project = {"other"};
    auto changed = declarations_for(w.t, other);
    REQUIRE(changed);
    CHECK(changed->size() == 1);
  }
}

TEST_CASE("two servers of one host are two artifacts") {
  auto w = adopted_world();
  auto second = offer();
  second.url = "http://127.0.0.1:8001/";
  auto what = declarations_for(w.t, second);
  REQUIRE(what);
  CHECK(what->size() == 2);
  second.url = "http://127.0.0.1";
  CHECK(declarations_for(w.t, second)->size() == 2);
}

TEST_CASE("an offer of what is not declared is refused with what to declare") {
  auto w = site_with_adopter();
  auto says = [&](const adoption& a) {
    auto what = declarations_for(w.t, a);
    return what ? std::string{"taken"} : what.error().what;
  };
  auto wrong = offer();
  wrong.model = {"nothing"};
  CHECK(says(wrong) == "there is no model 'nothing'");
  wrong = offer();
  wrong.profile = {"vllm"};
  CHECK(says(wrong) == "the runtime profile 'vllm' is not declared");
  wrong = offer();
  wrong.project = {"nobody"};
  CHECK(says(wrong) == "there is no project 'nobody'");
  wrong = offer();
  wrong.pool = {"gone"};
  CHECK(says(wrong) == "host 'node' is in no declared pool");
  wrong = offer();
  wrong.host = {std::string(limits::name_bytes, 'h')};
  CHECK(says(wrong).ends_with("would be the artifact's name, and is none"));
}

TEST_CASE("an adopted server is believed when it answers, no further than it is claimed") {
  auto w = site_with_adopter();
  take_offer(w);
  CHECK_FALSE(is_artifact_approved(w.t, adopted));
  for (auto& one : changes_for_adopted(w.t, adopted_impl, {"node"}))
    w.must(one, trust::claimed);
  CHECK(is_artifact_approved(w.t, adopted));
  CHECK(w.t.artifact_states->at(adopted).trust == trust::claimed);
  CHECK(changes_for_adopted(w.t, adopted_impl, {"node"}).empty());
}

TEST_CASE("an implementation with files gets nothing from a server's answer") {
  auto w = world::site();
  CHECK(changes_for_adopted(w.t, impl_a, h1).empty());
  CHECK(changes_for_adopted(w.t, {"m/cpu-a/unknown"}, h1).empty());
}

TEST_CASE("an adopted server serves its adopter's project until an operator approves") {
  auto w = adopted_world();
  CHECK(only_project_of(w.t, adopted) == project_id{"lab"});
  CHECK_FALSE(only_project_of(w.t, {"m/a"}));
  auto manifest = w.t.artifact_states->at(adopted).manifest;
  w.must(
    artifact_changed{adopted, manifest, artifact_state::verified, {}, "ours"}, trust::verified
  );
  CHECK_FALSE(only_project_of(w.t, adopted));
}

TEST_CASE("an adopted server without a project of its own serves nobody until it is approved") {
  auto w = world::site();
  w.must(
    declared{catalog::artifact{
      .id = {"m/x"},
      .model = {"m"},
      .kind = catalog::artifact_kind::adopted,
      .location = "http://127.0.0.1:9",
      .files = {},
      .profile = {},
      .licence = {},
      .source = "a friend"}},
    trust::claimed
  );
  CHECK(only_project_of(w.t, {"m/x"}) == project_id{""});
}

TEST_CASE("another URL is another artifact, so that evidence for one server is not the other's") {
  auto one = artifact_a();
  one.kind = catalog::artifact_kind::adopted;
  one.location = "http://127.0.0.1:8000";
  auto two = one;
  two.location = "http://127.0.0.1:8001";
  CHECK(manifest_digest(one) != manifest_digest(two));
  one.kind = two.kind = catalog::artifact_kind::gguf;
  CHECK(manifest_digest(one) == manifest_digest(two));
}

TEST_CASE("the pool watches an adopted server on the host that offered it, and nowhere else") {
  auto w = adopted_world();
  auto wanted = wanted_in(w.t, {"cpu-a"});
  REQUIRE(wanted.size() == 2);
  const auto& server = wanted.front().adopted ? wanted.front() : wanted.back();
  CHECK(server.adopted);
  CHECK(server.only_on == host_id{"node"});
  CHECK(server.launch.profile == profile_id{"http"});
}

} // namespace assay::ledger::test
