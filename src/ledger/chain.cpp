#include "src/ledger/chain.hpp"

#include "src/base/check.hpp"

#include <sodium.h>

#include <algorithm>

namespace assay::ledger {

static_assert(sizeof(signature) == crypto_sign_BYTES);
static_assert(sizeof(public_key) == crypto_sign_PUBLICKEYBYTES);
static_assert(sizeof(signing_key::seed) == crypto_sign_SEEDBYTES);

namespace {

/// Two's complement bits: a stamp before 1970 is as good as any.
std::uint64_t number(wall_ms t) {
  return static_cast<std::uint64_t>(t.value);
}

std::string_view bytes_of(const uuid& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

void start_sodium() {
  static const bool started = sodium_init() >= 0;
  check(started, "libsodium starts");
}

} // namespace

digest record_hash(std::string_view canonical) {
  return hasher{"assay record 1"}.add_field(canonical).finish();
}

digest
chain_hash(const digest& previous, std::uint64_t seq, const digest& record, wall_ms stamped) {
  return hasher{"assay chain 1"}
    .add_field(previous)
    .add_field(seq)
    .add_field(record)
    .add_field(number(stamped))
    .finish();
}

digest genesis(const uuid& cluster) {
  return hasher{"assay genesis 1"}.add_field(bytes_of(cluster)).finish();
}

digest batch_message(
  const uuid& cluster, std::uint64_t term, wall_ms stamped, std::span<const digest> records
) {
  hasher h{"assay batch 1"};
  h.add_field(bytes_of(cluster)).add_field(term).add_field(number(stamped));
  h.add_field(static_cast<std::uint64_t>(records.size()));
  for (const auto& r : records)
    h.add_field(r);
  return h.finish();
}

digest head_message(const uuid& cluster, std::uint64_t seq, const digest& chain) {
  return hasher{"assay head 1"}
    .add_field(bytes_of(cluster))
    .add_field(seq)
    .add_field(chain)
    .finish();
}

signing_key::seed signing_key::new_seed() {
  start_sodium();
  seed s;
  randombytes_buf(s.data(), s.size());
  return s;
}

signing_key::signing_key(const seed& secret) {
  start_sodium();
  crypto_sign_seed_keypair(public_.data(), secret_.data(), secret.data());
}

signing_key::~signing_key() {
  sodium_memzero(secret_.data(), secret_.size());
}

signature signing_key::sign(const digest& message) const {
  signature s;
  crypto_sign_detached(
    s.data(), nullptr, message.bytes.data(), message.bytes.size(), secret_.data()
  );
  return s;
}

bool verify(const public_key& key, const digest& message, const signature& s) {
  start_sodium();
  return crypto_sign_verify_detached(
           s.data(), message.bytes.data(), message.bytes.size(), key.data()
         )
         == 0;
}

std::string to_text(const public_key& key) {
  digest d;
  std::ranges::copy(key, d.bytes.begin());
  return to_text(d).substr(std::string_view{"sha256:"}.size());
}

std::optional<public_key> parse_public_key(std::string_view text) {
  if (text.size() != 64)
    return {};
  auto d = parse_digest(text);
  if (!d)
    return {};
  return d->bytes;
}

} // namespace assay::ledger
