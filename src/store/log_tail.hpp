#pragma once
// The end of the log that the journal holds and the environment does not: what frames say together.
//
// Values only. A frame is one write: whether there is a term and a vote, and these; then appends,
// each with its index, its count, and so many entries with their lengths.

#include "src/consensus/participant.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::store {

std::string to_frame(
  const std::optional<consensus::hard_state>& hard, const std::vector<consensus::append>& appends
);

/// What these entries take in the environment, roughly.
std::uint64_t bytes_of(const std::vector<consensus::append>& appends);

class log_tail {
public:
  bool is_empty() const { return !hard_ && !entries_; }
  const std::optional<consensus::hard_state>& hard() const { return hard_; }
  /// The log from their index on, to its end.
  const std::optional<consensus::append>& entries() const { return entries_; }
  std::uint64_t bytes() const { return bytes_; }

  /// None when the tail does not hold it.
  const consensus::entry* at(std::uint64_t index) const;
  /// Whether the log ends before that index, as far as the tail knows.
  bool is_behind(std::uint64_t index) const;

  void add(
    const std::optional<consensus::hard_state>& hard, const std::vector<consensus::append>& appends
  );

  /// False when the frame is not whole or leaves a gap; the tail is of no use then.
  bool take_up(std::string_view frame);

  /// The tail follows these entries, which begin at `first`, or takes their place; only changes
  /// keep their bytes. False when that would leave a gap.
  bool lay_over(std::uint64_t first, std::vector<consensus::entry>& entries) const;

private:
  bool follows(std::uint64_t index) const;
  void add(const consensus::append& what);

  std::optional<consensus::hard_state> hard_;
  std::optional<consensus::append> entries_;
  std::uint64_t bytes_ = 0;
};

} // namespace assay::store
