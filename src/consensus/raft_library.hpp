#pragma once
// The library's header and the memory rules of its version, for this folder's sources only.
//
// raft.h has no C linkage guard; the copy on our include path is already free of its three lines
// that are not C++ (cmake/FindRaft.cmake). The rules who frees what changed after 0.22.1, hence the
// pinned version.

extern "C" {
#include <raft.h>
}

#include "src/base/check.hpp"
#include "src/consensus/configuration.hpp"
#include "src/consensus/values.hpp"

#include <cstring>

namespace assay::consensus::library_memory {

static_assert(RAFT_VERSION_NUMBER == 2201, "who frees what differs in other versions of libraft");

/// Entries in one block of the library's heap: `batch` of each is the block, `buf` lies inside it.
class block {
public:
  explicit block(const std::vector<entry>& from);

  raft_entry* entries() { return entries_.data(); }
  unsigned count() const { return static_cast<unsigned>(entries_.size()); }
  /// Frees the bytes; the array is ours anyway. Only when the library did not take them.
  void free_bytes();

private:
  std::vector<raft_entry> entries_;
};

std::vector<entry> copy(const raft_entry* batch, unsigned count);

/// Memory that the library frees.
raft_configuration to_library(const configuration& members);
configuration from_library(const raft_configuration& members);

/// Fills everything but entries and configuration, which need memory of their own.
raft_message to_library(const message& what);
message from_library(const raft_message& what);

refusal refusal_of(int code);

} // namespace assay::consensus::library_memory
