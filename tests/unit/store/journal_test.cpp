// What a journal gives back after each way in which a process or its disk can end it.

#include "src/store/journal.hpp"
#include "tests/unit/store/notes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace assay::store {

using namespace test;

namespace {

using strings = std::vector<std::string>;

journal made(const scratch& place, std::uint64_t settled = 0) {
  journal out{place.path()};
  REQUIRE_FALSE(out.make(settled));
  return out;
}

strings found(const scratch& place, std::uint64_t settled = 0) {
  journal again{place.path()};
  auto frames = again.open(settled);
  REQUIRE(frames);
  return *frames;
}

problem refused(const scratch& place, std::uint64_t settled = 0) {
  journal again{place.path()};
  auto frames = again.open(settled);
  REQUIRE_FALSE(frames);
  return frames.error();
}

void overwrite(const scratch& place, std::size_t at, std::string_view bytes) {
  auto file = open_file(place.path() / "journal", O_WRONLY).value();
  REQUIRE(::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) > 0);
}

/// Where the n-th block of frames begins, from 0.
std::size_t block(std::size_t n) {
  return (n + 1) * journal_block;
}

} // namespace

TEST_CASE("a journal gives back what was appended, in order") {
  scratch place;
  {
    auto j = made(place);
    REQUIRE_FALSE(j.append("one"));
    REQUIRE_FALSE(j.append(std::string(2 * journal_block, 'x')));
    REQUIRE_FALSE(j.append("three"));
  }
  CHECK(found(place) == strings{"one", std::string(2 * journal_block, 'x'), "three"});
}

TEST_CASE("a journal that was opened goes on behind what it gave back") {
  scratch place;
  {
    auto j = made(place);
    REQUIRE_FALSE(j.append("one"));
  }
  {
    journal again{place.path()};
    REQUIRE(again.open(0));
    REQUIRE_FALSE(again.append("two"));
    CHECK(again.last() == 2);
  }
  CHECK(found(place) == strings{"one", "two"});
}

TEST_CASE("what is held elsewhere does not come back when a journal begins again") {
  scratch place;
  auto j = made(place);
  for (const auto* text : {"one", "two", "three"})
    REQUIRE_FALSE(j.append(text));
  CHECK(found(place, 3).empty());
  j.restart();
  REQUIRE_FALSE(j.append("four"));
  CHECK(found(place, 3) == strings{"four"});
}

TEST_CASE("a frame that was torn is as if it had never been, and the next one takes its place") {
  scratch place;
  {
    auto j = made(place);
    REQUIRE_FALSE(j.append("one"));
    REQUIRE_FALSE(j.append(std::string(2 * journal_block, 'x')));
  }
  overwrite(place, block(3), std::string(8, 'y'));
  journal again{place.path()};
  CHECK(again.open(0).value() == strings{"one"});
  REQUIRE_FALSE(again.append("two"));
  CHECK(found(place) == strings{"one", "two"});
}

TEST_CASE("a damaged frame with an acknowledged one behind it is refused, and named") {
  scratch place;
  {
    auto j = made(place, 7);
    for (const auto* text : {"eight", "nine", "ten"})
      REQUIRE_FALSE(j.append(text));
  }
  overwrite(place, block(1) + 25, "?");
  const auto why = refused(place, 7);
  CHECK(why.what == "frame 9 is damaged, and frame 10 behind it was acknowledged");
  CHECK(why.where == (place.path() / "journal").string());
}

TEST_CASE("a journal whose first frames are missing in the environment is refused") {
  scratch place;
  auto j = made(place);
  for (const auto* text : {"one", "two"})
    REQUIRE_FALSE(j.append(text));
  j.restart();
  REQUIRE_FALSE(j.append("three"));
  CHECK(refused(place, 1).what.starts_with("frame 2 is damaged, and frame 3"));
}

TEST_CASE("no content can pose as a frame") {
  scratch place;
  auto j = made(place);
  REQUIRE_FALSE(j.append("one"));
  auto file = open_file(place.path() / "journal", O_RDONLY).value();
  std::string copy(journal_block, '\0');
  REQUIRE(::pread(file.get(), copy.data(), copy.size(), static_cast<off_t>(block(0))) > 0);
  scratch other;
  auto k = made(other);
  REQUIRE_FALSE(k.append(std::string(journal_block - 24, ' ') + copy));
  REQUIRE_FALSE(k.append("two"));
  overwrite(other, block(0), std::string(24, '\0'));
  CHECK(refused(other).what == "frame 1 is damaged, and frame 2 behind it was acknowledged");
}

TEST_CASE("a journal that is missing, cut, foreign or of another format is refused") {
  scratch place;
  const auto path = place.path() / "journal";
  CHECK(refused(place).what == "the journal is missing; the newest entries are in it");
  made(place);
  REQUIRE(::truncate(path.c_str(), journal_bytes - 1) == 0);
  CHECK(refused(place).what.starts_with("the file is cut short: it has 4194303 bytes"));
  made(place);
  overwrite(place, 4, std::string(1, '\2'));
  CHECK(refused(place).what == "the journal has format 2, this assayd knows 1");
  overwrite(place, 0, "LMDB");
  CHECK(refused(place).what.starts_with("the file is no journal"));
}

TEST_CASE("a journal takes what fits to its last block, and no more") {
  scratch place;
  auto j = made(place);
  const auto room = journal_bytes - journal_block - 24;
  CHECK(j.fits(room));
  CHECK_FALSE(j.fits(room + 1));
  REQUIRE_FALSE(j.append(std::string(room, 'x')));
  CHECK_FALSE(j.fits(1));
  CHECK(found(place).size() == 1);
  j.restart();
  CHECK(j.fits(room));
}

TEST_CASE("a disk that refuses direct writes is written through the cache from then on") {
  scratch place;
  auto out = made(place);
  auto refusals = out.is_direct() ? 1 : 0; // tmpfs never takes any.
  out.inject([&refusals] { return refusals-- > 0 ? EINVAL : 0; });
  CHECK_FALSE(out.append("one"));
  CHECK_FALSE(out.is_direct());
  CHECK_FALSE(out.append("two"));
  CHECK(found(place) == strings{"one", "two"});
}

TEST_CASE("a write that the cache's way refuses as well is a failure") {
  scratch place;
  auto out = made(place);
  out.inject([] { return EINVAL; });
  auto failed = out.append("one");
  REQUIRE(failed);
  CHECK_FALSE(failed->is_disk_full);
}

TEST_CASE("a full disk passes, and the same frame can be appended again") {
  scratch place;
  auto j = made(place);
  int code = EDQUOT;
  j.inject([&] { return code; });
  CHECK(j.append("one").value().is_disk_full);
  code = EIO;
  CHECK_FALSE(j.append("one").value().is_disk_full);
  code = 0;
  REQUIRE_FALSE(j.append("one"));
  CHECK(found(place) == strings{"one"});
}

} // namespace assay::store
