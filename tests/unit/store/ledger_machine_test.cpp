#include "src/store/ledger_export.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/store/signing_seed.hpp"
#include "src/wire/export_codec.hpp"
#include "src/wire/record_codec.hpp"
#include "src/wire/row_codec.hpp"
#include "tests/unit/store/notes.hpp"

#include <sys/stat.h>

namespace assay::store {

using namespace test;

namespace {

const ledger::author operator_{"root", ledger::authentication::socket};
const auto cluster = parse_uuid("01890a5d-ac96-774b-bcce-b302099a8057").value();

struct world {
  scratch place;
  data_directory directory = open_directory(place.path());
  ledger::signing_key::seed seed =
    load_or_make_signing_seed(directory.keys() / "ledger.key").value();
  ledger::signing_key key{seed};

  std::unique_ptr<ledger_engine> open(std::uint16_t knows = ledger::schema_version) {
    engine_options options;
    options.map_bytes = 256 << 20;
    if (!ledger_engine::is_bootstrapped(directory))
      REQUIRE(ledger_engine::bootstrap(directory, options));
    auto engine = ledger_engine::open(
      directory, std::make_unique<ledger_machine>(seed, "local", knows), options
    );
    if (!engine)
      FAIL(to_text(engine.error()));
    return *std::move(engine);
  }

  std::string member_key() const { return ledger::to_text(key.public_part()); }
};

answer put(ledger_engine& engine, const ledger::record& what) {
  return ask(engine, wire::encode_proposal(what)).get();
}

void found(ledger_engine& engine, const world& in) {
  auto created =
    put(engine, ledger::make_record(ledger::cluster_created{cluster, "lab"}, operator_));
  REQUIRE(created);
  CHECK(created->seq == 1);
  ledger::membership alone{{{1, "local", "local", in.member_key(), true}}};
  REQUIRE(put(engine, ledger::make_record(alone, operator_)));
}

ledger::record identity(const std::string& host) {
  return ledger::make_record(
    ledger::identity_added{
      host,
      ledger::identity_role::host,
      std::string(40, 'a' + static_cast<char>(host.size() % 20)),
      {},
      {}},
    operator_
  );
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

class nothing_known : public row_lookup {
  std::optional<std::string> find(std::string_view) const override { return {}; }
};

std::string exported(const ledger_engine& engine, const world& in) {
  auto whole = ledger_export::begin(engine, {in.key, "local"});
  if (!whole)
    FAIL(to_text(whole.error()));
  std::string out;
  for (;;) {
    auto piece = whole->next();
    if (!piece)
      FAIL(to_text(piece.error()));
    if (piece->empty())
      return out;
    out += *piece;
  }
}

} // namespace

TEST_CASE("records are chained, found again by their ids, and survive a restart") {
  world in;
  ledger::tables before;
  auto record = ledger::make_record(
    ledger::key_issued{.key = {"ada"}, .secret = sha256("s"), .internal = true, .project = {"p"}},
    operator_
  );
  std::uint64_t seq = 0;
  {
    auto engine = in.open();
    found(*engine, in);
    auto got = put(*engine, record);
    REQUIRE(got);
    seq = got->seq;
    CHECK(got->record_hash == wire::make_entry(record).hash);
    auto again = put(*engine, record);
    REQUIRE(again);
    CHECK(again->is_repeated);
    CHECK(again->seq == seq);
    auto view = barrier(*engine);
    REQUIRE(view);
    before = *tables_of(*view);
    CHECK(before.keys->contains({"ada"}));
    CHECK(before.head.seq == seq);
  }
  auto engine = in.open();
  auto now = *tables_of(engine->current());
  CHECK(now.head.applied_index > before.head.applied_index); // It began to lead anew,
  CHECK(now.head.applied_term > before.head.applied_term);
  now.head.applied_index = before.head.applied_index;
  now.head.applied_term = before.head.applied_term;
  CHECK(now == before);              // which changes nothing else.
  auto again = put(*engine, record); // The id is found on disk now.
  REQUIRE(again);
  CHECK(again->is_repeated);
  CHECK(again->seq == seq);
  auto other = record;
  other.reason_text = "another record under the same id";
  auto refused = put(*engine, other);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::refused);
  CHECK(refused.error().what.find("id_reused") != std::string::npos);
}

TEST_CASE("bytes that are no record are refused and disturb nobody in their batch") {
  world in;
  auto engine = in.open();
  found(*engine, in);
  auto bad = ask(*engine, "no record at all");
  auto good = ask(*engine, wire::encode_proposal(identity("h1")));
  auto said = bad.get();
  REQUIRE_FALSE(said);
  CHECK(said.error().kind == problem_kind::refused);
  CHECK(good.get());
}

TEST_CASE("a batch is applied with the signature of the member it names, and no other") {
  world in;
  const ledger::signing_key::seed stranger{1, 2, 3};
  nothing_known none;
  ledger_machine leads{in.seed, "one"}, forges{stranger, "one"}, unknown{in.seed, "two"};
  auto created = ledger::make_record(ledger::cluster_created{cluster, "lab"}, operator_);
  auto joined =
    ledger::make_record(ledger::membership{{{1, "one", "here", in.member_key(), true}}}, operator_);
  auto seal = [](ledger_machine& by, const ledger::record& what, std::int64_t stamp) {
    return by.seal({wire::encode_proposal(what)}, wall_ms{stamp}, 1);
  };
  ledger_machine follows{stranger, "three"};
  std::uint64_t index = 0;
  auto apply = [&](ledger_machine& to, const std::string& batch) {
    return to.apply(batch, ++index, 1, none).forged;
  };
  for (auto* each : {&follows, &forges, &unknown, &leads}) {
    index = 0;
    CHECK(apply(*each, seal(leads, created, 1)).empty());
    if (each != &forges) // It would know that it has not the key, and refuse.
      CHECK(apply(*each, seal(leads, joined, 2)).empty()); // Names the key that signed it.
  }
  index = 2;
  CHECK(apply(follows, seal(leads, identity("h1"), 3)).empty());
  const auto before = follows.stands().seq;
  CHECK(apply(follows, seal(forges, identity("h22"), 4)).find("signature") != std::string::npos);
  CHECK(apply(follows, seal(unknown, identity("h333"), 5)).find("no member") != std::string::npos);
  CHECK(apply(follows, "no batch").find("no batch") != std::string::npos);
  CHECK(follows.stands().seq == before);
}

TEST_CASE("a record that the cluster did not agree to take is refused before it is proposed") {
  world in;
  auto engine = in.open();
  found(*engine, in);
  REQUIRE(barrier(*engine));
  const auto before = engine->status().last_index;
  auto newer = identity("h1");
  newer.schema_version = ledger::schema_version + 1;
  auto said = put(*engine, newer);
  REQUIRE_FALSE(said);
  CHECK(said.error().kind == problem_kind::refused);
  CHECK(says(said.error().what, "needs schema version 3; this cluster takes 1 to 1"));
  CHECK(says(said.error().what, "nothing was applied"));
  auto raise = ledger::make_record(ledger::cluster_version{ledger::schema_version + 1}, operator_);
  said = put(*engine, raise);
  REQUIRE_FALSE(said);
  CHECK(says(said.error().what, "this program knows schema versions 1 to 2"));
  CHECK(engine->status().last_index == before);
}

TEST_CASE("a kind that no program of its version knows is refused before it is proposed") {
  world in;
  ledger_machine machine{in.seed, "one"};
  auto bytes = wire::encode_proposal(
    ledger::make_record(make_uuid7(1, {}), ledger::key_revoked{{"k"}, ""}, operator_)
  );
  CHECK_FALSE(machine.refuse(bytes));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] != '\x14') // The kind's number, wherever the union says it.
      continue;
    auto newer = bytes;
    newer[at] = '\x7f';
    auto why = machine.refuse(newer);
    refused += why && why->what.find("of a kind that no program of schema") != std::string::npos;
  }
  CHECK(refused == 1);
}

TEST_CASE("a ledger under a newer schema is not opened by an older program, which says where it is"
) {
  world in;
  std::uint64_t seq = 0;
  {
    auto engine = in.open(2);
    found(*engine, in);
    auto raised = put(*engine, ledger::make_record(ledger::cluster_version{2}, operator_));
    REQUIRE(raised);
    seq = raised->seq;
    REQUIRE(barrier(*engine));
  }
  auto old =
    ledger_engine::open(in.directory, std::make_unique<ledger_machine>(in.seed, "local", 1), {});
  REQUIRE_FALSE(old);
  CHECK(old.error().kind == problem_kind::refused);
  CHECK(says(old.error().what, "at seq " + std::to_string(seq)));
  CHECK(says(old.error().what, "written under schema version 2; this program knows 1 to 1"));
  CHECK(tables_of(in.open(2)->current())->head.schema_version == 2); // It is unharmed.
}

TEST_CASE("a program that the cluster outgrows applies nothing of the batch that says so") {
  world in;
  nothing_known none;
  ledger_machine leads{in.seed, "one", 2}, follows{in.seed, "one", 1};
  auto seal = [&](const ledger::payload& what, std::int64_t stamp) {
    return leads.seal(
      {wire::encode_proposal(ledger::make_record(what, operator_))}, wall_ms{stamp}, 1
    );
  };
  auto created = seal(ledger::cluster_created{cluster, "lab"}, 1);
  auto raised = seal(ledger::cluster_version{2}, 2);
  for (auto* each : {&leads, &follows})
    CHECK(each->apply(created, 1, 1, none).too_new.empty());
  CHECK(leads.apply(raised, 2, 1, none).too_new.empty());
  auto stopped = follows.apply(raised, 2, 1, none);
  CHECK(says(stopped.too_new, "at seq 2, is written under schema version 2"));
  CHECK(stopped.rows.empty());
  CHECK(follows.stands().seq == 1);
  CHECK(leads.stands().seq == 2);
}

TEST_CASE("an older program ends at the entry that agrees on a newer schema, at each start again") {
  class careless : public ledger_machine {
    using ledger_machine::ledger_machine;
    std::optional<problem> refuse(std::string_view) const override { return {}; }
  };
  world in;
  auto start = [&](std::promise<std::string>& died) {
    engine_options options;
    options.map_bytes = 256 << 20;
    options.stop_process = [&](const std::string& why) { died.set_value(why); };
    return ledger_engine::open(
      in.directory, std::make_unique<careless>(in.seed, "local", 1), options
    );
  };
  found(*in.open(), in);
  std::promise<std::string> first, second;
  {
    auto engine = start(first).value();
    CHECK_FALSE(put(*engine, ledger::make_record(ledger::cluster_version{2}, operator_)));
    auto why = first.get_future().get();
    CHECK(
      says(why, "of the log is too new: the ledger, at seq 3, is written under schema version 2")
    );
  }
  auto engine = start(second);
  CHECK(says(second.get_future().get(), "at seq 3, is written under schema version 2"));
}

TEST_CASE("an export is believed by the auditor; cut or changed it is not") {
  world in;
  auto engine = in.open();
  found(*engine, in);
  for (const auto* host : {"h1", "h22", "h333"})
    REQUIRE(put(*engine, identity(host)));
  (void)put(*engine, identity("h1")); // Refused or not, it stays in its batch's signature.
  REQUIRE(barrier(*engine));
  auto whole = exported(*engine, in);
  auto finding = wire::audit(whole);
  INFO((finding ? finding->text : std::string{}));
  CHECK_FALSE(finding);
  CHECK(wire::audit(std::string_view{whole}.substr(0, whole.size() - 1)));
  auto changed = whole;
  changed[changed.size() / 2] ^= 1;
  CHECK(wire::audit(changed));
}

TEST_CASE(
  "batches are signed with the key that the ledger names, and an export over both is believed"
) {
  scratch place;
  auto directory = open_directory(place.path());
  ledger::signing_key::seed old_seed = ledger::signing_key::new_seed();
  ledger::signing_key::seed new_seed = ledger::signing_key::new_seed();
  auto named = [](const ledger::signing_key::seed& seed) {
    return ledger::membership{
      {{1, "local", "local", ledger::to_text(ledger::signing_key{seed}.public_part()), true}}};
  };
  auto keys = std::make_shared<signing_keys>(old_seed);
  engine_options options;
  options.map_bytes = 256 << 20;
  REQUIRE(ledger_engine::bootstrap(directory, options));
  auto opened =
    ledger_engine::open(directory, std::make_unique<ledger_machine>(keys, "local"), options);
  REQUIRE(opened);
  auto& engine = **opened;
  REQUIRE(put(engine, ledger::make_record(ledger::cluster_created{cluster, "lab"}, operator_)));
  REQUIRE(put(engine, ledger::make_record(named(old_seed), operator_)));
  REQUIRE(put(engine, identity("h1")));
  REQUIRE(put(engine, ledger::make_record(named(new_seed), operator_)));
  auto refused = put(engine, identity("h22")); // What it could sign with, nobody would believe.
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::unavailable);
  keys->add(new_seed);
  REQUIRE(put(engine, identity("h22")));
  REQUIRE(barrier(engine));
  ledger::signing_key signer{new_seed};
  auto whole = ledger_export::begin(engine, {signer, "local"});
  REQUIRE(whole);
  std::string bytes;
  for (auto piece = whole->next(); piece && !piece->empty(); piece = whole->next())
    bytes += *piece;
  auto finding = wire::audit(bytes);
  INFO((finding ? finding->text : std::string{}));
  CHECK_FALSE(finding);
}

TEST_CASE("the signing seed is made once, kept 0600, and refused when others may read it") {
  scratch place;
  auto path = place.path() / "ledger.key";
  auto made = load_or_make_signing_seed(path);
  REQUIRE(made);
  CHECK(load_or_make_signing_seed(path).value() == *made);
  ::chmod(path.c_str(), 0644);
  CHECK_FALSE(load_or_make_signing_seed(path));
}

} // namespace assay::store
