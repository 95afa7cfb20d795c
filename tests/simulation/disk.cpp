#include "tests/simulation/disk.hpp"

#include "src/base/check.hpp"

namespace assay::simulation {

void log_environment::write(const consensus::log_write& what) {
  if (what.hard)
    hard = *what.hard;
  for (const auto& a : what.appends) {
    check(a.index >= first && a.index <= last() + 1, "the log has no gap");
    while (last() >= a.index)
      entries.pop_back();
    entries.insert(entries.end(), a.entries.begin(), a.entries.end());
  }
  if (what.forget) {
    snapshot = what.forget->mark;
    while (first < what.forget->first_kept) {
      entries.pop_front();
      ++first;
    }
  }
  if (what.replaced_by) {
    snapshot = what.replaced_by;
    entries.clear();
    first = snapshot->index + 1;
  }
}

void write(state_environment& into, const state_write& what) {
  if (what.replaces_all)
    into.rows.clear();
  for (const auto& [key, value] : what.changes)
    if (value)
      into.rows[key] = *value;
    else
      into.rows.erase(key);
  into.applied = what.applied;
  into.term = what.term;
  into.root = what.root;
}

} // namespace assay::simulation
