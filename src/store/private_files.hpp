#pragma once
// Small secret files: written whole or not at all, mode 0600, and not read when others may read
// them.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay::store {

/// Writes a temporary file beside it, syncs, renames, syncs the folder.
result<void, problem> write_private_file(const std::filesystem::path& path, std::string_view bytes);

/// Refuses a file with any permission for group or others, naming the chmod that cures it. At most
/// 64 KiB.
result<std::string, problem> read_private_file(const std::filesystem::path& path);

/// Ed25519. The secret never leaves the process but to its file.
struct signing_key {
  std::array<std::uint8_t, 32> public_key{};
  std::array<std::uint8_t, 64> secret_key{};

  std::array<std::uint8_t, 64> sign(std::string_view message) const;
};

bool is_signed_by(
  const std::array<std::uint8_t, 32>& public_key,
  std::string_view message,
  const std::array<std::uint8_t, 64>& signature
);

/// Reads the key at `path`, or makes one there (0600). The file holds the 32-byte seed in
/// hexadecimal.
result<signing_key, problem> load_or_make_signing_key(const std::filesystem::path& path);

} // namespace assay::store
