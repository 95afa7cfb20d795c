#pragma once
// SHA-256, the one digest of the product, written `sha256:HEX` wherever a person sees it.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay {

struct digest {
  std::array<std::uint8_t, 32> bytes{};

  friend auto operator<=>(const digest&, const digest&) = default;
};

/// `sha256:` and 64 lower-case hexadecimal digits.
std::string to_text(const digest& d);

/// Reads `sha256:HEX` or bare HEX of either case; nothing else.
std::optional<digest> parse_digest(std::string_view text);

/// Takes bytes in pieces. Several fields are never just concatenated: `add_field` writes the length
/// first, so that moving a byte from one field to the next changes the digest.
class hasher {
public:
  hasher();
  explicit hasher(std::string_view domain); ///< Starts with the domain tag as its first field.
  ~hasher();
  hasher(hasher&&) noexcept;
  hasher& operator=(hasher&&) noexcept;

  hasher& add(std::span<const std::byte> bytes);
  hasher& add(std::string_view text);
  hasher& add_field(std::span<const std::byte> bytes);
  hasher& add_field(std::string_view text);
  hasher& add_field(std::uint64_t number); ///< Eight bytes, little endian.
  hasher& add_field(const digest& d);

  digest finish();

private:
  struct context;
  std::unique_ptr<context> context_;
};

digest sha256(std::string_view bytes);
digest sha256(std::span<const std::byte> bytes);

} // namespace assay
