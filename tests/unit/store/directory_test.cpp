#include "src/store/file_system.hpp"
#include "src/store/private_files.hpp"
#include "src/store/state_store.hpp"
#include "tests/unit/store/notes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace assay::store {

using namespace test;

namespace {

mode_t mode_of(const std::filesystem::path& path) {
  struct stat seen {};
  REQUIRE(::stat(path.c_str(), &seen) == 0);
  return seen.st_mode & 0777;
}

struct row {
  std::uint64_t f_type;
  const char* name;
  disk_verdict verdict;
};

} // namespace

TEST_CASE("network and user-space file systems are refused, local ones accepted") {
  const row table[] = {
    {0xEF53, "ext2/ext3/ext4", disk_verdict::accepted},
    {0x58465342, "xfs", disk_verdict::accepted},
    {0x9123683E, "btrfs", disk_verdict::accepted},
    {0xFFFFFFFF9123683E, "btrfs", disk_verdict::accepted}, // Sign-extended by some kernels.
    {0x794C7630, "overlayfs", disk_verdict::warned},
    {0x01021994, "tmpfs", disk_verdict::warned},
    {0x6969, "nfs", disk_verdict::refused},
    {0x517B, "smb", disk_verdict::refused},
    {0xFF534D42, "cifs", disk_verdict::refused},
    {0xFE534D42, "smb2", disk_verdict::refused},
    {0x0BD00BD0, "lustre", disk_verdict::refused},
    {0x47504653, "gpfs", disk_verdict::refused},
    {0x01021997, "9p", disk_verdict::refused},
    {0x65735546, "fuse", disk_verdict::refused},
    {0x00C36400, "ceph", disk_verdict::refused},
    {0x19830326, "beegfs", disk_verdict::refused},
    {0x5346414F, "afs", disk_verdict::refused},
    {0x6B414653, "afs", disk_verdict::refused},
    {0x12345678, "unknown", disk_verdict::accepted},
  };
  for (const auto& r : table) {
    auto kind = judge_file_system(r.f_type);
    CHECK(kind.name == r.name);
    CHECK(kind.verdict == r.verdict);
    CHECK(file_system_problem("/srv/a", kind).has_value() == (r.verdict == disk_verdict::refused));
  }
}

TEST_CASE("the refusal of a file system names the path, the kind and what to do") {
  auto said = file_system_problem("/srv/assay", judge_file_system(0x6969));
  REQUIRE(said);
  CHECK(said->where == "/srv/assay");
  CHECK(said->what.find("nfs") != std::string::npos);
  CHECK(said->next.find("local disk") != std::string::npos);
}

TEST_CASE("the data directory and its folders belong to us alone") {
  scratch place;
  auto directory = open_directory(place.path() / "new" / "data");
  for (const auto& folder :
       {directory.root(),
        directory.keys(),
        directory.raft(),
        directory.ledger(),
        directory.blobs(),
        directory.trace(),
        directory.run(),
        directory.agent()})
    CHECK(mode_of(folder) == 0700);
  auto engine = open_engine(directory);
  CHECK(mode_of(directory.raft() / "data.mdb") == 0600);
  CHECK(mode_of(directory.run() / "lock") == 0600);
}

TEST_CASE("a secret is written 0600 and read back; one that others may read is refused") {
  scratch place;
  auto path = place.path() / "secret";
  REQUIRE(write_private_file(path, "hush"));
  CHECK(mode_of(path) == 0600);
  CHECK(read_private_file(path).value() == "hush");
  for (mode_t open : {0640U, 0604U, 0620U}) {
    ::chmod(path.c_str(), open);
    auto refused = read_private_file(path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == problem_kind::refused);
    CHECK(refused.error().next.find("chmod 600") != std::string::npos);
  }
  auto missing = read_private_file(place.path() / "none");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == problem_kind::not_found);
  CHECK_FALSE(write_private_file(place.path() / "no" / "folder", "x"));
}

TEST_CASE("a secret is read up to the size limit and not one byte above") {
  scratch place;
  auto path = place.path() / "secret";
  REQUIRE(write_private_file(path, std::string(private_file_bytes, 'x')));
  CHECK(read_private_file(path));
  REQUIRE(write_private_file(path, std::string(private_file_bytes + 1, 'x')));
  CHECK_FALSE(read_private_file(path));
}

TEST_CASE("a store that was cut short says so instead of crashing") {
  scratch place;
  auto directory = open_directory(place.path());
  {
    auto engine = open_engine(directory);
    for (int i = 0; i < 50; ++i)
      take(*engine, "n" + std::to_string(i) + "=" + std::string(4'000, 'x'));
  }
  auto folder = GENERATE(0, 1);
  auto file = (folder == 0 ? directory.raft() : directory.ledger()) / "data.mdb";
  auto length = static_cast<off_t>(std::filesystem::file_size(file));
  for (off_t cut : {length - 4096, length / 2, off_t{4096}, off_t{0}}) {
    REQUIRE(::truncate(file.c_str(), cut) == 0);
    engine_options options;
    options.map_bytes = 256 << 20;
    auto refused = ledger_engine::open(directory, std::make_unique<note_machine>(), options);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == problem_kind::refused);
    CHECK(refused.error().what.find("cut short") != std::string::npos);
    CHECK(refused.error().where == file.string());
  }
}

TEST_CASE("a founding that was cut off may begin again, a finished one may not") {
  scratch place;
  auto directory = open_directory(place.path());
  CHECK_FALSE(ledger_engine::is_bootstrapped(directory));
  // As after a crash in between: the state has its identity, the log does not.
  REQUIRE_FALSE(state_store::open(directory.ledger(), 1 << 20).value()->write_identity("half"));
  CHECK_FALSE(ledger_engine::is_bootstrapped(directory));
  auto engine = open_engine(directory);
  CHECK(take(*engine, "a=1").seq == 1);
  engine.reset();
  CHECK(ledger_engine::is_bootstrapped(directory));
}

TEST_CASE("a wiped half of the store is noticed") {
  scratch place;
  auto directory = open_directory(place.path());
  {
    auto engine = open_engine(directory);
    take(*engine, "a=1");
    REQUIRE(barrier(*engine));
  }
  auto half = GENERATE(0, 1);
  auto folder = half == 0 ? directory.raft() : directory.ledger();
  std::filesystem::remove(folder / "data.mdb");
  std::filesystem::remove(folder / "lock.mdb");
  engine_options options;
  options.map_bytes = 256 << 20;
  auto refused = ledger_engine::open(directory, std::make_unique<note_machine>(), options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::refused);
  CHECK(refused.error().what.find("do not belong together") != std::string::npos);
  CHECK(ledger_engine::is_bootstrapped(directory));
  CHECK_FALSE(ledger_engine::bootstrap(directory, options));
}

} // namespace assay::store
