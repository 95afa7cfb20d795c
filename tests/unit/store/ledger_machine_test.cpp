#include "src/store/ledger_export.hpp"
#include "src/store/ledger_machine.hpp"
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

  std::unique_ptr<ledger_engine> open() {
    engine_options options;
    options.map_bytes = 256 << 20;
    if (!ledger_engine::is_bootstrapped(directory))
      REQUIRE(ledger_engine::bootstrap(directory, options));
    auto engine =
      ledger_engine::open(directory, std::make_unique<ledger_machine>(seed, "local"), options);
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
  CHECK(*tables_of(engine->current()) == before);
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
