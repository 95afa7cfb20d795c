#pragma once
// What survives a crash: the two environments of a coordinator, each as of its last synced
// transaction, and what is wrong with the disk at the moment.

#include "src/consensus/participant.hpp"

#include <deque>
#include <map>
#include <string>

namespace assay::simulation {

struct log_environment {
  consensus::hard_state hard;
  std::optional<consensus::snapshot_mark> snapshot;
  std::uint64_t first = 1;
  std::deque<consensus::entry> entries;

  std::uint64_t last() const { return first + entries.size() - 1; }
  const consensus::entry* find(std::uint64_t index) const {
    return index >= first && index <= last() ? &entries[index - first] : nullptr;
  }
  void write(const consensus::log_write& what);
};

using rows = std::map<std::string, std::string>;
using row_changes = std::map<std::string, std::optional<std::string>>;

struct state_environment {
  simulation::rows rows;
  std::uint64_t applied = 0;
  std::uint64_t term = 0;
  std::uint64_t root = 0;
};

/// Rows and index of one state transaction.
struct state_write {
  row_changes changes;
  std::uint64_t applied = 0;
  std::uint64_t term = 0;
  std::uint64_t root = 0;
  bool replaces_all = false;
};

void write(state_environment& into, const state_write& what);

struct disk {
  log_environment log;
  state_environment state;
  std::uint64_t full_until = 0;
  std::uint64_t slow_until = 0;
  bool fails_next = false;
  bool lies = false; ///< After an error that was not respected: syncs succeed and store nothing.
  bool is_founded = false;
};

} // namespace assay::simulation
