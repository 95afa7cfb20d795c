// Three coordinators' keepers with real links, real disks and real time. What the protocol decides
// is tested with a clock of its own (tests/unit/blobs); here it meets threads, files and sockets.

#include "src/app/blob_keeper.hpp"
#include "src/base/peer_limits.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/fabric/peer_stage.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::app {

namespace {

using peers::test::coordinator;
using peers::test::options_of;
using test::eventually;

std::string bytes_of(std::size_t size) {
  std::string out;
  while (out.size() < size)
    out += std::to_string(out.size()) + "\n";
  out.resize(size);
  return out;
}

class member {
public:
  explicit member(std::uint64_t node) : node_{node} { open(); }

  void open() {
    auto opened = store::blob_store::open(place_.path() / "blobs");
    REQUIRE(opened);
    disk = *std::move(opened);
    keeper = std::make_unique<blob_keeper>(blob_keeper_options{
      .blobs = disk.get(),
      .standing =
        [this] {
          blobs::standing all{node_, {1, 2, 3}, {}};
          for (auto one : all.voters)
            if (one != node_)
              all.others.push_back(one);
          return all;
        },
      .tell =
        [this](auto to, const auto& what) {
          auto* out = links.load();
          return out ? out->send(to, what) : peers::send_outcome::down;
        },
      .fetches_all = true,
      .reads_again = true,
    });
  }
  void close() {
    std::lock_guard hold{mutex_};
    keeper.reset();
    disk.reset();
  }

  void hear(std::uint64_t from, peers::message what) {
    std::lock_guard hold{mutex_};
    if (auto word = blob_keeper::word_in(what); word && keeper)
      keeper->hear(from, *std::move(word));
  }
  /// One byte of the blob's file is another one now.
  void spoil(const digest& blob) {
    std::fstream file{disk->path(blob), std::ios::in | std::ios::out | std::ios::binary};
    file.put('!');
    REQUIRE(file.good());
  }

  std::unique_ptr<store::blob_store> disk;
  std::unique_ptr<blob_keeper> keeper;
  std::atomic<peers::peer_links*> links = nullptr;

private:
  std::mutex mutex_; // Between the links' thread and a test that ends a keeper.
  const std::uint64_t node_;
  test::temp_folder place_;
};

/// Messages go by the links of `ends`, which end before the keepers do.
struct group {
  std::vector<std::unique_ptr<member>> members;
  std::vector<std::unique_ptr<coordinator>> ends;

  group() {
    for (std::uint64_t n = 1; n <= 3; ++n) {
      members.push_back(std::make_unique<member>(n));
      auto how = options_of(n, fabric::new_key_pair());
      ends.push_back(std::make_unique<coordinator>(std::move(how)));
    }
    for (std::size_t i = 0; i < 3; ++i) {
      ends[i]->on_heard = [this, i](std::uint64_t from, const peers::message& what) {
        members[i]->hear(from, what);
      };
      members[i]->links = ends[i]->links.get();
    }
    for (std::size_t i = 0; i < 3; ++i)
      connect(i);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        if (i != j)
          REQUIRE(ends[i]->wait_for_up(j + 1, peers::lane::bulk));
  }
  ~group() {
    for (auto& one : members)
      one->links = nullptr;
    for (auto& one : members)
      one->keeper->stop();
    ends.clear();
  }

  void connect(std::size_t i) {
    std::vector<peers::peer> others;
    for (std::size_t j = 0; j < 3; ++j)
      if (i != j)
        others.push_back(ends[j]->entry());
    ends[i]->links->set_peers(others);
  }
  /// Nothing goes to or from it any more.
  void cut(std::size_t i) { ends[i]->links->set_peers({}); }

  blob_keeper& keeper(std::size_t i) { return *members[i]->keeper; }
  store::blob_store& disk(std::size_t i) { return *members[i]->disk; }
};

} // namespace

TEST_CASE("what is kept is on the disks of two of three, whatever its size, and soon on all") {
  group g;
  for (auto size : {std::size_t{0}, limits::blob_page_bytes, 5 * limits::blob_page_bytes + 1}) {
    auto bytes = bytes_of(size);
    auto name = g.keeper(0).keep(bytes);
    REQUIRE(name);
    CHECK(*name == sha256(bytes));
    CHECK((g.disk(1).get(*name) || g.disk(2).get(*name)));
    CHECK(eventually([&] { return g.disk(1).has(*name) && g.disk(2).has(*name); }));
    CHECK(g.disk(1).get(*name).value() == bytes);
  }
}

TEST_CASE("what is not here is read from another coordinator, and is here then") {
  group g;
  auto bytes = bytes_of(2 * limits::blob_page_bytes);
  auto name = g.disk(2).put(bytes).value();
  CHECK(g.keeper(0).get(name, bytes.size()).value() == bytes);
  CHECK(g.disk(0).get(name).value() == bytes);
  auto too_long = g.keeper(0).get(name, bytes.size() - 1);
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().what.find("more than") != std::string::npos);
}

TEST_CASE("a copy that rots is replaced when it is read, and a rotten one is not taken") {
  group g;
  auto bytes = bytes_of(2 * limits::blob_page_bytes);
  std::optional<digest> name;
  for (std::size_t i = 0; i < 3; ++i)
    name = g.disk(i).put(bytes).value();
  g.members[0]->spoil(*name);
  g.members[1]->spoil(*name);
  CHECK(g.keeper(0).get(*name, bytes.size()).value() == bytes);
  CHECK(g.disk(0).get(*name).value() == bytes);
  g.members[0]->spoil(*name);
  g.members[2]->spoil(*name);
  auto lost = g.keeper(0).get(*name, bytes.size());
  REQUIRE_FALSE(lost);
  CHECK(lost.error().what.find("its copy is damaged") != std::string::npos);
  CHECK(g.disk(0).has(*name)); // Damaged as it is: somebody may want to look at it.
}

TEST_CASE("what the ledger names and nobody offers is fetched, also by one that was away") {
  group g;
  auto tables = std::make_shared<ledger::tables>();
  ledger::job_row row;
  row.job.id = {"j"};
  row.job.input = g.disk(0).put("input").value();
  tables->load(row);
  g.keeper(1).learn(tables);
  g.keeper(2).learn(tables);
  g.members[1]->close(); // In the middle of whatever it does.
  g.members[1]->open();
  g.keeper(1).learn(tables);
  CHECK(eventually([&] { return g.disk(1).has(row.job.input) && g.disk(2).has(row.job.input); }));
  CHECK(eventually([&] { return g.keeper(1).missing() == 0; }));
}

TEST_CASE(
  "a copy that rots is found unread, and replaced once somebody is there who has a sound one"
) {
  group g;
  auto tables = std::make_shared<ledger::tables>();
  ledger::job_row row;
  row.job.id = {"j"};
  for (std::size_t i = 0; i < 3; ++i)
    row.job.input = g.disk(i).put("input").value();
  tables->load(row);
  g.cut(0);
  g.members[0]->spoil(row.job.input);
  g.keeper(0).learn(tables);
  CHECK(eventually([&] { return g.keeper(0).damaged().contains(row.job.input); }));
  CHECK(g.disk(0).has(row.job.input)); // Damaged as it is, as long as there is nothing better.
  g.connect(0);
  CHECK(eventually([&] { return g.keeper(0).damaged().empty(); }));
  CHECK(g.disk(0).get(row.job.input).value() == "input");
}

TEST_CASE("without a majority nothing is kept, and who waits when it ends is told so") {
  group g;
  g.cut(1);
  g.cut(2);
  result<digest, problem> kept{digest{}};
  std::thread waiting{[&] { kept = g.keeper(0).keep("blob"); }};
  CHECK(eventually([&] { return g.disk(0).has(sha256("blob")); }));
  g.keeper(0).stop();
  waiting.join();
  REQUIRE_FALSE(kept);
  CHECK(kept.error().what.find("being stopped") != std::string::npos);
  CHECK(kept.error().kind == problem_kind::unavailable);
}

TEST_CASE("alone everything that is kept is kept at once, and nobody can be asked") {
  test::temp_folder place;
  auto disk = *store::blob_store::open(place.path() / "blobs");
  blob_keeper keeper{{.blobs = disk.get(), .standing = [] { return blobs::standing{1, {1}, {}}; }}};
  auto name = keeper.keep("blob");
  REQUIRE(name);
  CHECK(keeper.get(*name, 4).value() == "blob");
  CHECK(keeper.get(sha256("other"), 4).error().kind == problem_kind::not_found);
}

} // namespace assay::app
