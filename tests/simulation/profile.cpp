#include "tests/simulation/profile.hpp"

namespace assay::simulation {

profile profile_of(std::uint64_t seed) {
  profile out;
  out.clock_seed = seed;
  out.members = seed % 3 == 0 ? 5 : 3;
  out.changes_members = seed % 4 == 1;
  if (seed % 2 == 0) {
    out.network = network_kind::datagrams;
    out.loss = 30;
    out.duplicates = 30;
    out.late = 10;
  }
  out.chaos_ms = 5'000;
  out.is_hostile = seed % 8 == 7;
  if (seed % 5 == 0) { // The log is forgotten again and again, and each step of it disturbed.
    out.trailing = 4;
    out.interrupted = 15;
  }
  return out;
}

} // namespace assay::simulation
