#pragma once
// What was under way when something went wrong: a member that fetches a state or forgets its log
// must survive each step's interruption, and a run shows that each was reached.

#include <array>
#include <cstdint>
#include <string>

namespace assay::simulation {

/// In the order in which a member that is too far behind goes through them; the last two are what
/// every member does.
enum class stage : std::uint8_t { fetching, adopting, replacing, committing, forgetting };
enum class mishap : std::uint8_t { killed, disk_full, link_cut };

class interruptions {
public:
  void note(stage during, mishap by) { ++at(during, by); }
  std::uint64_t of(stage during, mishap by) const {
    return counts_[static_cast<std::size_t>(during)][static_cast<std::size_t>(by)];
  }
  interruptions& operator+=(const interruptions& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      for (std::size_t j = 0; j < counts_[i].size(); ++j)
        counts_[i][j] += other.counts_[i][j];
    return *this;
  }

private:
  std::uint64_t& at(stage during, mishap by) {
    return counts_[static_cast<std::size_t>(during)][static_cast<std::size_t>(by)];
  }
  std::array<std::array<std::uint64_t, 3>, 5> counts_{};
};

inline std::string to_text(const interruptions& all) {
  std::string out;
  auto add = [&](const char* name, stage during, mishap by) {
    out += (out.empty() ? "" : ", ") + std::string{name} + " " + std::to_string(all.of(during, by));
  };
  add("killed while fetching", stage::fetching, mishap::killed);
  add("adopting", stage::adopting, mishap::killed);
  add("replacing the log", stage::replacing, mishap::killed);
  add("committing the state", stage::committing, mishap::killed);
  add("forgetting", stage::forgetting, mishap::killed);
  add("disk full while adopting", stage::adopting, mishap::disk_full);
  add("replacing the log", stage::replacing, mishap::disk_full);
  add("committing the state", stage::committing, mishap::disk_full);
  add("forgetting", stage::forgetting, mishap::disk_full);
  add("cut off while fetching", stage::fetching, mishap::link_cut);
  return out;
}

} // namespace assay::simulation
