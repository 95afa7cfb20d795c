#pragma once
// Room for the ledger: what a person is told of the address space, and of reads that some program
// forgot to end. Such a read keeps old pages from being used again, so that the files grow.
//
// It ends no other program; it names it.

#include "src/store/ledger_engine.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace assay::app {

/// Which reads of other processes have been open for how long. Pure: lists and times go in.
class reader_watch {
public:
  using time = std::chrono::steady_clock::time_point;
  static constexpr auto forgotten_after = std::chrono::seconds{10};

  explicit reader_watch(std::int64_t own) : own_{own} {}

  /// What is open at `now`; a read begins when it is seen first.
  void look(const std::vector<store::open_reader>& all, time now);

  struct held {
    std::int64_t process = 0;
    std::chrono::seconds age{0};
  };
  /// Those of at least `forgotten_after`, each process once with its oldest.
  std::vector<held> forgotten() const;

private:
  std::int64_t own_;
  time looked_at_;
  std::map<std::pair<std::int64_t, std::uint64_t>, time> since_;
};

inline constexpr std::uint32_t map_alarm_percent = 60; ///< Below `limits::map_use_percent`.

/// That the address space runs short, and what to do; empty while it does not.
std::string map_text(const store::engine_status& now);

std::string forgotten_text(const reader_watch::held& who);

class space_watch {
public:
  static constexpr auto every = std::chrono::seconds{1};

  explicit space_watch(const store::ledger_engine& engine);

  /// Every now and then, by one thread.
  void look();

  /// Any thread.
  std::vector<reader_watch::held> forgotten() const;
  /// Transactions since the oldest open read of the state began, as of the last look. Any thread.
  std::uint64_t oldest_lag() const;

private:
  const store::ledger_engine* engine_;
  std::chrono::steady_clock::time_point next_look_;
  mutable std::mutex mutex_;
  reader_watch readers_;
  bool was_forgotten_ = false;
  std::uint64_t oldest_lag_ = 0;
};

} // namespace assay::app
