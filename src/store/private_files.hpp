#pragma once
// Small secret files: written whole or not at all, mode 0600, and not read when others may read
// them.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace assay::store {

inline constexpr std::size_t private_file_bytes = 64 << 10;

/// Writes a temporary file beside it, syncs, renames, syncs the folder.
result<void, problem> write_private_file(const std::filesystem::path& path, std::string_view bytes);

/// Refuses a file with any permission for group or others, naming the chmod that cures it.
result<std::string, problem> read_private_file(const std::filesystem::path& path);

} // namespace assay::store
