#pragma once
// What the parts of a runtime profile must be to each other: every slot that a template uses
// exists, secrets stay out of argv, the engine can be bound and reached.

#include "src/catalog/profile.hpp"
#include "src/catalog/reader.hpp"

namespace assay::catalog {

/// `r` reads the document's root; what is wrong is told there.
void check_profile(const runtime_profile& p, mapping_reader& r);

} // namespace assay::catalog
