#pragma once
// A backup becomes the one member of a cluster whose others are lost: `assay cluster restore`.

#include "src/app/place.hpp"
#include "src/app/settings.hpp"

namespace assay::app {

/// Checks all of the file before anything is written. What it writes is no member's before the
/// place that it returns is written too, and until then it may be called again, whatever cut it;
/// the records that make it a member follow at the first start.
result<place, problem> restore_member(
  const settings& how, const store::data_directory& directory, const std::filesystem::path& file
);

} // namespace assay::app
