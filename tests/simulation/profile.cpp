#include "tests/simulation/profile.hpp"

namespace assay::simulation {

profile profile_of(std::uint64_t seed) {
  profile out;
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
  out.trailing = seed % 5 == 0 ? 4 : 40;
  return out;
}

} // namespace assay::simulation
