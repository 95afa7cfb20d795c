#pragma once
// What makes the ledger tamper-evident: record hashes, the chain over them, and one signature per
// batch. Pure functions over bytes; every hash begins with its own domain tag.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/uuid.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay::ledger {

/// SHA-256(domain, canonical bytes of the record): covers what the asker wrote and nothing else, so
/// that a retry has the same hash and a client can name a parent before it is committed.
digest record_hash(std::string_view canonical);

/// SHA-256(domain, previous chain, seq, record hash, stamped_at).
digest chain_hash(const digest& previous, std::uint64_t seq, const digest& record, wall_ms stamped);

/// The chain before the first record: binds it to the cluster.
digest genesis(const uuid& cluster);

/// What the leader signs: SHA-256(domain, cluster, term, stamped_at, record hashes in order).
digest batch_message(
  const uuid& cluster, std::uint64_t term, wall_ms stamped, std::span<const digest> records
);

/// What the last frame of an export signs: SHA-256(domain, cluster, seq, chain).
digest head_message(const uuid& cluster, std::uint64_t seq, const digest& chain);

using signature = std::array<std::uint8_t, 64>;
using public_key = std::array<std::uint8_t, 32>;

/// An Ed25519 key (libsodium). The seed is the secret: 32 bytes, kept in a 0600 file by its owner.
class signing_key {
public:
  using seed = std::array<std::uint8_t, 32>;

  /// From the system's random source. For edges only.
  static seed new_seed();

  explicit signing_key(const seed& secret);
  ~signing_key();
  signing_key(const signing_key&) = delete;
  signing_key& operator=(const signing_key&) = delete;

  const public_key& public_part() const { return public_; }
  signature sign(const digest& message) const;

private:
  std::array<std::uint8_t, 64> secret_{};
  public_key public_{};
};

bool verify(const public_key& key, const digest& message, const signature& s);

/// 64 lower-case hexadecimal digits.
std::string to_text(const public_key& key);
std::optional<public_key> parse_public_key(std::string_view text);

} // namespace assay::ledger
