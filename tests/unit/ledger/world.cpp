#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

const implementation_id impl_a{"m/cpu-a/a"};
const implementation_id impl_b{"m/cpu-b/a"};
const catalog::policy lenient{
  .name = {"lenient"}, .suite = {"s"}, .score_at_least_ppm = 400'000, .items_at_least = 20};

std::optional<record_id_row> remembered::find(const uuid& id) const {
  auto at = ids_.find(id);
  return at == ids_.end() ? std::optional<record_id_row>{} : at->second;
}

void remembered::learn(const batch_outcome& outcome) {
  for (const auto& change : outcome.rows)
    if (change.row)
      if (auto* id = std::get_if<record_id_row>(&*change.row))
        ids_.emplace(id->record_id, *id);
}

entry entry_of(const record& r) {
  auto canonical = to_text(r.record_id) + r.reason_text;
  return {r, canonical, record_hash(canonical), true};
}

entry entry_of(const state_entry& s) {
  return {s, "state", {}, false};
}

record world::next_record(payload p, trust believed) {
  std::array<std::uint8_t, 10> chance{};
  auto number = ++records_;
  for (unsigned i = 0; i < 7; ++i)
    chance[3 + i] = static_cast<std::uint8_t>(number >> (8 * i)); // Those before lose bits.
  return make_record(
    make_uuid7(1, chance), std::move(p), {"tester", authentication::socket}, {}, believed
  );
}

verdict world::send(batch b) {
  b.term = 1;
  b.stamped_at = now;
  b.proposer = "one";
  last = apply(t, b, ++index, known);
  known.learn(last);
  keep(b);
  return last.verdicts.back();
}

void world::keep(const batch& b) {
  for (const auto& change : last.rows) {
    if (!change.row)
      continue;
    if (auto* about = std::get_if<subject_row>(&*change.row))
      subjects[about->what].push_back(about->seq);
    auto* row = std::get_if<record_row>(&*change.row);
    for (const auto& e : b.entries)
      if (row && e.hash == row->stamp.record)
        kept.push_back({row->stamp, std::get<record>(e.what)});
  }
}

verdict world::say(payload p, trust believed) {
  return say(next_record(std::move(p), believed));
}

verdict world::say(const record& r) {
  auto answer = send({.entries = {entry_of(r)}});
  if (auto* taken = std::get_if<receipt>(&answer); taken && !taken->repeated)
    story.push_back({now, r});
  return answer;
}

verdict world::say(const state_entry& s) {
  return send({.entries = {entry_of(s)}});
}

void world::must(payload p, trust believed) {
  auto answer = say(std::move(p), believed);
  if (auto* no = std::get_if<refusal>(&answer))
    FAIL(no->code + ": " + no->text);
}

std::string world::code(payload p, trust believed) {
  auto answer = say(std::move(p), believed);
  auto* no = std::get_if<refusal>(&answer);
  return no ? no->code : "taken";
}

std::string world::code_of_state(const state_entry& s) {
  auto answer = say(s);
  auto* no = std::get_if<refusal>(&answer);
  return no ? no->code : "taken";
}

digest some_digest(std::string_view seed) {
  return sha256(seed);
}

std::vector<stack_field> stack_fields(std::string_view version) {
  return {{"kernel", "6.1"}, {"runtime", std::string{version}}};
}

catalog::artifact artifact_a() {
  return {
    .id = {"m/a"},
    .model = {"m"},
    .files = {{"model.gguf", 10, some_digest("bytes")}},
    .profile = profile_id{"p"}};
}

catalog::implementation implementation(const implementation_id& id, std::string_view pool) {
  return {
    .id = id,
    .model = {"m"},
    .pool = {std::string{pool}},
    .artifact = {"m/a"},
    .wanted = catalog::implementation_status::production};
}

world world::site() {
  world w;
  w.must(cluster_created{make_uuid7(1, {}), "test"});
  w.must(declared{catalog::pool{.name = {"cpu-a"}}});
  w.must(declared{catalog::pool{.name = {"cpu-b"}}});
  w.must(declared{catalog::profile_document{{"p"}, "text", sha256("text")}});
  w.must(declared{catalog::suite_document{{"s"}, "items", sha256("items")}});
  w.must(declared{lenient});
  w.must(declared{catalog::model{.id = {"m"}, .name = "m", .evaluation_policy = {"lenient"}}});
  w.must(declared{artifact_a()});
  w.must(declared{implementation(impl_a, "cpu-a")});
  w.must(declared{implementation(impl_b, "cpu-b")});
  w.must(declared{catalog::project{.name = {"lab"}}});
  w.must(declared{catalog::key{.name = {"k"}, .project = {"lab"}}});
  auto manifest = manifest_digest(artifact_a());
  w.must(artifact_changed{{"m/a"}, manifest, artifact_state::present, {"h1"}, ""});
  w.must(artifact_changed{{"m/a"}, manifest, artifact_state::verified, {"h1"}, ""});
  w.must(stack_seen{{"h1"}, {"cpu-a"}, some_digest("stack 1"), stack_fields("1")});
  return w;
}

eval_run good_run(const world& w, std::string id, const qualification_id& q) {
  const auto& row = w.t.qualifications->at(q);
  eval_run run;
  run.id = std::move(id);
  run.qualification = q;
  run.implementation = row.implementation;
  run.suite = row.suite;
  run.manifest = row.manifest;
  run.profile = row.profile;
  run.fingerprint = some_digest("stack 1");
  run.items = 20;
  run.passed = 13;
  run.failed = 7;
  run.distinct_answers = 12;
  run.score_ppm = 650'000;
  run.score_lower_ppm = 441'000;
  run.confidence_ppm = 950'000;
  return run;
}

qualification_decided
decision(const qualification_id& q, qualification::event verdict, std::vector<std::string> runs) {
  return {
    .id = q,
    .verdict = verdict,
    .runs = std::move(runs),
    .predicates = {{"score", 441'000, 400'000, "ppm", predicate_outcome::pass}}};
}

void qualify(world& w, const qualification_id& q, const implementation_id& i) {
  w.must(qualification_opened{q, i, {"lenient"}});
  w.must(qualification_changed{q, qualification::event::start, {}, ""});
  auto run = "run of " + q.value;
  w.must(good_run(w, run, q));
  w.must(decision(q, qualification::event::pass, {run}));
}

moves::vectors all_to(const implementation_id& i) {
  std::vector shares{moves::share{i, moves::standing::production, 10'000, 10'000}};
  return {shares, shares};
}

move_proposed plan(const world& w, std::string id, moves::vectors after) {
  auto* route = find(w.t.routes, model_id{"m"});
  move_proposed p;
  p.id = {std::move(id)};
  p.model = {"m"};
  p.expected_generation = route ? route->route.generation : 0;
  p.before = route ? route->route.carried : moves::vectors{};
  p.after = after;
  p.steps = {{after, 0}};
  p.inverse.target = p.before;
  return p;
}

void promote(world& w, std::string id, const implementation_id& i, const qualification_id& q) {
  auto p = plan(w, id, all_to(i));
  auto generation = p.expected_generation + 1;
  w.must(p);
  w.must(move_authorised{p.id, {q}, {}});
  w.must(move_acked{p.id, moves::event::stage, {}});
  w.must(move_route_changed{p.id, moves::event::step, 0, generation, p.after, observation::none, ""}
  );
  w.must(move_acked{p.id, moves::event::acked, {{"ingress", generation}}});
  w.must(move_changed{p.id, moves::event::bake_over, observation::none, ""});
  w.must(move_changed{p.id, moves::event::confirm, observation::none, ""});
}

} // namespace assay::ledger::test
