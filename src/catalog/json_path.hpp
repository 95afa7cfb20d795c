#pragma once
// The one way that profiles look into JSON: keys and positions with dots, `data.0.id`.

#include <optional>
#include <string>
#include <string_view>

namespace assay::catalog {

bool is_json_path(std::string_view path);

/// The value as text: texts bare, numbers and booleans as JSON writes them, lists and objects as
/// JSON. Nothing when the body is not JSON, the path leads nowhere, or to null.
std::optional<std::string> read_json(std::string_view body, std::string_view path);

/// Is it JSON once every `${slot}` is filled?
bool is_json_template(std::string_view text);

/// What stands between the quotes of a JSON string.
std::string json_escaped(std::string_view text);

} // namespace assay::catalog
