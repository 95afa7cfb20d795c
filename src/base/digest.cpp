#include "src/base/digest.hpp"

#include "src/base/check.hpp"

#include <openssl/evp.h>

namespace assay {

namespace {

constexpr std::string_view prefix = "sha256:";
constexpr std::string_view digits = "0123456789abcdef";

int nibble(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

} // namespace

std::string to_text(const digest& d) {
  auto text = std::string{prefix};
  for (auto byte : d.bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::optional<digest> parse_digest(std::string_view text) {
  if (text.starts_with(prefix))
    text.remove_prefix(prefix.size());
  digest result;
  if (text.size() != 2 * result.bytes.size())
    return {};
  for (std::size_t i = 0; i < result.bytes.size(); ++i) {
    auto high = nibble(text[2 * i]);
    auto low = nibble(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return {};
    result.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return result;
}

namespace {

/// Looked up once: by name it costs more than the digest of a short text.
const EVP_MD* sha256_method() {
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  check(method != nullptr, "OpenSSL has SHA-256");
  return method;
}

} // namespace

struct hasher::context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~context() { EVP_MD_CTX_free(evp); }
};

hasher::hasher() : context_{std::make_unique<context>()} {
  check(EVP_DigestInit_ex(context_->evp, sha256_method(), nullptr) == 1, "EVP_DigestInit_ex");
}

hasher::hasher(std::string_view domain) : hasher{} {
  add_field(domain);
}

hasher::~hasher() = default;
hasher::hasher(hasher&&) noexcept = default;
hasher& hasher::operator=(hasher&&) noexcept = default;

hasher& hasher::add(std::span<const std::byte> bytes) {
  check(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1, "EVP_DigestUpdate");
  return *this;
}

hasher& hasher::add(std::string_view text) {
  return add(std::as_bytes(std::span{text.data(), text.size()}));
}

hasher& hasher::add_field(std::span<const std::byte> bytes) {
  add_field(static_cast<std::uint64_t>(bytes.size()));
  return add(bytes);
}

hasher& hasher::add_field(std::string_view text) {
  return add_field(std::as_bytes(std::span{text.data(), text.size()}));
}

hasher& hasher::add_field(std::uint64_t number) {
  std::array<std::byte, 8> little{};
  for (auto& byte : little) {
    byte = static_cast<std::byte>(number & 0xff);
    number >>= 8;
  }
  return add(little);
}

hasher& hasher::add_field(const digest& d) {
  return add(std::as_bytes(std::span{d.bytes}));
}

digest hasher::finish() {
  digest result;
  unsigned size = 0;
  check(EVP_DigestFinal_ex(context_->evp, result.bytes.data(), &size) == 1, "EVP_DigestFinal_ex");
  check(size == result.bytes.size(), "a SHA-256 has 32 bytes");
  return result;
}

digest sha256(std::string_view bytes) {
  return hasher{}.add(bytes).finish();
}

digest sha256(std::span<const std::byte> bytes) {
  return hasher{}.add(bytes).finish();
}

} // namespace assay
