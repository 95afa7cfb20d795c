// Coordinators in one thread: each an exchange and a disk that is a map, with lines that can be cut
// and a clock that is told.

#include "src/base/peer_limits.hpp"
#include "src/blobs/exchange.hpp"

#include <catch2/catch_test_macros.hpp>

#include <random>

namespace assay::blobs {

namespace {

struct coordinator {
  exchange core;
  std::map<digest, std::string> disk;
  std::map<digest, std::string> begun;
  std::map<digest, std::optional<problem>> shared; ///< How it was settled.
  std::map<digest, std::optional<problem>> fetched;
  bool is_full = false;
};

class group {
public:
  explicit group(std::uint64_t size, nodes voters = {}) {
    for (node n = 1; n <= size; ++n)
      members[n];
    for (auto& [n, one] : members) {
      standing s{n, voters, {}};
      for (auto& [other, _] : members) {
        if (voters.empty())
          s.voters.insert(other);
        if (other != n)
          s.others.push_back(other);
      }
      run(n, one.core.know(s, now));
    }
  }

  void share(node at, const std::string& bytes) {
    auto name = sha256(bytes);
    members[at].disk[name] = bytes;
    run(at, members[at].core.share(name, bytes.size(), now));
    settle();
  }
  void fetch(node at, const digest& name) {
    run(at, members[at].core.fetch(name, now));
    settle();
  }
  void miss(node at, const digest& name) {
    run(at, members[at].core.miss(name, now));
    settle();
  }
  /// Time passes in steps of a tick.
  void pass(std::chrono::milliseconds time) {
    for (auto end = now + time; now < end;) {
      now += limits::blob_tick;
      for (auto& [n, one] : members)
        run(n, one.core.tick(now));
      settle();
    }
  }
  void cut(node one) { away.insert(one); }
  void mend(node one) {
    away.erase(one);
    for (auto& [n, other] : members)
      if (n != one)
        run(n, other.core.reached(one, now));
    settle();
  }
  /// What is said now is lost; whoever says it believes otherwise.
  bool is_losing = false;
  std::size_t pages_left = ~std::size_t{}; ///< Then no page arrives any more.

  void run(node at, effects all) {
    std::deque<effect> left{all.begin(), all.end()};
    while (!left.empty()) {
      auto one = left.front();
      left.pop_front();
      auto more = std::visit([&](const auto& what) { return take(at, what); }, one);
      left.insert(left.begin(), more.begin(), more.end());
    }
  }
  void settle() {
    while (!said.empty()) {
      auto one = said.front();
      said.pop_front();
      if (std::holds_alternative<page>(one.what) && pages_left-- == 0) {
        pages_left = 0;
        continue;
      }
      auto& to = members[one.to];
      run(one.to, std::visit([&](const auto& what) { return hear(to, one.from, what); }, one.what));
    }
  }

  bool has(node at, const digest& name) { return members[at].disk.contains(name); }
  std::size_t wants = 0;
  steady_time now{std::chrono::hours{1}};
  std::map<node, coordinator> members;
  nodes away;

private:
  struct line {
    node from = 0;
    node to = 0;
    message what;
  };

  effects hear(coordinator& to, node from, const offer& what) {
    return to.core.hear(from, what, to.disk.contains(what.blob), now);
  }
  template <class Message>
  effects hear(coordinator& to, node from, const Message& what) {
    return to.core.hear(from, what, now);
  }

  effects take(node at, const say& what) {
    if (away.contains(what.to) || away.contains(at))
      return members[at].core.lost(what.to, now);
    wants += std::holds_alternative<want>(what.what);
    if (!is_losing)
      said.push_back({at, what.to, what.what});
    return {};
  }
  effects take(node at, const give_page& what) {
    page p{.blob = what.what.blob, .offset = what.what.offset, .is_missing = true};
    if (auto found = members[at].disk.find(p.blob); found != members[at].disk.end()) {
      p.is_missing = false;
      p.size = found->second.size();
      p.bytes = found->second.substr(p.offset, limits::blob_page_bytes);
    }
    return take(at, say{what.to, p});
  }
  effects take(node at, const begin_blob& what) {
    members[at].begun[what.blob].clear();
    return {};
  }
  effects take(node at, const append_blob& what) {
    auto& me = members[at];
    if (me.is_full)
      return me.core.not_stored(what.blob, {problem_kind::exhausted, "full", {}, {}}, now);
    me.begun[what.blob] += what.bytes;
    return {};
  }
  effects take(node at, const finish_blob& what) {
    auto& me = members[at];
    auto bytes = std::move(me.begun[what.blob]);
    me.begun.erase(what.blob);
    if (sha256(bytes) != what.blob)
      return me.core.other_content(what.blob, now);
    me.disk[what.blob] = std::move(bytes);
    return me.core.stored(what.blob, now);
  }
  effects take(node at, const abandon_blob& what) {
    members[at].begun.erase(what.blob);
    return {};
  }
  effects take(node at, const share_settled& what) {
    members[at].shared[what.blob] = what.why;
    return {};
  }
  effects take(node at, const fetch_ended& what) {
    members[at].fetched[what.blob] = what.why;
    return {};
  }

  std::deque<line> said;
};

std::string bytes_of(std::size_t size, unsigned seed = 1) {
  std::mt19937 chance{seed};
  std::string out(size, '\0');
  for (auto& c : out)
    c = static_cast<char>(chance());
  return out;
}

} // namespace

TEST_CASE("alone, what is on the disk is kept at once") {
  group g{1};
  g.share(1, "x");
  CHECK(g.members[1].shared.at(sha256("x")) == std::nullopt);
}

TEST_CASE("what is shared is at every member, whatever its size") {
  for (std::size_t size :
       {std::size_t{0},
        std::size_t{1},
        limits::blob_page_bytes - 1,
        limits::blob_page_bytes,
        limits::blob_page_bytes + 1,
        3 * limits::blob_page_bytes}) {
    CAPTURE(size);
    group g{3};
    auto bytes = bytes_of(size);
    g.share(1, bytes);
    CHECK(g.members[1].shared.at(sha256(bytes)) == std::nullopt);
    CHECK(g.has(2, sha256(bytes)));
    CHECK(g.has(3, sha256(bytes)));
  }
}

TEST_CASE("with one of three away a blob is kept, and with two it is not and says why") {
  group g{3};
  g.cut(3);
  g.share(1, "one away");
  CHECK(g.members[1].shared.at(sha256("one away")) == std::nullopt);
  CHECK(g.has(2, sha256("one away")));
  g.cut(2);
  g.share(1, "two away");
  g.pass(limits::blob_silence - limits::blob_tick);
  CHECK_FALSE(g.members[1].shared.contains(sha256("two away")));
  g.pass(limits::blob_tick);
  auto why = g.members[1].shared.at(sha256("two away"));
  REQUIRE(why);
  CHECK(why->kind == problem_kind::unavailable);
  CHECK(why->what.find("1 of 3") != std::string::npos);
  CHECK(g.members[1].core.is_idle());
}

TEST_CASE("nothing is settled before the other disk has it, and it is once that says so") {
  group g{3};
  g.is_losing = true;
  g.share(1, "blob");
  CHECK(g.members[1].shared.empty());
  g.is_losing = false;
  g.pass(limits::blob_said_again);
  CHECK(g.has(2, sha256("blob")));
  CHECK(g.members[1].shared.at(sha256("blob")) == std::nullopt);
}

TEST_CASE("who has it already says so and asks for nothing") {
  group g{3};
  g.members[2].disk[sha256("blob")] = "blob";
  g.cut(3);
  g.share(1, "blob");
  CHECK(g.wants == 0);
  CHECK(g.members[1].shared.at(sha256("blob")) == std::nullopt);
}

TEST_CASE("who does not vote gets an offer from nobody and counts for nothing") {
  group g{3, {1, 2}};
  g.cut(2);
  g.share(1, "blob");
  g.pass(limits::blob_silence);
  CHECK_FALSE(g.has(3, sha256("blob")));
  CHECK(g.members[1].shared.at(sha256("blob")).has_value());
}

TEST_CASE("a vote that goes away while a blob is shared makes the rest enough") {
  group g{2};
  g.cut(2);
  g.share(1, "blob");
  CHECK(g.members[1].shared.empty());
  g.run(1, g.members[1].core.know({1, {1}, {}}, g.now));
  CHECK(g.members[1].shared.at(sha256("blob")) == std::nullopt);
}

TEST_CASE("a member that comes back is offered at once what waits for it") {
  group g{3};
  g.cut(2);
  g.cut(3);
  g.share(1, "blob");
  g.mend(3);
  CHECK(g.has(3, sha256("blob")));
  CHECK(g.members[1].shared.at(sha256("blob")) == std::nullopt);
}

TEST_CASE("as long as somebody asks for the next page a large blob is waited for, and not longer") {
  group g{2};
  auto bytes = bytes_of(4 * limits::blob_page_bytes);
  g.pages_left = 1;
  g.share(1, bytes);
  g.pass(limits::blob_silence / 2);
  g.pages_left = 1; // The next want is another one; the same one again is no progress.
  g.pass(limits::blob_silence - limits::blob_said_again);
  CHECK(g.members[1].shared.empty());
  g.pass(limits::blob_silence);
  CHECK(g.members[1].shared.at(sha256(bytes)).has_value());
}

TEST_CASE("a full disk keeps a follower from saying that it has the blob, until there is room") {
  group g{2};
  g.members[2].is_full = true;
  g.share(1, "blob");
  CHECK(g.members[1].shared.empty());
  CHECK_FALSE(g.has(2, sha256("blob")));
  CHECK(g.members[2].begun.empty());
  g.members[2].is_full = false;
  g.pass(limits::blob_said_again);
  CHECK(g.members[1].shared.at(sha256("blob")) == std::nullopt);
}

TEST_CASE("what is missing is fetched from whoever has it, at once past those who do not") {
  group g{3};
  g.members[3].disk[sha256("blob")] = "blob";
  g.fetch(1, sha256("blob"));
  CHECK(g.has(1, sha256("blob")));
  CHECK(g.members[1].fetched.at(sha256("blob")) == std::nullopt);
}

TEST_CASE("what no member has is not found; with one of them away nobody can say that") {
  group g{3};
  g.fetch(1, sha256("blob"));
  CHECK(g.members[1].fetched.at(sha256("blob"))->kind == problem_kind::not_found);
  g.cut(3);
  g.fetch(1, sha256("blob"));
  CHECK(g.members[1].fetched.at(sha256("blob"))->kind == problem_kind::unavailable);
  CHECK(g.members[1].core.is_idle());
  group alone{1};
  alone.fetch(1, sha256("blob"));
  CHECK(alone.members[1].fetched.at(sha256("blob"))->kind == problem_kind::not_found);
}

TEST_CASE("a copy with other content is passed over, and nothing of it is kept") {
  group g{3};
  auto good = bytes_of(2 * limits::blob_page_bytes);
  auto bad = good;
  bad.back() ^= 1;
  g.members[2].disk[sha256(good)] = bad;
  g.members[3].disk[sha256(good)] = good;
  g.fetch(1, sha256(good));
  CHECK(g.members[1].disk.at(sha256(good)) == good);
  g.members[3].disk.clear();
  g.members[1].disk.clear();
  g.fetch(1, sha256(good));
  auto why = g.members[1].fetched.at(sha256(good));
  REQUIRE(why);
  CHECK(why->what.find("member 2 gave other content") != std::string::npos);
  CHECK(g.members[1].disk.empty());
  CHECK(g.members[1].begun.empty());
}

TEST_CASE("a source that falls silent is replaced after so long, from the beginning") {
  group g{3};
  auto bytes = bytes_of(3 * limits::blob_page_bytes);
  g.members[2].disk[sha256(bytes)] = bytes;
  g.members[3].disk[sha256(bytes)] = bytes;
  g.pages_left = 1;
  g.fetch(1, sha256(bytes));
  g.pass(limits::blob_silence - limits::blob_tick);
  g.pages_left = ~std::size_t{};
  g.members[2].disk.clear(); // Its pages are never whole.
  g.pass(limits::blob_tick);
  g.pass(limits::blob_said_again);
  CHECK(g.members[1].disk.at(sha256(bytes)) == bytes);
}

TEST_CASE("a lost page is asked for again, and what was there is not") {
  group g{2};
  auto bytes = bytes_of(3 * limits::blob_page_bytes);
  g.members[2].disk[sha256(bytes)] = bytes;
  g.pages_left = 2;
  g.fetch(1, sha256(bytes));
  CHECK(g.wants == 3);
  g.pages_left = ~std::size_t{};
  g.pass(limits::blob_said_again);
  CHECK(g.has(1, sha256(bytes)));
  CHECK(g.wants == 4);
}

TEST_CASE("a source that is lost in the middle is replaced at once") {
  group g{3};
  auto bytes = bytes_of(3 * limits::blob_page_bytes);
  g.members[2].disk[sha256(bytes)] = bytes;
  g.members[3].disk[sha256(bytes)] = bytes;
  g.pages_left = 1;
  g.fetch(1, sha256(bytes));
  g.pages_left = ~std::size_t{};
  g.cut(2);
  g.run(1, g.members[1].core.lost(2, g.now));
  g.settle();
  CHECK(g.members[1].disk.at(sha256(bytes)) == bytes);
}

TEST_CASE("so many are fetched at once, and whoever waits for one comes first") {
  group g{2};
  g.is_losing = true;
  for (std::size_t i = 0; i < limits::blob_downloads + 3; ++i)
    g.miss(1, sha256(std::to_string(i)));
  CHECK(g.wants == limits::blob_downloads);
  g.members[2].disk[sha256("urgent")] = "urgent";
  g.fetch(1, sha256("urgent"));
  CHECK(g.wants == limits::blob_downloads);
  g.is_losing = false;
  g.run(1, g.members[1].core.hear(2, page{sha256("0"), 0, 0, true, {}}, g.now));
  g.settle();
  CHECK(g.has(1, sha256("urgent")));
}

TEST_CASE("more than may wait are not taken, and a reader is told so") {
  group g{2};
  g.is_losing = true;
  for (std::size_t i = 0; i < limits::blob_downloads + limits::blobs_waiting; ++i)
    g.fetch(1, sha256(std::to_string(i)));
  CHECK(g.members[1].fetched.empty());
  g.fetch(1, sha256("one more"));
  CHECK(g.members[1].fetched.at(sha256("one more"))->kind == problem_kind::unavailable);
}

TEST_CASE("pages and words that nobody asked for change nothing") {
  group g{2};
  auto& core = g.members[1].core;
  CHECK(core.hear(2, page{sha256("x"), 0, 1, false, "x"}, g.now).empty());
  CHECK(core.hear(2, kept{sha256("x")}, g.now).empty());
  CHECK(core.stored(sha256("x"), g.now).empty());
  CHECK(core.other_content(sha256("x"), g.now).empty());
  CHECK(core.not_stored(sha256("x"), {}, g.now).empty());
  g.is_losing = true;
  g.fetch(1, sha256("x"));
  CHECK(core.hear(3, page{sha256("x"), 0, 1, false, "x"}, g.now).empty());
}

} // namespace assay::blobs
