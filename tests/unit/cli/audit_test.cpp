// An export as a file: whole or not there; whatever was done to it is found, with the record.

#include "src/cli/export_diff.hpp"
#include "src/cli/export_file.hpp"
#include "src/cli/export_source.hpp"
#include "src/ledger/who_served.hpp"
#include "src/wire/record_codec.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/wire/signed_world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace assay::cli {

namespace {

using namespace ledger;
using ledger::test::signed_world;

struct files {
  assay::test::temp_folder folder;

  std::string write(const std::string& name, std::string_view bytes) const {
    auto path = (folder.path() / name).string();
    std::ofstream{path, std::ios::binary} << bytes;
    return path;
  }
  std::string read(const std::string& name) const {
    std::ifstream in{folder.path() / name, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  bool has(const std::string& name) const { return std::filesystem::exists(folder.path() / name); }
};

payload pool(const std::string& name) {
  return declared{catalog::pool{.name = {name}}};
}

/// Five records: the founding ones in one batch, then three pools.
signed_world five() {
  signed_world s;
  for (auto name : {"p3", "p4", "p5"})
    s.commit(pool(name));
  return s;
}

/// The problem that the auditor has with these bytes; one of kind `invalid` named "none" when it
/// has none.
problem wrong_with(const files& in, std::string_view bytes) {
  ledger::auditor auditor{wire::read_record};
  auto done = audit_file(in.write("x.ledger", bytes), auditor);
  return done ? problem{problem_kind::invalid, "none", {}, {}} : done.error();
}

bool says(const problem& p, std::string_view part) {
  INFO(to_text(p));
  return to_text(p).find(part) != std::string::npos;
}

/// The frames again, each changed by `edit`.
template <class Edit>
std::string edited(std::string_view bytes, Edit edit) {
  std::string out;
  while (!bytes.empty()) {
    auto frame = **wire::take_frame(bytes);
    edit(frame);
    out += wire::encode_frame(frame);
  }
  return out;
}

/// Changes the record of this number in its batch; `rehash` mends the hash, too.
template <class Change>
std::string with_record(const signed_world& s, std::uint64_t seq, bool rehash, Change change) {
  return edited(s.exported(), [&](export_frame& f) {
    auto* b = std::get_if<export_batch>(&f);
    if (!b || b->batch.seqs.front() > seq || b->batch.seqs.back() < seq)
      return;
    auto at = seq - b->batch.seqs.front();
    auto r = *wire::read_record(b->canonical[at]);
    change(r);
    b->canonical[at] = wire::encode(r);
    if (rehash)
      b->batch.records[at] = record_hash(b->canonical[at]);
  });
}

ssize_t full_after_ten(int fd, const void* bytes, std::size_t count) {
  static std::size_t written = 0;
  if (written >= 10) {
    written = 0;
    errno = ENOSPC;
    return -1;
  }
  auto part = std::min<std::size_t>(count, 10 - written);
  written += part;
  return ::write(fd, bytes, part);
}

} // namespace

TEST_CASE("an export that nobody touched holds") {
  files in;
  CHECK(wrong_with(in, five().exported()).what == "none");
}

TEST_CASE("an export that ends within a frame is refused with the record that is missing") {
  files in;
  auto bytes = five().exported();
  auto p = wrong_with(in, bytes.substr(0, bytes.size() - 1));
  CHECK(p.kind == problem_kind::refused);
  CHECK(says(p, "record 6: the file ends within a frame"));
}

TEST_CASE("a tail that was cut off at a frame's end shows, because the signed head is missing") {
  files in;
  auto bytes = five().exported();
  std::string_view rest{bytes};
  for (int i = 0; i < 4; ++i) // The header, the founding batch, p3 and p4.
    REQUIRE(wire::take_frame(rest));
  auto p = wrong_with(in, std::string_view{bytes}.substr(0, bytes.size() - rest.size()));
  CHECK(p.kind == problem_kind::refused);
  CHECK(says(p, "record 5: the export was cut: it has no signed head"));
}

TEST_CASE("one flipped bit in a record is found, and which record it was") {
  files in;
  auto s = five();
  auto bytes = s.exported();
  auto at = bytes.find("p4");
  REQUIRE(at != std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  auto p = wrong_with(in, bytes);
  CHECK(p.kind == problem_kind::refused);
  CHECK(says(p, "record 4: "));
}

TEST_CASE("a record that was edited is not the one that was hashed") {
  files in;
  auto p =
    wrong_with(in, with_record(five(), 4, false, [](record& r) { r.reason_text = "better"; }));
  CHECK(says(p, "record 4: the record is not the one that was hashed"));
}

TEST_CASE("an edited record whose hash was mended fails by its batch's signature") {
  files in;
  auto p = wrong_with(in, with_record(five(), 4, true, [](record& r) { r.author.who = "eve"; }));
  CHECK(says(p, "record 4: the batch's signature is not that of \"one\""));
}

TEST_CASE("an edited parent link is found like any other edit") {
  files in;
  auto s = five();
  auto other = [](record& r) { r.parents = {{sha256("another"), relation::evidence}}; };
  CHECK(says(wrong_with(in, with_record(s, 5, false, other)), "record 5: the record is not"));
  CHECK(says(wrong_with(in, with_record(s, 5, true, other)), "record 5: the batch's signature"));
}

TEST_CASE("a batch or a head that somebody else signed is refused") {
  files in;
  auto s = five();
  signing_key forger{signing_key::seed{8}};
  auto batch = edited(s.exported(), [&](export_frame& f) {
    auto* b = std::get_if<export_batch>(&f);
    if (!b || b->batch.seqs.front() != 4)
      return;
    auto made =
      forger.sign(batch_message(s.cluster, b->batch.term, b->batch.stamped_at, b->batch.records));
    b->batch.signature = {made.begin(), made.end()};
  });
  CHECK(says(wrong_with(in, batch), "record 4: the batch's signature is not that of \"one\""));
  auto head = edited(s.exported(), [&](export_frame& f) {
    auto* h = std::get_if<export_head>(&f);
    if (!h)
      return;
    auto made = forger.sign(head_message(s.cluster, h->seq, h->chain));
    h->signature = {made.begin(), made.end()};
  });
  CHECK(says(wrong_with(in, head), "record 6: the head's signature is not that of member \"one\""));
}

TEST_CASE("what is no export is called that: other bytes, nothing, a folder, no file") {
  files in;
  auto text = wrong_with(in, "model: smollm2\nname: something that is no ledger at all\n");
  CHECK(text.kind == problem_kind::invalid);
  CHECK(says(text, "this is no exported ledger"));
  CHECK(says(wrong_with(in, ""), "this is no exported ledger: it is empty"));
  ledger::auditor auditor{wire::read_record};
  auto folder = audit_file(in.folder.path(), auditor);
  REQUIRE_FALSE(folder);
  CHECK(says(folder.error(), "the file cannot be read: Is a directory"));
  auto none = audit_file(in.folder.path() / "none", auditor);
  REQUIRE_FALSE(none);
  CHECK(none.error().kind == problem_kind::not_found);
}

TEST_CASE("a file without read permission is refused by that name") {
  if (::geteuid() == 0)
    SKIP("root reads everything");
  files in;
  auto path = in.write("secret", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  ledger::auditor auditor{wire::read_record};
  auto done = audit_file(path, auditor);
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == problem_kind::forbidden);
}

TEST_CASE("the same copy twice, and a copy beside a later one, are one history") {
  files in;
  auto s = five();
  auto early = in.write("early", s.exported());
  CHECK(compare_exports(early, early)->common == 5);
  for (int i = 0; i < 25; ++i)
    s.commit(pool("q" + std::to_string(i)));
  auto late = in.write("late", s.exported());
  auto c = compare_exports(early, late);
  REQUIRE(c);
  CHECK(c->common == 5);
  CHECK_FALSE(c->parts());
  CHECK_FALSE(contradiction(*c));
  CHECK(c->more(c->a) == 0);
  CHECK(c->more(c->b) == 25);
  REQUIRE(c->b.beyond.size() == side::beyond_most);
  CHECK(c->b.beyond.front().seq == 6);
  auto turned = compare_exports(late, early);
  REQUIRE(turned);
  CHECK(turned->a.beyond.size() == side::beyond_most);
  CHECK(turned->a.beyond.front().summary == "q0 pool declared");
}

TEST_CASE("two histories of one cluster are told apart at their first difference") {
  files in;
  auto one = five(), other = five();
  one.commit(pool("left"));
  other.commit(pool("right"));
  auto c = compare_exports(in.write("a", one.exported()), in.write("b", other.exported()));
  REQUIRE(c);
  CHECK(c->parts());
  CHECK(c->common == 5);
  CHECK(c->a.beyond.front().summary == "left pool declared");
  CHECK(c->b.beyond.front().summary == "right pool declared");
  auto why = contradiction(*c);
  REQUIRE(why);
  CHECK(why->kind == problem_kind::refused);
  CHECK(says(*why, "they part at record 6"));
}

TEST_CASE("exports of two clusters are not compared") {
  files in;
  auto c = compare_exports(
    in.write("a", five().exported()), in.write("b", signed_world{make_uuid7(10, {})}.exported())
  );
  REQUIRE(c);
  auto why = contradiction(*c);
  REQUIRE(why);
  CHECK(says(*why, "they are ledgers of two clusters"));
}

TEST_CASE("a copy that does not hold is compared with nothing, and named") {
  files in;
  auto bytes = five().exported();
  auto good = in.write("good", bytes);
  auto bad = in.write("bad", std::string_view{bytes}.substr(0, bytes.size() - 1));
  for (const auto& [a, b] : {std::pair{good, bad}, std::pair{bad, good}}) {
    auto c = compare_exports(a, b);
    REQUIRE_FALSE(c);
    CHECK(c.error().where == bad);
    CHECK(says(c.error(), "record 6"));
  }
}

TEST_CASE("a file is in its place only when it is whole") {
  files in;
  auto place = in.folder.path() / "audit.ledger";
  {
    auto file = export_file::open(place);
    REQUIRE(file);
    REQUIRE(file->add("half"));
    CHECK(in.has("audit.ledger.partial"));
    CHECK_FALSE(in.has("audit.ledger"));
  }
  CHECK_FALSE(in.has("audit.ledger.partial"));
  auto file = export_file::open(place);
  REQUIRE(file);
  REQUIRE(file->add("who"));
  REQUIRE(file->add("le"));
  REQUIRE(file->finish());
  CHECK(in.read("audit.ledger") == "whole");
  CHECK_FALSE(in.has("audit.ledger.partial"));
}

TEST_CASE("a disk that fills up leaves nothing behind, spares what was there, and says so") {
  files in;
  in.write("audit.ledger", "older");
  {
    auto file = export_file::open(in.folder.path() / "audit.ledger", full_after_ten);
    REQUIRE(file);
    auto added = file->add("more than ten bytes");
    REQUIRE_FALSE(added);
    CHECK(added.error().kind == problem_kind::exhausted);
    CHECK(says(added.error(), "after 10 bytes; what was written of it was removed"));
  }
  CHECK_FALSE(in.has("audit.ledger.partial"));
  CHECK(in.read("audit.ledger") == "older");
}

TEST_CASE("a place where no file can be made is named before anything is fetched") {
  files in;
  auto file = export_file::open(in.folder.path() / "none" / "audit.ledger");
  REQUIRE_FALSE(file);
  CHECK(file.error().kind == problem_kind::not_found);
}

TEST_CASE("the last frame is found however the bytes are cut into pieces") {
  auto bytes = five().exported();
  for (std::size_t size : {1u, 3u, 4u, 64u, 100'000u}) {
    frame_follower follower;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      follower.add(std::string_view{bytes}.substr(at, size));
    auto head = follower.head();
    REQUIRE(head);
    CHECK(head->seq == 5);
  }
  frame_follower cut;
  cut.add(std::string_view{bytes}.substr(0, bytes.size() - 1));
  CHECK_FALSE(cut.head());
  CHECK_FALSE(frame_follower{}.head());
}

TEST_CASE("a file answers who served, and only once it was found right") {
  files in;
  signed_world s;
  auto site = ledger::test::world::site();
  for (const auto& k : site.kept)
    if (!std::holds_alternative<cluster_created>(k.record.payload))
      s.commit(k.record.payload);
  auto say = [&](payload p) { s.commit(std::move(p)); };
  waiver w{"w1", ledger::test::impl_a, {5}, {s.w.now.value + 60'000}, "demo"};
  say(w);
  auto p = ledger::test::plan(s.w, "by-waiver", ledger::test::all_to(ledger::test::impl_a));
  say(p);
  say(move_authorised{p.id, {}, {"w1"}});
  say(move_acked{p.id, moves::event::stage, {}});
  say(move_route_changed{p.id, moves::event::step, 0, 1, p.after, observation::none, ""});
  auto bytes = s.exported();
  auto replayed = replay(in.write("a", bytes));
  REQUIRE(replayed);
  auto found = who_served(**replayed, {"m"}, s.w.now);
  REQUIRE(found);
  CHECK(found->changed.seq == s.w.t.head.seq);
  CHECK(found->carriers.at(0).waivers.at(0).id == "w1");
  CHECK_FALSE(replay(in.write("b", std::string_view{bytes}.substr(0, bytes.size() - 1))));
}

} // namespace assay::cli
