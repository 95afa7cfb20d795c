#pragma once
// The secret that signs the ledger's batches, kept in a private file of its own.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/ledger/chain.hpp"

#include <filesystem>

namespace assay::store {

/// Reads the seed at `path` (64 hexadecimal digits), or makes one there.
result<ledger::signing_key::seed, problem>
load_or_make_signing_seed(const std::filesystem::path& path);

} // namespace assay::store
