#pragma once
// On what kind of file system may durable state live? LMDB needs coherent mappings and working
// locks, fsync must mean what it says: network and user-space file systems promise neither.
//
// `judge_file_system` is pure, a table over statfs's f_type; `check_file_system` asks the kernel.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace assay::store {

enum class disk_verdict : std::uint8_t {
  accepted,
  warned,  ///< Works, with a trap that a person should know.
  refused, ///< Loses or corrupts state.
};

struct file_system_kind {
  std::uint32_t magic = 0; ///< f_type, its low 32 bits.
  std::string_view name;
  disk_verdict verdict = disk_verdict::accepted;
};

/// What is known of this magic number; unknown ones are accepted under the name `unknown`.
file_system_kind judge_file_system(std::uint64_t f_type);

/// The refusal for a path on this kind, or none. Pure: the text names path, kind and the way out.
std::optional<problem>
file_system_problem(const std::filesystem::path& path, const file_system_kind& kind);

/// Refuses what must not hold state, logs a warning for what might surprise. The path must exist.
result<file_system_kind, problem> check_file_system(const std::filesystem::path& path);

} // namespace assay::store
