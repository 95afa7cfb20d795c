#include "src/blobs/quorum.hpp"

#include <algorithm>
#include <string>

namespace assay::blobs {

namespace {

std::size_t count_of(const nodes& holders, const nodes& voters) {
  auto holds = [&](node one) { return holders.contains(one); };
  return static_cast<std::size_t>(std::ranges::count_if(voters, holds));
}

std::size_t needed_of(const nodes& voters) {
  return voters.size() / 2 + 1;
}

} // namespace

bool is_on_majority(const nodes& holders, const nodes& voters) {
  return !voters.empty() && count_of(holders, voters) >= needed_of(voters);
}

problem not_on_majority(const nodes& holders, const nodes& voters) {
  std::string missing;
  for (auto one : voters)
    if (!holders.contains(one))
      missing += (missing.empty() ? "" : ", ") + std::to_string(one);
  return {
    problem_kind::unavailable,
    "the blob is on the disks of " + std::to_string(count_of(holders, voters)) + " of "
      + std::to_string(voters.size()) + " coordinators and " + std::to_string(needed_of(voters))
      + " are needed; not heard from: member " + missing,
    "blobs",
    "assay cluster status shows who is away, their logs whether a disk is full; ask again then"};
}

} // namespace assay::blobs
