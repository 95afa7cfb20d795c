// A group of one against a disk that forgets: everything from one seed, in one thread.
//
// The driver stores what the core says, at a moment of its own; a crash comes at any point and
// drops what was not synced. Checked after every step: what was acknowledged is there after each
// restart, in order and once. A run is a number: the same seed gives the same trace.

#include "src/base/digest.hpp"
#include "src/consensus/configuration.hpp"
#include "src/consensus/core.hpp"

#include <catch2/catch_test_macros.hpp>

#include <deque>
#include <random>

namespace assay::consensus {

namespace {

struct disk {
  hard_state hard{1, 0};
  std::optional<snapshot_mark> snapshot;
  std::uint64_t first = 1;
  std::deque<entry> log;
  /// The state machine's own environment: synced apart from the log, never ahead of it.
  std::vector<std::string> state;
  std::uint64_t applied = 0;
};

const configuration alone{{1, "1", member_role::voter}};

class simulation {
public:
  explicit simulation(std::uint32_t seed) : chance_{seed} {
    synced_.log.push_back({1, entry_kind::change, encode(alone)});
    memory_ = synced_;
    start();
  }

  digest run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      trace_.add_field(core_->commit_index()).add_field(core_->last_index());
    }
    sync_log();
    check_acknowledged();
    return trace_.finish();
  }

  std::uint64_t acknowledged() const { return acknowledged_.size(); }
  int crashes() const { return crashes_; }

private:
  std::uint32_t dice(std::uint32_t sides) { return static_cast<std::uint32_t>(chance_() % sides); }

  void step() {
    now_ += dice(20);
    switch (dice(12)) {
    case 0:
      return crash();
    case 1:
    case 2:
      return sync_log();
    case 3:
      return sync_state();
    case 4:
      return compact();
    case 5:
      if (now_ >= core_->timeout_ms())
        take(core_->step(timed_out{}, now_));
      return;
    default:
      return propose();
    }
  }

  void propose() {
    submitted batch;
    for (auto n = 1 + dice(4); n > 0; --n)
      batch.entries.push_back({0, entry_kind::command, std::to_string(next_++)});
    take(core_->step(batch, now_));
  }

  void take(result<updates, refusal> done) {
    REQUIRE(done);
    if (done->hard)
      memory_.hard = *done->hard;
    for (auto& a : done->appends) {
      while (memory_.first + memory_.log.size() > a.index)
        memory_.log.pop_back();
      for (auto& e : a.entries)
        memory_.log.push_back(std::move(e));
      unreported_ = a.index + a.entries.size() - 1;
    }
    apply();
  }

  /// Everything since the last one becomes durable, and is reported once.
  void sync_log() {
    while (unreported_ != 0) {
      auto up_to = std::exchange(unreported_, 0);
      auto state = std::move(synced_.state);
      auto applied = synced_.applied;
      synced_ = memory_;
      synced_.state = std::move(state);
      synced_.applied = applied;
      take(core_->step(persisted{up_to}, now_));
    }
  }

  /// Applies what is committed; a command that is applied is acknowledged.
  void apply() {
    while (memory_.applied < core_->commit_index()) {
      const auto& e = memory_.log.at(++memory_.applied - memory_.first);
      if (e.kind != entry_kind::command)
        continue;
      memory_.state.push_back(e.bytes);
      if (memory_.state.size() > acknowledged_.size())
        acknowledged_.push_back(e.bytes);
      REQUIRE(acknowledged_[memory_.state.size() - 1] == e.bytes);
    }
  }

  void sync_state() {
    synced_.state = memory_.state;
    synced_.applied = memory_.applied;
  }

  /// Only behind the state that is synced.
  void compact() {
    const auto at = synced_.applied;
    if (at < synced_.first + 8 || (synced_.snapshot && at <= synced_.snapshot->index))
      return;
    snapshot_mark mark{at, synced_.log.at(at - synced_.first).term, 1, alone};
    constexpr std::uint32_t trailing = 4;
    for (auto* of : {&synced_, &memory_}) {
      of->snapshot = mark;
      while (of->first + trailing <= at) {
        of->log.pop_front();
        ++of->first;
      }
    }
    take(core_->step(snapshot_taken{mark, trailing}, now_));
  }

  void crash() {
    ++crashes_;
    memory_ = synced_;
    unreported_ = 0;
    start();
  }

  void start() {
    settings how;
    how.run = static_cast<std::uint64_t>(crashes_ + 1);
    core_ = core::make(how).value();
    take(core_->step(
      started{
        memory_.hard, memory_.snapshot, memory_.first, {memory_.log.begin(), memory_.log.end()}},
      now_
    ));
    REQUIRE(core_->is_leader());
  }

  void check_acknowledged() {
    REQUIRE(memory_.state.size() >= acknowledged_.size());
    for (std::size_t i = 0; i < acknowledged_.size(); ++i)
      REQUIRE(memory_.state[i] == acknowledged_[i]);
  }

  std::mt19937 chance_;
  std::unique_ptr<core> core_;
  disk memory_, synced_;
  std::uint64_t now_ = 0;
  std::uint64_t unreported_ = 0; ///< Highest stored entry that was not synced; 0: none.
  std::uint64_t next_ = 0;
  std::vector<std::string> acknowledged_;
  int crashes_ = 0;
  hasher trace_{"simulation"};
};

} // namespace

TEST_CASE("a group of one loses nothing it acknowledged, wherever it crashes") {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    simulation world{seed};
    world.run(400);
    CHECK(world.crashes() > 0);
    CHECK(world.acknowledged() > 0);
  }
}

TEST_CASE("a run is a number: the same seed gives the same trace, another seed another") {
  CHECK(simulation{7}.run(1'000) == simulation{7}.run(1'000));
  CHECK(simulation{7}.run(1'000) != simulation{8}.run(1'000));
}

} // namespace assay::consensus
