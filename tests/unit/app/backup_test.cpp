#include "src/app/backup_file.hpp"
#include "src/app/founding.hpp"
#include "src/app/member_address.hpp"
#include "src/app/proposing.hpp"
#include "src/app/restoring.hpp"
#include "src/store/ledger_machine.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace assay::app {

namespace {

settings coordinator(std::string name = "a") {
  settings how;
  how.name = std::move(name);
  how.peers = {"127.0.0.1", 7104};
  return how;
}

/// One assayd's directory, and its engine while it runs.
class member_home {
public:
  explicit member_home(settings as = coordinator())
    : how{std::move(as)}, directory{*store::data_directory::open(
                            where.path(), {.is_network_accepted = true}
                          )} {}

  void found() {
    REQUIRE(store::ledger_engine::bootstrap(directory, options({})));
    start({new_uuid7(), "lab", 1, how.name, {}});
  }

  /// As assayd does at each start.
  void start(const place& at) {
    auto loaded = load_secrets(directory, true);
    REQUIRE(loaded);
    secrets = *loaded;
    auto disk = store::ledger_engine::disk_of(directory);
    REQUIRE(disk);
    auto machine = std::make_unique<store::ledger_machine>(secrets.signing, how.name);
    auto opened = store::ledger_engine::open(directory, std::move(machine), options(at));
    REQUIRE(opened);
    engine = std::move(*opened);
    blobs = *store::blob_store::open(directory.blobs());
    founder by{at.cluster, at.cluster_name, member_of(how, secrets, *disk)};
    by.me.id = at.node;
    REQUIRE(found_cluster(*engine, by));
  }

  /// A backup is of what is on disk, which follows what was answered.
  void wait_for_disk() const {
    while (engine->status().durable_index < engine->status().applied_index)
      std::this_thread::yield();
  }

  result<backup_manifest, problem> back_up(const std::filesystem::path& file) const {
    return write_backup(file, {*engine, *blobs, directory.blobs(), how.name, [this](const auto&) {
                                 return std::optional{secrets.signing};
                               }});
  }

  store::engine_options options(const place& at) const {
    store::engine_options out;
    out.server_id = std::max<std::uint64_t>(at.node, 1);
    out.address = member_addresses(how).peers;
    out.map_bytes = 16 << 20;
    return out;
  }

  /// Holds everything that was answered.
  ledger::head_row head() const {
    auto now = read_now(*engine);
    REQUIRE(now);
    return now->tables->head;
  }

  test::temp_folder where;
  settings how;
  store::data_directory directory;
  own_secrets secrets;
  std::unique_ptr<store::ledger_engine> engine;
  std::unique_ptr<store::blob_store> blobs;
};

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream{file, std::ios::binary | std::ios::trunc} << bytes;
}

/// A cluster of one with a blob, and a backup of it.
struct backed_up {
  backed_up() {
    a.found();
    auto put = a.blobs->put(std::string(300'000, 'x'));
    REQUIRE(put);
    blob = *put;
    a.wait_for_disk();
    auto made = a.back_up(file);
    INFO((made ? std::string{} : to_text(made.error())));
    REQUIRE(made);
    what = *made;
  }

  member_home a;
  test::temp_folder where;
  std::filesystem::path file = where.path() / "lab.assay";
  backup_manifest what;
  digest blob;
};

} // namespace

TEST_CASE("a backup takes the place of nothing but a backup or an empty file") {
  backed_up b;
  CHECK(b.a.back_up(b.file));
  const auto whole = bytes_of(b.file);
  for (const auto& cut : {whole.substr(0, 3), whole.substr(0, whole.size() / 2), std::string{}}) {
    write(b.file, cut);
    CHECK(b.a.back_up(b.file));
  }
  const auto refused = [&](const std::filesystem::path& place) {
    auto made = b.a.back_up(place);
    REQUIRE_FALSE(made);
    CHECK(made.error().kind == problem_kind::invalid);
    CHECK(made.error().what.find("is no backup") != std::string::npos);
    CHECK(made.error().what.find("no backup was written") != std::string::npos);
  };
  const auto store = b.a.directory.ledger() / "data.mdb";
  const auto before = bytes_of(store);
  refused(store);
  CHECK(bytes_of(store) == before);
  const auto pipe = b.where.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  refused(pipe);
  CHECK(std::filesystem::is_fifo(pipe));
  refused(b.where.path());
  const auto link = b.where.path() / "link";
  std::filesystem::create_symlink(store, link);
  refused(link);
  write(b.where.path() / "other.partial", "somebody's");
  refused(b.where.path() / "other");
  CHECK(bytes_of(b.where.path() / "other.partial") == "somebody's");
}

TEST_CASE("what is no regular file is refused as a backup, and not waited for") {
  test::temp_folder where;
  const auto pipe = where.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& place : {pipe, where.path()}) {
    auto read = read_backup(place);
    REQUIRE_FALSE(read);
    CHECK(read.error().what == "this is no regular file");
  }
}

TEST_CASE("a backup is for its owner's eyes, leaves no partial file, and names its moment") {
  backed_up x;
  struct stat mode {};
  REQUIRE(::stat(x.file.c_str(), &mode) == 0);
  CHECK((mode.st_mode & 0777) == 0600);
  CHECK_FALSE(std::filesystem::exists(x.file.string() + ".partial"));
  CHECK(x.what.seq == x.a.head().seq);
  CHECK(x.what.chain == x.a.head().chain);
  CHECK(x.what.blobs == 1);
  auto again = read_backup(x.file);
  REQUIRE(again);
  CHECK(again->rows == x.what.rows);
}

TEST_CASE("a backup that cannot be written whole leaves the one before as it was") {
  backed_up x;
  auto before = bytes_of(x.file);
  std::filesystem::permissions(x.a.blobs->path(x.blob), std::filesystem::perms::owner_all);
  write(x.a.blobs->path(x.blob), "another content");
  auto refused = x.a.back_up(x.file);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("no backup was written") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(x.file.string() + ".partial"));
  CHECK(bytes_of(x.file) == before);
}

TEST_CASE("a backup that is cut anywhere is refused") {
  backed_up x;
  auto whole = bytes_of(x.file);
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 40 + 1) {
    write(x.file, whole.substr(0, size));
    CHECK_FALSE(read_backup(x.file));
  }
  for (const auto& other : {whole.substr(0, whole.size() - 1), whole + "x"}) {
    write(x.file, other);
    CHECK_FALSE(read_backup(x.file));
  }
}

TEST_CASE("a backup of which one bit is another one is refused") {
  backed_up x;
  auto whole = bytes_of(x.file);
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 60 + 1) {
    auto bent = whole;
    bent[at] = static_cast<char>(bent[at] ^ 4);
    write(x.file, bent);
    CHECK_FALSE(read_backup(x.file));
  }
}

TEST_CASE("what is no backup, and a backup of a newer format or schema, are told apart") {
  backed_up x;
  auto whole = bytes_of(x.file);
  auto newer = whole;
  newer[13] = 2;
  write(x.file, newer);
  auto refused = read_backup(x.file);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "the backup has format 2, and this assayd reads format 1");
  CHECK(refused.error().kind == problem_kind::refused);
  newer = whole;
  newer[17] = 99;
  write(x.file, newer);
  refused = read_backup(x.file);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::refused);
  CHECK(refused.error().what.starts_with("the backup is of schema version 99"));
  write(x.file, "data: /var/lib/assay and more that is longer than the beginning\n");
  refused = read_backup(x.file);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "this is not a backup of a cluster");
}

TEST_CASE("a restored directory goes on behind the backup as one new member with the old key") {
  backed_up x;
  member_home again;
  auto at = restore_member(again.how, again.directory, x.file);
  REQUIRE(at);
  CHECK(at->node == 2);
  CHECK(at->cluster == x.what.cluster);
  again.start(*at);
  auto head = again.head();
  REQUIRE(head.members.size() == 1);
  CHECK(head.members[0].id == 2);
  CHECK(head.members[0].signing_public == x.a.head().members[0].signing_public);
  CHECK(head.members[0].curve_public != x.a.head().members[0].curve_public);
  CHECK(head.members[0].disk != x.a.head().members[0].disk);
  CHECK(head.seq > x.what.seq);
  CHECK(again.blobs->has(x.blob));
  again.engine.reset();
  again.start(*at); // Nothing is said twice.
  CHECK(again.head().seq == head.seq);
}

TEST_CASE("a restore that a full disk or a damaged copy cut leaves a directory that takes another"
) {
  backed_up x;
  member_home again;
  auto own_key = bytes_of(again.directory.keys() / "signing.secret");
  auto whole = bytes_of(x.file);
  write(x.file, whole.substr(0, whole.size() / 2));
  CHECK_FALSE(restore_member(again.how, again.directory, x.file));
  CHECK_FALSE(store::ledger_engine::is_bootstrapped(again.directory));
  CHECK(bytes_of(again.directory.keys() / "signing.secret") == own_key);
  write(x.file, whole);
  REQUIRE(restore_member(again.how, again.directory, x.file));
  // Nobody wrote its place down: as if it had been killed just before.
  auto at = restore_member(again.how, again.directory, x.file);
  REQUIRE(at);
  again.start(*at);
  CHECK(again.head().members.size() == 1);
  CHECK(again.blobs->has(x.blob));
}

TEST_CASE("a directory that holds a ledger is not restored into") {
  backed_up x;
  x.a.engine.reset();
  auto refused = restore_member(x.a.how, x.a.directory, x.file);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::refused);
  CHECK(refused.error().next == "restore into an empty directory");
}

TEST_CASE("only the member whose key a backup holds is restored from it") {
  backed_up x;
  member_home other{coordinator("b")};
  auto refused = restore_member(other.how, other.directory, x.file);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().next.find("`name: a`") != std::string::npos);
  auto ingress = coordinator();
  ingress.is_coordinator = false;
  member_home separate{ingress};
  CHECK_FALSE(restore_member(separate.how, separate.directory, x.file));
}

} // namespace assay::app
