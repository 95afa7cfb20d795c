#pragma once
// Members of a consensus group in one thread: their disks, a network in order, and a clock that
// moves when told. A crash drops what was not stored.

#include "src/consensus/configuration.hpp"
#include "src/consensus/core.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <deque>
#include <map>

namespace assay::consensus::test {

struct disk {
  hard_state hard;
  std::optional<snapshot_mark> snapshot;
  std::uint64_t first = 1;
  std::deque<entry> log;

  std::uint64_t last() const { return first + log.size() - 1; }
};

inline configuration voters(std::uint64_t count) {
  configuration out;
  for (std::uint64_t id = 1; id <= count; ++id)
    out.push_back({id, std::to_string(id), member_role::voter});
  return out;
}

inline disk bootstrapped(const configuration& members) {
  return {{1, 0}, {}, 1, {{1, entry_kind::change, encode(members)}}};
}

class server {
public:
  server(std::uint64_t id, disk& on, std::uint64_t run, guard_switches guards = {}) : disk_{on} {
    settings how;
    how.id = id;
    how.address = std::to_string(id);
    how.seed = static_cast<std::uint32_t>(id * 7919 + run);
    how.run = run;
    how.guards = guards;
    auto made = core::make(how);
    REQUIRE(made);
    core_ = *std::move(made);
  }

  void start(std::uint64_t now) {
    step(
      started{disk_.hard, disk_.snapshot, disk_.first, {disk_.log.begin(), disk_.log.end()}}, now
    );
  }

  std::optional<refusal> step(event what, std::uint64_t now) {
    auto done = core_->step(std::move(what), now);
    if (!done)
      return done.error();
    take(*done, now);
    return {};
  }

  consensus::core& core() { return *core_; }

  std::vector<std::string> committed;
  std::vector<message> outbox;
  std::uint64_t persisted_reports = 0;

private:
  void take(updates& what, std::uint64_t now) {
    if (what.hard)
      disk_.hard = *what.hard;
    for (auto& a : what.appends) {
      while (disk_.last() >= a.index)
        disk_.log.pop_back();
      for (auto& e : a.entries)
        disk_.log.push_back(e);
    }
    for (auto& m : what.messages) {
      if (auto* probe = std::get_if<append_entries>(&m.body))
        for (std::uint32_t i = 0; i < probe->count; ++i)
          probe->entries.push_back(disk_.log.at(probe->previous_index + 1 + i - disk_.first));
      outbox.push_back(std::move(m));
    }
    if (what.commit)
      note_commits(std::min(*what.commit, disk_.last()));
    if (!what.appends.empty()) {
      ++persisted_reports;
      REQUIRE_FALSE(step(persisted{disk_.last()}, now));
    }
    note_commits(std::min(core_->commit_index(), disk_.last()));
  }

  void note_commits(std::uint64_t up_to) {
    for (; noted_ < up_to; ++noted_)
      if (noted_ + 1 >= disk_.first && disk_.log[noted_ + 1 - disk_.first].kind == entry_kind::command)
        committed.push_back(disk_.log[noted_ + 1 - disk_.first].bytes);
  }

  disk& disk_;
  std::unique_ptr<consensus::core> core_;
  std::uint64_t noted_ = 0;
};

} // namespace assay::consensus::test
