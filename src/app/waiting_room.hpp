#pragma once
// An assayd that belongs to no cluster yet: it answers on its admin socket and its monitor and does
// nothing else, until a person says which cluster it founds or joins.

#include "src/app/place.hpp"
#include "src/app/settings.hpp"

#include <functional>
#include <optional>

namespace assay::app {

/// The place of this assayd, from its directory or as a person now gives it by `assay cluster init`
/// or `assay cluster join`. Nothing: `is_asked_to_end` said so first; it is called again and again
/// and may wait a moment each time.
result<std::optional<place>, problem>
find_place(const settings& how, const std::function<bool()>& is_asked_to_end);

} // namespace assay::app
