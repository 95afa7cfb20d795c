// Random lives of a ledger: whatever is said, replay and reload give the same tables, and every
// export that was not touched holds.

#include "tests/unit/wire/signed_world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <rapidcheck.h>

namespace assay::ledger::test {

namespace {

tables reloaded(const disk& from) {
  tables t;
  for (const auto& [key, bytes] : from) {
    auto row = wire::decode_row(bytes);
    REQUIRE(row);
    CHECK(table_of(*row) == key.first);
    CHECK(key_of(*row) == key.second);
    t.load(*row);
  }
  return t;
}

std::string number(int i) {
  return std::to_string(i);
}

/// One of a few dozen things, legal or not.
payload anything(int which, int i) {
  auto pool = catalog::pool{.name = {"p" + number(i % 3)}, .labels = {{"n", number(i)}}};
  switch (which % 12) {
  case 0:
    return declared{pool};
  case 1:
    return retired{declaration_kind::pool, pool.name.value};
  case 2:
    return declared{artifact_a()};
  case 3:
    return artifact_changed{
      {"m/a"}, manifest_digest(artifact_a()), static_cast<artifact_state>(i % 6), {}, ""};
  case 4:
    return declared{implementation({"m/p" + number(i % 3) + "/a"}, pool.name.value)};
  case 5:
    return declared{catalog::model{.id = {"m"}, .name = "m", .owner = number(i % 4)}};
  case 6:
    return stack_seen{
      {"h" + number(i % 2)}, pool.name, some_digest(number(i % 3)), stack_fields(number(i % 3))};
  case 7:
    return waiver{"w" + number(i % 5), {"m/p0/a"}, {4, 5}, {dawn.value + 1'000 * i}, "try"};
  case 8:
    return key_issued{{"k" + number(i % 4)}, some_digest(number(i)), true};
  case 9:
    return key_revoked{{"k" + number(i % 4)}, ""};
  case 10:
    return job_submitted{
      .id = {"j" + number(i % 4)}, .model = {"m"}, .input = some_digest("in"), .items = 3};
  default:
    return retired{declaration_kind::artifact, "m/a"};
  }
}

signed_world random_life(const std::vector<std::pair<int, int>>& script) {
  signed_world s;
  for (auto [which, i] : script) {
    s.w.now.value += i % 3;
    s.commit(anything(which, i));
  }
  return s;
}

auto scripts() {
  return rc::gen::resize(
    30,
    rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 12), rc::gen::inRange(0, 50))
    )
  );
}

std::string change_byte(std::string text, std::size_t at) {
  text[at] = static_cast<char>(text[at] ^ 1);
  return text;
}

/// The frames of an export that decodes, less what nobody signs: where Raft kept each batch.
std::vector<export_frame> without_indexes(std::string_view text) {
  std::vector<export_frame> frames;
  while (!text.empty()) {
    auto frame = *wire::take_frame(text);
    if (auto* b = std::get_if<export_batch>(&*frame))
      b->batch.raft_index = 0;
    frames.push_back(*std::move(frame));
  }
  return frames;
}

signed_world short_life() {
  signed_world s;
  s.commit(declared{catalog::pool{.name = {"p0"}}});
  s.commit(retired{declaration_kind::pool, "none"});
  s.commit(declared{catalog::pool{.name = {"p1"}}});
  return s;
}

} // namespace

TEST_CASE("replaying the log gives equal tables, and so does reloading the rows") {
  CHECK(rc::check("replay", [] {
    auto s = random_life(*scripts());
    tables again;
    remembered known;
    std::uint64_t index = 0;
    for (const auto& bytes : s.log)
      known.learn(apply(again, *wire::decode_batch(bytes), ++index, known));
    RC_ASSERT(again == s.w.t);
    RC_ASSERT(reloaded(s.rows) == s.w.t);
    RC_ASSERT(broken_invariants(s.w.t).empty());
  }));
}

TEST_CASE("no record, id or batch of any life is ever changed or taken away (I18)") {
  CHECK(rc::check("history", [] {
    auto script = *scripts();
    auto longer = random_life(script); // `write` looks at each change.
    if (!script.empty())
      script.pop_back();
    auto shorter = random_life(script);
    for (const auto& [key, bytes] : shorter.rows)
      if (!is_in_memory(key.first))
        RC_ASSERT(longer.rows.at(key) == bytes);
  }));
}

TEST_CASE("an export of any life holds, and adds up to the same chain") {
  CHECK(rc::check("export", [] {
    auto s = random_life(*scripts());
    auto report = wire::audit_report_of(s.exported());
    RC_ASSERT(!report.finding);
    RC_ASSERT(report.chain == s.w.t.head.chain);
    RC_ASSERT(report.seq == s.w.t.head.seq);
  }));
}

TEST_CASE("no changed byte of an export goes unnoticed, save a Raft index that keeps the order") {
  auto text = short_life().exported();
  REQUIRE_FALSE(wire::audit(text));
  for (std::size_t at = 0; at < text.size(); ++at) {
    auto changed = change_byte(text, at);
    INFO("byte " << at << " of " << text.size());
    CHECK((wire::audit(changed) || without_indexes(changed) == without_indexes(text)));
  }
}

TEST_CASE("an export that ends early was cut, wherever it ends") {
  auto text = short_life().exported();
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK(wire::audit(std::string_view{text}.substr(0, size)));
}

TEST_CASE("a batch that was taken out is missed") {
  auto s = short_life();
  auto whole = s.exported();
  auto rest = std::string_view{whole};
  std::string without;
  for (int i = 0; !rest.empty(); ++i) {
    auto before = rest;
    REQUIRE(wire::take_frame(rest));
    if (i != 2)
      without += before.substr(0, before.size() - rest.size());
  }
  auto finding = wire::audit(without);
  REQUIRE(finding);
  CHECK(finding->seq == 3);
}

TEST_CASE("a batch signed by another key is named with its first seq") {
  auto s = short_life();
  signing_key forger{signing_key::seed{8}};
  auto text = wire::encode_frame(export_header{export_format, s.cluster, genesis(s.cluster)});
  for (const auto& [at, bytes] : s.rows) {
    if (at.first != table::batches)
      continue;
    auto b = std::get<batch_row>(*wire::decode_row(bytes));
    if (b.raft_index == 4) {
      auto forged = forger.sign(batch_message(s.cluster, b.term, b.stamped_at, b.records));
      b.signature = {forged.begin(), forged.end()};
    }
    text += wire::encode_frame(s.frame(b));
  }
  auto finding = wire::audit(text);
  REQUIRE(finding);
  CHECK(finding->seq == 4);
  CHECK(finding->text == "the batch's signature is not that of \"one\"");
}

} // namespace assay::ledger::test
