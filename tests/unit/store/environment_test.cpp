#include "src/store/clock_watch.hpp"
#include "src/store/environment.hpp"
#include "src/store/log_store.hpp"
#include "tests/unit/store/notes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace assay::store {

using namespace test;

namespace {

/// A process that holds as many reads of that environment open as there are places, and is killed
/// when this ends.
class greedy_reader {
public:
  explicit greedy_reader(const std::filesystem::path& folder) {
    std::array<int, 2> full{};
    REQUIRE(::pipe(full.data()) == 0);
    process_ = ::fork();
    if (process_ == 0)
      read_for_ever(folder, full[1]);
    ::close(full[1]);
    char is_full = 0;
    REQUIRE(::read(full[0], &is_full, 1) == 1);
    ::close(full[0]);
  }
  ~greedy_reader() { kill(); }
  greedy_reader(const greedy_reader&) = delete;
  greedy_reader& operator=(const greedy_reader&) = delete;

  pid_t process() const { return process_; }

  void kill() {
    if (process_ <= 0)
      return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

private:
  [[noreturn]] static void read_for_ever(const std::filesystem::path& folder, int full) {
    MDB_env* env = nullptr;
    mdb_env_create(&env);
    if (mdb_env_open(env, folder.c_str(), MDB_RDONLY | MDB_NOTLS, 0) != 0)
      ::_exit(1);
    MDB_txn* txn = nullptr;
    while (mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn) == 0)
      ;
    if (::write(full, "x", 1) != 1)
      ::_exit(1);
    for (;;)
      ::pause();
  }

  pid_t process_ = 0;
};

} // namespace

TEST_CASE("a full disk is told from a sync that failed") {
  CHECK(is_full_disk(MDB_MAP_FULL, 1 << 30, 1));
  CHECK(is_full_disk(EDQUOT, 1 << 30, 1));
  CHECK(is_full_disk(ENOSPC, 99, 100));
  CHECK_FALSE(is_full_disk(ENOSPC, 100, 100));
  CHECK_FALSE(is_full_disk(EIO, 0, 100));
  CHECK_FALSE(is_full_disk(MDB_BAD_VALSIZE, 0, 100));
}

TEST_CASE("a map that is too small is a full disk, and what was there stays readable") {
  scratch place;
  auto open = environment::open(place.path(), 1 << 20, {{"rows", 0}});
  REQUIRE(open);
  auto& env = **open;
  auto put = [&](std::string_view key, const std::string& value) {
    return env.write(value.size(), [&](MDB_txn* txn) {
      auto k = to_lmdb(key), v = to_lmdb(value);
      return mdb_put(txn, env.dbi(0), &k, &v, 0);
    });
  };
  REQUIRE_FALSE(put("small", "x"));
  auto failed = put("large", std::string(2 << 20, 'x'));
  REQUIRE(failed);
  CHECK(failed->is_disk_full);
  CHECK_FALSE(put("small again", "y"));
  auto before = env.map_percent();
  REQUIRE_FALSE(put("half", std::string(600 << 10, 'x')));
  CHECK(env.map_percent() > before);
}

TEST_CASE("pages that are free again count as room") {
  scratch place;
  auto open = environment::open(place.path(), 1 << 20, {{"rows", 0}});
  REQUIRE(open);
  auto& env = **open;
  std::string value(700 << 10, 'x');
  REQUIRE_FALSE(env.write(value.size(), [&](MDB_txn* txn) {
    auto k = to_lmdb("k"), v = to_lmdb(value);
    return mdb_put(txn, env.dbi(0), &k, &v, 0);
  }));
  CHECK(env.map_percent() > 60);
  for (int i = 0; i < 3; ++i) // Freed pages come back two transactions later.
    REQUIRE_FALSE(env.write(16, [&](MDB_txn* txn) {
      auto k = to_lmdb("k"), v = to_lmdb("");
      return i == 0 ? mdb_del(txn, env.dbi(0), &k, nullptr) : mdb_put(txn, env.dbi(0), &k, &v, 0);
    }));
  CHECK(env.map_percent() < 70);
}

TEST_CASE(
  "who fills the table of readers keeps nobody from a short read, and is forgotten when killed"
) {
  scratch place;
  auto open = environment::open(place.path(), 1 << 20, {{"rows", 0}});
  REQUIRE(open);
  auto& env = **open;
  auto nothing = [](MDB_txn*) { return 0; };
  greedy_reader other{place.path()};
  CHECK(env.readers().size() > 100);
  CHECK(env.readers().front().process == other.process());
  for (int i = 0; i < 3; ++i)
    CHECK(env.read(nothing));
  auto refused = env.hold();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().next.find("too many reads") != std::string::npos);
  other.kill();
  CHECK(env.read(nothing));
  CHECK(env.hold());
  CHECK(env.readers().empty());
}

TEST_CASE("a line of the readers' list is a read only with a process and a transaction") {
  CHECK(parse_reader("      4711 7f00deadbeef 12\n") == open_reader{4711, 12});
  CHECK(parse_reader("4711 0 1\n") == open_reader{4711, 1});
  CHECK_FALSE(parse_reader("      4711 7f00deadbeef -\n"));
  CHECK_FALSE(parse_reader("    pid     thread     txnid\n"));
  CHECK_FALSE(parse_reader("(no active readers)\n"));
  CHECK_FALSE(parse_reader(""));
}

TEST_CASE("the log keeps what was stored, and overwrites from where it is told to") {
  scratch place;
  using consensus::entry_kind;
  auto store = log_store::open(place.path(), 64 << 20);
  REQUIRE(store);
  auto& log = **store;
  consensus::append three{
    1,
    {{1, entry_kind::command, "a"}, {1, entry_kind::command, "b"}, {1, entry_kind::barrier, ""}}};
  REQUIRE_FALSE(log.write(consensus::hard_state{3, 1}, {three}));
  REQUIRE_FALSE(log.write({}, {{2, {{2, entry_kind::command, "c"}}}}));
  auto kept = log.load();
  REQUIRE(kept);
  CHECK(kept->hard == consensus::hard_state{3, 1});
  CHECK(kept->first_index == 1);
  REQUIRE(kept->entries.size() == 2);
  CHECK(kept->entries[1].term == 2);
  CHECK(log.entry_at(2).value() == consensus::entry{2, entry_kind::command, "c"});
  CHECK_FALSE(log.entry_at(3));
}

TEST_CASE("a compacted log begins behind its mark and remembers it") {
  scratch place;
  auto store = log_store::open(place.path(), 64 << 20);
  REQUIRE(store);
  auto& log = **store;
  consensus::append ten{1, {}};
  for (int i = 0; i < 10; ++i)
    ten.entries.push_back({1, consensus::entry_kind::command, "x"});
  REQUIRE_FALSE(log.write({}, {ten}));
  consensus::snapshot_mark mark{8, 1, 1, {{1, "1", consensus::member_role::voter}}};
  REQUIRE_FALSE(log.compact(mark, 6));
  auto kept = log.load();
  REQUIRE(kept);
  CHECK(kept->snapshot == mark);
  CHECK(kept->first_index == 6);
  CHECK(kept->entries.size() == 5);
  REQUIRE_FALSE(log.compact({10, 1, 1, mark.configuration}, 11));
  CHECK(log.load().value().first_index == 11);
}

TEST_CASE("the wall clock is trusted up to the largest jump and not one millisecond above") {
  using std::chrono::milliseconds;
  clock_watch clock;
  clock.observe({1'000'000}, milliseconds{0});
  clock.observe({1'006'000}, milliseconds{1'000}); // Five seconds more than passed.
  CHECK(clock.is_trusted());
  clock.observe({1'002'999}, milliseconds{3'000}); // From there 5,001 ms back.
  CHECK_FALSE(clock.is_trusted());
  CHECK(clock.text().find("5001 ms back") != std::string::npos);
  clock.trust();
  clock.observe({1'003'999}, milliseconds{4'000});
  CHECK(clock.is_trusted());
}

TEST_CASE("a stamp is the clock's time, or one more than the last") {
  CHECK(next_stamp({10}, {5}) == wall_ms{10});
  CHECK(next_stamp({10}, {10}) == wall_ms{11});
  CHECK(next_stamp({3}, {10}) == wall_ms{11});
}

} // namespace assay::store
