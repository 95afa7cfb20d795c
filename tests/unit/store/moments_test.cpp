#include "src/store/moments.hpp"
#include "tests/unit/store/notes.hpp"

#include <cerrno>

namespace assay::store {

using namespace test;

namespace {

/// The rows of a ledger with two notes, and the moment they are of.
struct copied {
  copied() {
    scratch place;
    auto directory = open_directory(place.path());
    auto engine = open_engine(directory);
    take(*engine, "a=1");
    take(*engine, "b=2");
    REQUIRE(barrier(*engine));
    auto got = engine->read_moment([this](const auto& page) -> result<void, problem> {
      rows.insert(rows.end(), page.begin(), page.end());
      return {};
    });
    REQUIRE(got);
    at = *got;
  }

  row_source source() const {
    return [this](const row_taker& to) -> result<moment, problem> {
      if (auto done = to(rows); !done)
        return unexpected{done.error()};
      return at;
    };
  }

  std::vector<stored_row> rows;
  moment at;
};

engine_options as(std::uint64_t id) {
  engine_options out;
  out.server_id = id;
  out.map_bytes = 16 << 20;
  return out;
}

const notes both{{"a", {1, "1"}}, {"b", {2, "2"}}};

} // namespace

TEST_CASE("a restore that fails at any of its commits may be said again, and is whole then") {
  copied from;
  int failed_at = 0;
  for (bool is_over = false; !is_over; ++failed_at) {
    scratch place;
    auto directory = open_directory(place.path());
    int commits = 0;
    auto broken = as(7);
    broken.fault = [&](commit_point) { return commits++ == failed_at ? EIO : 0; };
    is_over = restore(directory, broken, from.source()).has_value();
    if (!is_over)
      REQUIRE(restore(directory, as(7), from.source()));
    CHECK(holds_a_restore(directory));
    auto engine = open_engine(directory, as(7));
    CHECK(notes_of(engine->current()) == both);
    CHECK(engine->status().is_leader);
    CHECK(engine->status().members.size() == 1);
    CHECK(engine->current()->index > from.at.index);
    CHECK(take(*engine, "c=3").seq == 3);
    CHECK_FALSE(holds_a_restore(directory));
  }
  CHECK(failed_at > 5); // Rows, two identities, the log's mark, the adoption.
}

TEST_CASE("a restore that found the disk full succeeds when there is room") {
  copied from;
  scratch place;
  auto directory = open_directory(place.path());
  auto full = as(7);
  full.fault = [](commit_point) { return EDQUOT; };
  auto refused = restore(directory, full, from.source());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::exhausted);
  REQUIRE(restore(directory, as(7), from.source()));
  CHECK(notes_of(open_engine(directory, as(7))->current()) == both);
}

TEST_CASE("a restore goes nowhere where a ledger is, and everywhere where none ever was") {
  copied from;
  scratch used, prepared;
  auto with_ledger = open_directory(used.path());
  take(*open_engine(with_ledger), "mine=1");
  auto refused = restore(with_ledger, as(7), from.source());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "this data directory holds a ledger already");
  CHECK_FALSE(holds_a_restore(with_ledger));
  CHECK(notes_of(open_engine(with_ledger)->current()).contains("mine"));
  // A joining that came to nothing leaves an identity that nobody has seen.
  auto waiting = open_directory(prepared.path());
  REQUIRE(ledger_engine::prepare_to_join(waiting, as(7)));
  CHECK_FALSE(holds_a_restore(waiting));
  CHECK(restore(waiting, as(7), from.source()));
}

TEST_CASE("rows that their source refuses are in force nowhere") {
  copied from;
  scratch place;
  auto directory = open_directory(place.path());
  auto damaged = [&](const row_taker& to) -> result<moment, problem> {
    REQUIRE(to(from.rows));
    return unexpected{problem{problem_kind::invalid, "damaged", "", ""}};
  };
  CHECK_FALSE(restore(directory, as(7), damaged));
  CHECK_FALSE(holds_a_restore(directory));
  CHECK_FALSE(ledger_engine::is_bootstrapped(directory));
}

} // namespace assay::store
