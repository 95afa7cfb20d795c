#pragma once
// The `${slot}` templates of runtime profiles. A slot is spelled with hyphens or underscores alike.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::catalog {

/// With underscores.
std::string canonical_slot(std::string_view slot);

/// The slots that the agent fills, beside the ports and secrets of a profile.
std::span<const std::string_view> system_slots();

/// The slots that a template names, in order; nothing when a `${` is not closed or empty.
std::optional<std::vector<std::string>> slots_in(std::string_view text);

/// `value(slot)` in place of each slot; the first slot without a value is the error.
result<std::string, std::string> replace_slots(
  std::string_view text, const std::function<std::optional<std::string>(const std::string&)>& value
);

} // namespace assay::catalog
