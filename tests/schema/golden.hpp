#pragma once
// Golden files: what was written once, and what it says, one line of bytes and one of value for
// each thing. Lines are added by tests/schema/remake and never changed, so that the files hold
// every encoding that any version wrote.

#include <optional>
#include <string>
#include <vector>

namespace assay::test {

struct golden_line {
  std::string name; ///< `record membership`; a thing that changed stands there once per change.
  std::string bytes;
  std::string value; ///< Empty where the sample of that name says what the bytes mean.
};

/// `ledger`, `peers` or `fabric`, of schema version 1.
std::string golden_path(const std::string& format);

std::vector<golden_line> read_golden(const std::string& format);

/// The newest line of the name, or null.
const golden_line* newest(const std::vector<golden_line>& lines, const std::string& name);

/// What this version writes, and is not in the files as the newest of its name.
std::vector<golden_line> missing_from_golden(const std::string& format);

/// Everything that this version writes in the format.
std::vector<golden_line> written_today(const std::string& format);

/// What this version reads in the line: the value, and the bytes that it writes for it. The bytes
/// are empty for messages, which nobody hashes. Nothing: it cannot be read.
std::optional<golden_line> read_today(const std::string& format, const golden_line& line);

} // namespace assay::test
