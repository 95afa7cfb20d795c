#pragma once
// Frames of an exported ledger <-> bytes: four bytes of length, little endian, then the frame in
// canonical Cap'n Proto. What the frames mean: src/ledger/audit.hpp.

#include "src/ledger/audit.hpp"
#include "src/wire/record_codec.hpp"

namespace assay::wire {

/// Length and frame, ready to be appended to the file.
std::string encode_frame(const ledger::export_frame& f);

inline constexpr std::size_t frame_length_bytes = 4;
/// What the length in front of a frame says; `bytes` holds it whole.
std::size_t frame_length(std::string_view bytes);

/// Takes one frame off the front of `bytes`. Nothing: `bytes` is empty. A frame that is cut short
/// or too large is malformed.
result<std::optional<ledger::export_frame>, malformed> take_frame(std::string_view& bytes);

/// Audits a whole export: nothing when it holds.
std::optional<ledger::finding> audit(std::string_view bytes);

/// The same, with the tables that the export adds up to.
struct audit_report {
  std::optional<ledger::finding> finding;
  std::uint64_t seq = 0;
  std::uint64_t batches = 0;
  digest chain;
};
audit_report audit_report_of(std::string_view bytes);

} // namespace assay::wire
