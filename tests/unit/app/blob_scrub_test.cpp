// Blobs that are read again, on a real disk and by a clock of the test's own.

#include "src/app/blob_scrub.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>

namespace assay::app {

namespace {

/// Some blobs on a disk, and a ledger that names them.
struct shelf {
  test::temp_folder place;
  std::unique_ptr<store::blob_store> disk = *store::blob_store::open(place.path() / "blobs");
  ledger::tables names;
  blob_scrub scrub{*disk};
  steady_time at{std::chrono::hours{1}};

  digest put(const std::string& bytes) {
    ledger::job_row row;
    row.job.id = {"j" + std::to_string(names.jobs->size())};
    row.job.input = disk->put(bytes).value();
    names.load(row);
    return row.job.input;
  }

  void flip_first_bit(const digest& blob) const {
    std::fstream file{disk->path(blob), std::ios::in | std::ios::out | std::ios::binary};
    const auto first = static_cast<char>(file.get() ^ 1);
    file.seekp(0);
    file.put(first);
    REQUIRE(file.good());
  }

  std::optional<blob_scrub::verdict> look() {
    at += blob_scrub::every;
    return scrub.look(names, at);
  }

  /// Up to the next verdict; how many looks that took goes into `looks`.
  blob_scrub::verdict next(int* looks = nullptr) {
    for (int i = 1; i < 100; ++i)
      if (auto found = look()) {
        if (looks != nullptr)
          *looks = i;
        return *found;
      }
    FAIL("no blob comes to its end");
    return {};
  }
};

} // namespace

TEST_CASE("sound blobs are read piece by piece, each once in a round, and then it rests") {
  shelf s;
  const auto small = s.put("small");
  const auto large = s.put(std::string(2 * blob_scrub::piece_bytes + 1, 'l'));
  std::map<digest, int> looks;
  for (int i = 0; i < 2; ++i) {
    int count = 0;
    auto found = s.next(&count);
    CHECK_FALSE(found.wrong);
    looks[found.blob] = count;
  }
  CHECK(looks == std::map<digest, int>{{small, 1}, {large, 3}});
  CHECK(s.scrub.rounds() == 1);
  CHECK_FALSE(s.scrub.look(s.names, s.at + blob_scrub::rest));
  s.at += blob_scrub::rest;
  (void)s.next();
  (void)s.next();
  CHECK(s.scrub.rounds() == 2);
}

TEST_CASE("not more than a piece is read in a while") {
  shelf s;
  (void)s.put("blob");
  REQUIRE(s.look());
  s.at += blob_scrub::rest;
  REQUIRE(s.look());
  CHECK_FALSE(s.scrub.look(s.names, s.at));
  CHECK_FALSE(s.scrub.look(s.names, s.at + blob_scrub::rest));
}

TEST_CASE("a flipped bit is found when it was read twice, and named with its file") {
  shelf s;
  const auto blob = s.put("what was written");
  s.flip_first_bit(blob);
  int looks = 0;
  const auto found = s.next(&looks);
  CHECK(looks == 2);
  CHECK(found.blob == blob);
  REQUIRE(found.wrong);
  CHECK(found.wrong->kind == problem_kind::invalid);
  CHECK(found.wrong->where == s.disk->path(blob).string());
  s.flip_first_bit(blob); // As it was.
  s.at += blob_scrub::rest;
  CHECK_FALSE(s.next().wrong);
}

TEST_CASE("a blob that is gone or cut is found, and an empty one is sound") {
  shelf s;
  (void)s.put("");
  CHECK_FALSE(s.next().wrong);
  shelf gone;
  const auto blob = gone.put("gone");
  REQUIRE(gone.disk->remove(blob));
  CHECK(gone.next().wrong->kind == problem_kind::not_found);
  shelf cut;
  std::filesystem::resize_file(cut.disk->path(cut.put("cut in half")), 3);
  CHECK(cut.next().wrong->kind == problem_kind::invalid);
}

TEST_CASE("a ledger that names no blob is read in no time") {
  shelf s;
  CHECK_FALSE(s.look());
  CHECK(s.scrub.rounds() == 0);
}

} // namespace assay::app
