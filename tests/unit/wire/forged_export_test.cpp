// A member that signs what no rule allows: each invariant that a record can break is refused when
// it is applied, and found by the auditor, with its seq, in an export in which all else is in
// order.

#include "src/wire/export_codec.hpp"
#include "tests/support/forged_export.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

#include <functional>

namespace assay::ledger::test {

namespace {

using moves::event;
using q_event = qualification::event;

const move_id mv{"mv"};
const qualification_id qa{"qa"}, qb{"qb"}, q1{"q1"};
constexpr std::int64_t day_ms = 24 * 3'600'000;

/// The world's own records and the founding membership, all in order.
forger honest(const world& w) {
  forger rogue{*w.t.head.cluster};
  for (const auto& one : w.story)
    rogue.put(one);
  rogue.found();
  return rogue;
}

// -- worlds, each made by records alone -------------------------------------------------------

/// Both implementations are qualified and `impl_a` serves.
world serving() {
  auto w = world::site();
  qualify(w, qa, impl_a);
  qualify(w, qb, impl_b);
  promote(w, "first", impl_a, qa);
  return w;
}

/// `node` is a host and `ingress` is none, in a cluster that knows what may be decided on hosts.
world with_host() {
  auto w = world::site();
  w.must(cluster_version{2});
  w.must(identity_added{"node", identity_role::host, std::string(40, 'n'), {"cpu-a"}, {}});
  w.must(identity_added{"ingress", identity_role::ingress, std::string(40, 'i'), {}, {}});
  return w;
}

host_standing standing(std::string reason) {
  return {{"node"}, host_duty::quarantined, std::move(reason)};
}

/// `mv`, from a to b, is proposed, changed as the case wants.
world proposed(const std::function<void(move_proposed&)>& change = [](move_proposed&) {}) {
  auto w = serving();
  auto p = plan(w, "mv", all_to(impl_b));
  change(p);
  w.must(p);
  return w;
}

world staged() {
  auto w = proposed();
  w.must(move_authorised{mv, {qa, qb}, {}});
  w.must(move_acked{mv, event::stage, {}});
  return w;
}

move_route_changed carries(event e, std::uint64_t generation, moves::vectors v) {
  return {mv, e, 0, generation, std::move(v), observation::none, ""};
}

/// The step was taken and the move is guarded.
world observing() {
  auto w = proposed([](move_proposed& p) { p.guarded = true; });
  w.must(move_authorised{mv, {qa, qb}, {}});
  w.must(move_acked{mv, event::stage, {}});
  w.must(carries(event::step, 2, all_to(impl_b)));
  w.must(move_acked{mv, event::acked, {{"ingress", 2}}});
  w.must(move_changed{mv, event::bake_over, observation::pass, ""});
  return w;
}

world reverting() {
  auto w = staged();
  w.must(carries(event::step, 2, all_to(impl_b)));
  w.must(move_changed{mv, event::abort, observation::none, ""});
  return w;
}

/// q1 is evaluating, with a good run `r1`.
world evaluated() {
  auto w = world::site();
  w.must(qualification_opened{q1, impl_a, {"lenient"}});
  w.must(qualification_changed{q1, q_event::start, {}, ""});
  w.must(good_run(w, "r1", q1));
  return w;
}

world with(world w, payload p) {
  w.must(std::move(p));
  return w;
}

world later(world w, std::int64_t ms) {
  w.now.value += ms;
  return w;
}

world on_two_stacks() {
  auto w = evaluated();
  w.must(stack_seen{{"h2"}, {"cpu-a"}, some_digest("stack 2"), stack_fields("2")});
  auto speed = good_run(w, "r2", q1);
  speed.stage = run_stage::performance;
  speed.fingerprint = some_digest("stack 2");
  w.must(speed);
  return w;
}

// -- payloads that break a rule ---------------------------------------------------------------

template <class T>
T changed(T value, const std::function<void(T&)>& change) {
  change(value);
  return value;
}

move_proposed bad_plan(const world& w, const std::function<void(move_proposed&)>& change) {
  return changed<move_proposed>(plan(w, "next", all_to(impl_b)), change);
}

qualification_decided
pass(std::vector<std::string> runs, const std::function<void(qualification_decided&)>& change) {
  return changed<qualification_decided>(decision(q1, q_event::pass, std::move(runs)), change);
}

waiver waives_5(const world& w, std::int64_t for_ms) {
  return {"w5", impl_b, {5}, {w.now.value + for_ms}, "try"};
}

artifact_changed becomes(artifact_state to) {
  return {{"m/a"}, manifest_digest(artifact_a()), to, {}, ""};
}

struct breach {
  std::string invariant; ///< And what is wrong.
  world before;
  payload said;
  std::string code; ///< Of the refusal at apply.
};

std::vector<breach> breaches_of_routes() {
  auto shares = [](std::uint32_t floor, std::uint32_t ceiling) {
    return moves::vectors{{{impl_b, moves::standing::production, floor, ceiling}}, {}};
  };
  auto unshed = proposed([](move_proposed& p) { p.inverse.shed_load = false; });
  auto to = [](moves::vectors v) {
    return [v](move_proposed& p) {
      p.after = v;
      p.steps = {{v, 0}};
    };
  };
  const auto no_target = [](move_proposed& p) { p.inverse.target = {}; };
  const auto stale = [](move_proposed& p) { p.expected_generation = 0; };
  const auto odd_policy = [](move_proposed& p) { p.policy = some_digest("no policy"); };
  auto drifted = with(staged(), qualification_changed{qb, q_event::drift, {}, ""});
  auto revoked_b = with(proposed(), qualification_changed{qb, q_event::revoke, {}, ""});
  auto revoked_a = with(unshed, qualification_changed{qa, q_event::revoke, {}, ""});
  return {
    {"I7 unqualified", proposed(), move_authorised{mv, {qa}, {}}, "not_qualified"},
    {"I7 step", drifted, carries(event::step, 2, all_to(impl_b)), "not_qualified"},
    {"I8 sum", serving(), bad_plan(serving(), to(shares(0, 9'999))), "bad_vectors"},
    {"I8 order", serving(), bad_plan(serving(), to(shares(10'000, 9'999))), "bad_vectors"},
    {"I8 generation", staged(), carries(event::step, 3, all_to(impl_b)), "stale_generation"},
    {"I9 two", proposed(), bad_plan(proposed(), [](auto&) {}), "move_open"},
    {"I9 swap", serving(), bad_plan(serving(), stale), "stale_generation"},
    {"I10 plan", serving(), bad_plan(serving(), no_target), "bad_plan"},
    {"I10 authorise", revoked_a, move_authorised{mv, {qb}, {}}, "no_way_back"},
    {"I10 use", reverting(), carries(event::retarget, 3, all_to(impl_b)), "bad_target"},
    {"I11 policy", serving(), bad_plan(serving(), odd_policy), "unknown_policy"},
    {"I12 guard",
     observing(),
     move_changed{mv, event::confirm, observation::no_data, ""},
     "guards"},
    {"I16 revoked", revoked_b, move_authorised{mv, {qa, qb}, {}}, "not_qualified"},
    {"I16 version", proposed(), move_authorised{mv, {qa, qb}, {}, {1, 1}}, "stale_qualification"},
    {"I22 guard",
     serving(),
     bad_plan(
       serving(),
       [](move_proposed& p) {
         p.guarded = true;
         p.guards = {{"ttft", 100, "", 1'000, 10}};
       }
     ),
     "bad_plan"},
    {"life of a move", proposed(), carries(event::step, 2, all_to(impl_b)), "not_allowed"},
  };
}

std::vector<breach> breaches_of_evidence() {
  auto two = on_two_stacks();
  auto revoked =
    with(evaluated(), revocation{revocation_target::fingerprint, some_digest("stack 1"), ""});
  auto no_data = [](auto& d) { d.predicates[0].outcome = predicate_outcome::no_data; };
  auto no_unit = [](auto& d) { d.predicates[0].unit.clear(); };
  auto unitless = changed<eval_run>(good_run(evaluated(), "r9", q1), [](eval_run& r) {
    r.measures = {{"ttft", 5, ""}};
  });
  auto waived = with(proposed(), waives_5(proposed(), day_ms / 24));
  auto deprecated = with(serving(), becomes(artifact_state::deprecated));
  return {
    {"I12 predicate", evaluated(), pass({"r1"}, no_data), "contradicted"},
    {"I12 no run", evaluated(), pass({}, [](auto&) {}), "contradicted"},
    {"I13 stacks", two, pass({"r1", "r2"}, [](auto&) {}), "contradicted"},
    {"I16 stack", revoked, pass({"r1"}, [](auto&) {}), "contradicted"},
    {"I18 needed", serving(), retired{declaration_kind::implementation, impl_a.value}, "in_use"},
    {"I18 tombstone", deprecated, becomes(artifact_state::tombstoned), "in_use"},
    {"I21 too long", serving(), waives_5(serving(), day_ms + 1), "bad_waiver"},
    {"I21 over", later(waived, day_ms / 24), move_authorised{mv, {}, {"w5"}}, "not_qualified"},
    {"I22 predicate", evaluated(), pass({"r1"}, no_unit), "contradicted"},
    {"I22 measure", evaluated(), unitless, "bad_run"},
    {"life of an artifact", world::site(), becomes(artifact_state::present), "not_allowed"},
    {"life of a qualification",
     evaluated(),
     qualification_changed{q1, q_event::expire, {}, ""},
     "not_allowed"},
    {"life of a policy", world::site(), retired{declaration_kind::policy, "lenient"}, "in_use"},
    {"schema version", world::site(), cluster_version{0}, "older_schema"},
    {"hosts: without a reason", with_host(), standing(""), "no_reason"},
    {"hosts: one that there is not", world::site(), standing("x"), "newer_schema"},
    {"hosts: what is no host", with_host(), host_standing{{"ingress"}, {}, "x"}, "not_found"},
  };
}

/// Refused at apply, and found in an export that says it was taken.
void expect_found(const breach& b) {
  auto w = b.before;
  auto r = w.next_record(b.said);
  auto no = refuses(w.t, r, w.now);
  CHECK(no.value_or(refusal{"taken", ""}).code == b.code);
  auto rogue = honest(w);
  CHECK_FALSE(wire::audit(rogue.exported()));
  auto seq = rogue.put({w.now, r});
  auto found = wire::audit(rogue.exported()).value_or(finding{});
  CHECK(found.seq == seq);
  if (no)
    CHECK(found.text == "the record breaks a rule: " + no->text);
}

finding found_in(const forger& rogue) {
  auto found = wire::audit(rogue.exported());
  REQUIRE(found);
  return *found;
}

/// All frames, but for what nobody signs.
std::vector<export_frame> frames_of(std::string_view bytes) {
  std::vector<export_frame> out;
  while (true) {
    auto frame = wire::take_frame(bytes);
    REQUIRE(frame);
    if (!*frame)
      return out;
    if (auto* b = std::get_if<export_batch>(&**frame))
      b->batch.raft_index = 0;
    out.push_back(std::move(**frame));
  }
}

const declared pool_x{catalog::pool{.name = {"x"}}};

} // namespace

TEST_CASE("a signed record that breaks a rule of routes and moves is found with its seq") {
  for (const auto& b : breaches_of_routes()) {
    INFO(b.invariant);
    expect_found(b);
  }
}

TEST_CASE("a signed record that breaks a rule of evidence, waivers or lives is found with its seq"
) {
  for (const auto& b : breaches_of_evidence()) {
    INFO(b.invariant);
    expect_found(b);
  }
}

TEST_CASE("a seq that is left out is found where it is missing (I1)") {
  auto w = world::site();
  auto rogue = honest(w);
  rogue.skip_seq();
  auto said = rogue.put({w.now, w.next_record(pool_x)});
  CHECK(found_in(rogue) == finding{said - 1, "seq " + std::to_string(said) + " follows a gap"});
}

TEST_CASE("signed bytes that are no canonical record are found (I1)") {
  auto w = world::site();
  for (auto bytes :
       {std::string{"hi"}, wire::encode(w.next_record(pool_x)) + std::string(8, '\0')}) {
    auto rogue = honest(w);
    auto seq = rogue.put_bytes(w.now, bytes);
    auto found = found_in(rogue);
    CHECK(found.seq == seq);
    CHECK(found.text.starts_with("the record cannot be read: "));
  }
}

TEST_CASE("a record that an export holds twice, or another under its id, is found (I2)") {
  auto w = world::site();
  auto rogue = honest(w);
  auto first = w.next_record(pool_x);
  rogue.put({w.now, first});
  auto again = rogue;
  auto seq = again.put({w.now, first});
  CHECK(found_in(again) == finding{seq, "the record repeats an earlier one"});
  auto other = first;
  other.reason_text = "another";
  seq = rogue.put({w.now, other});
  auto found = found_in(rogue);
  CHECK(found.seq == seq);
  CHECK(found.text.find("the record id was used for another record") != std::string::npos);
}

TEST_CASE("a head that is signed for another chain than the records have is found (I1, I6)") {
  auto w = world::site();
  auto rogue = honest(w);
  rogue.bend_chain();
  CHECK(found_in(rogue).text.find("with another chain") != std::string::npos);
}

TEST_CASE("no bit of an export changes unnoticed, but for those of Raft's index, which nobody signs"
) {
  auto bytes = honest(world::site()).exported();
  const auto frames = frames_of(bytes);
  std::size_t unsigned_bits = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    auto changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1 << at % 8);
    if (wire::audit(changed))
      continue;
    INFO("byte " << at);
    REQUIRE(frames_of(changed) == frames);
    ++unsigned_bits;
  }
  CHECK(unsigned_bits > 0);
}

TEST_CASE("a record above the version that the cluster agreed on is found with its seq") {
  auto w = world::site();
  auto rogue = honest(w);
  auto r = w.next_record(pool_x);
  r.schema_version = schema_version + 1;
  auto seq = rogue.put({w.now, r});
  auto found = found_in(rogue);
  CHECK(found.seq == seq);
  CHECK(found.text.find("needs schema version 3; this cluster takes 1 to 1") != std::string::npos);
}

TEST_CASE("an auditor that is older than the export says so, and where it stops") {
  auto w = world::site();
  auto rogue = honest(w);
  auto seq = rogue.put({w.now, w.next_record(cluster_version{schema_version + 1})});
  auto found = found_in(rogue);
  CHECK(found.seq == seq);
  CHECK(
    found.text.find("is written under schema version 3; this program knows 1 to 2")
    != std::string::npos
  );
  CHECK(found.is_too_new); // And so no forgery.
}

TEST_CASE("nothing is said to hold of an export that is too new before it names who signed it") {
  auto w = world::site();
  forger rogue{*w.t.head.cluster};
  for (const auto& one : w.story)
    rogue.put(one);
  rogue.put({w.now, w.next_record(cluster_version{schema_version + 1})});
  CHECK_FALSE(found_in(rogue).is_too_new);
}

} // namespace assay::ledger::test
