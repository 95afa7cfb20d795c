#pragma once
// A driver's figures in sysfs, each as a sample: the number that stands there, or why there is
// none.

#include "src/base/clock.hpp"
#include "src/telemetry/native.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace assay::agent {

/// The first line of a file without blanks at its end, or the errno of opening or reading it.
struct small_text {
  std::string text;
  int error = 0;
};
small_text read_line(const std::filesystem::path& file);

/// A whole number, however large. A file that is not there is unsupported; one that is busy, empty
/// or of a device that sleeps is unavailable; any other error is failed with its errno, and so is
/// what is no number.
telemetry::reading read_number(const std::filesystem::path& file);

/// The same for a word.
telemetry::reading read_word(const std::filesystem::path& file);

/// The number after `key` on a line of its own: `ue: 0`, or `simd_count 152`.
std::optional<std::uint64_t> number_after(const std::string& text, const std::string& key);

} // namespace assay::agent
