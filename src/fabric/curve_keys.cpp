#include "src/fabric/curve_keys.hpp"

#include "src/base/check.hpp"
#include "src/base/digest.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

namespace assay::fabric {

namespace {

constexpr std::size_t z85_chars = 40;
constexpr std::string_view z85_alphabet =
  "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
constexpr std::string_view token_prefix = "assay-join-";
constexpr std::size_t checksum_bytes = 4;
constexpr std::size_t token_fixed_bytes = 32 + 32 + checksum_bytes;
constexpr std::size_t token_chars_most = 512;

using bytes32 = std::array<std::uint8_t, 32>;

std::string z85(const bytes32& bytes) {
  char text[z85_chars + 1];
  check(zmq_z85_encode(text, bytes.data(), bytes.size()) != nullptr, "32 bytes encode as Z85");
  return {text, z85_chars};
}

std::optional<bytes32> from_z85(std::string_view text) {
  if (text.size() != z85_chars || text.find_first_not_of(z85_alphabet) != std::string_view::npos)
    return std::nullopt;
  bytes32 bytes;
  if (zmq_z85_decode(bytes.data(), std::string{text}.c_str()) == nullptr)
    return std::nullopt;
  return bytes;
}

// -- files ------------------------------------------------------------------------------------

class descriptor {
public:
  explicit descriptor(int fd) : fd_{fd} {}
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int get() const { return fd_; }

private:
  int fd_;
};

problem os_problem(std::string what, const std::filesystem::path& file, std::string next) {
  auto kind = errno == ENOENT ? problem_kind::not_found : problem_kind::unavailable;
  return {kind, what + ": " + std::strerror(errno), file.string(), std::move(next)};
}

/// Writes beside `file` and renames over it, so that no reader sees half a key.
result<void, problem>
write_file(const std::filesystem::path& file, std::string_view text, mode_t mode) {
  auto beside = file.string() + ".new";
  constexpr auto next = "check that the directory exists and can be written";
  ::unlink(beside.c_str());
  descriptor fd{::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
  if (fd.get() < 0)
    return unexpected{os_problem("cannot create a key file", beside, next)};
  auto written = ::write(fd.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()) || ::fsync(fd.get()) != 0)
    return unexpected{os_problem("cannot write a key file", beside, next)};
  if (::rename(beside.c_str(), file.c_str()) != 0)
    return unexpected{os_problem("cannot put a key file in place", file, next)};
  return {};
}

/// The first line of at most `most` bytes.
result<std::string, problem> read_line(int fd, const std::filesystem::path& file) {
  char text[256];
  auto size = ::read(fd, text, sizeof text);
  if (size < 0)
    return unexpected{os_problem("cannot read a key file", file, "")};
  std::string_view all{text, static_cast<std::size_t>(size)};
  return std::string{all.substr(0, all.find('\n'))};
}

bool only_owner_reads(int fd, mode_t& mode) {
  struct stat about {};
  if (::fstat(fd, &about) != 0)
    return false;
  mode = about.st_mode & 07777;
  return (mode & 077) == 0;
}

problem too_open(const std::filesystem::path& file, mode_t mode) {
  char octal[8];
  std::snprintf(octal, sizeof octal, "%04o", static_cast<unsigned>(mode));
  return {
    problem_kind::refused,
    "the secret key can be read by others (mode " + std::string{octal} + ", allowed is 0600)",
    file.string(),
    "if nobody copied it: chmod 600 " + file.string() + "; otherwise make a new key",
  };
}

problem not_a_key(const std::filesystem::path& file) {
  return {
    problem_kind::invalid,
    "not a CURVE key: 40 characters of Z85 are wanted",
    file.string(),
    "restore the file, or remove it and join the host again",
  };
}

std::filesystem::path secret_file(const std::filesystem::path& directory, std::string_view name) {
  return directory / (std::string{name} + ".secret");
}

// -- tokens -----------------------------------------------------------------------------------

std::string base64(std::string_view bytes) {
  constexpr auto variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  auto from = reinterpret_cast<const unsigned char*>(bytes.data());
  sodium_bin2base64(text.data(), text.size(), from, bytes.size(), variant);
  text.pop_back(); // The terminator counts in the length that sodium asks for.
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes(text.size(), '\0');
  std::size_t size = 0;
  const char* end = nullptr;
  auto failed = sodium_base642bin(
    reinterpret_cast<unsigned char*>(bytes.data()),
    bytes.size(),
    text.data(),
    text.size(),
    nullptr,
    &size,
    &end,
    sodium_base64_VARIANT_URLSAFE_NO_PADDING
  );
  if (failed != 0 || end != text.data() + text.size())
    return std::nullopt;
  bytes.resize(size);
  return bytes;
}

std::string checksum(std::string_view body) {
  auto sum = hasher{"assay join token"}.add_field(body).finish();
  return {reinterpret_cast<const char*>(sum.bytes.data()), checksum_bytes};
}

std::string_view view(const bytes32& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bytes32 bytes_at(std::string_view from, std::size_t offset) {
  bytes32 bytes;
  std::memcpy(bytes.data(), from.data() + offset, bytes.size());
  return bytes;
}

problem bad_token(std::string what) {
  return {
    problem_kind::invalid,
    std::move(what),
    "join token",
    "copy the whole word that `assay cluster token` or `assay host token` printed; it begins with "
    "assay-join-",
  };
}

} // namespace

std::string to_text(const public_key& key) {
  return z85(key.bytes);
}

std::optional<public_key> parse_public_key(std::string_view text) {
  auto bytes = from_z85(text);
  if (!bytes)
    return std::nullopt;
  return public_key{*bytes};
}

key_pair new_key_pair() {
  char shared[z85_chars + 1];
  char secret[z85_chars + 1];
  check(zmq_curve_keypair(shared, secret) == 0, "libzmq is built with CURVE");
  auto key = parse_public_key(shared);
  check(key.has_value(), "libzmq makes keys that it can read");
  return {*key, secret};
}

std::optional<key_pair> pair_of_secret(std::string_view text) {
  if (!from_z85(text))
    return std::nullopt;
  std::string secret{text};
  char shared[z85_chars + 1];
  if (zmq_curve_public(shared, secret.c_str()) != 0)
    return std::nullopt;
  auto key = parse_public_key(shared);
  if (!key)
    return std::nullopt;
  return key_pair{*key, std::move(secret)};
}

result<void, problem> write_key_pair(
  const std::filesystem::path& directory, std::string_view name, const key_pair& keys
) {
  auto shared =
    write_file(directory / (std::string{name} + ".pub"), to_text(keys.shared) + '\n', 0644);
  if (!shared)
    return shared;
  return write_file(secret_file(directory, name), keys.secret + '\n', 0600);
}

result<key_pair, problem>
read_key_pair(const std::filesystem::path& directory, std::string_view name) {
  auto file = secret_file(directory, name);
  descriptor fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (fd.get() < 0)
    return unexpected{os_problem("cannot open the secret key", file, "")};
  mode_t mode = 0;
  if (!only_owner_reads(fd.get(), mode))
    return unexpected{too_open(file, mode)};
  auto line = read_line(fd.get(), file);
  if (!line)
    return unexpected{line.error()};
  auto keys = pair_of_secret(*line);
  if (!keys)
    return unexpected{not_a_key(file)};
  return *keys;
}

result<key_pair, problem>
read_or_make_key_pair(const std::filesystem::path& directory, std::string_view name) {
  auto there = read_key_pair(directory, name);
  if (there || there.error().kind != problem_kind::not_found)
    return there;
  auto keys = new_key_pair();
  auto written = write_key_pair(directory, name, keys);
  if (!written)
    return unexpected{written.error()};
  return keys;
}

result<public_key, problem> read_public_key(const std::filesystem::path& file) {
  descriptor fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (fd.get() < 0)
    return unexpected{os_problem("cannot open the public key", file, "")};
  auto line = read_line(fd.get(), file);
  if (!line)
    return unexpected{line.error()};
  auto key = parse_public_key(*line);
  if (!key)
    return unexpected{not_a_key(file)};
  return *key;
}

join_token new_join_token(std::string coordinator, const public_key& coordinator_key) {
  return {std::move(coordinator), coordinator_key, new_key_pair()};
}

std::string to_text(const join_token& token) {
  auto secret = from_z85(token.keys.secret);
  check(secret.has_value(), "a token holds a secret that was made or parsed");
  std::string body{view(token.coordinator_key.bytes)};
  body += view(*secret);
  body += token.coordinator;
  return std::string{token_prefix} + base64(checksum(body) + body);
}

result<join_token, problem> parse_join_token(std::string_view text) {
  if (!text.starts_with(token_prefix) || text.size() > token_chars_most)
    return unexpected{bad_token("this is not a join token")};
  auto bytes = from_base64(text.substr(token_prefix.size()));
  if (!bytes || bytes->size() <= token_fixed_bytes)
    return unexpected{bad_token("the join token is cut off or has a wrong character")};
  auto body = std::string_view{*bytes}.substr(checksum_bytes);
  if (checksum(body) != bytes->substr(0, checksum_bytes))
    return unexpected{bad_token("the join token's checksum is wrong, so a part of it was changed")};
  auto keys = pair_of_secret(z85(bytes_at(body, 32)));
  if (!keys)
    return unexpected{bad_token("the join token holds no key")};
  return join_token{std::string{body.substr(64)}, {bytes_at(body, 0)}, *keys};
}

} // namespace assay::fabric
