#pragma once
// The keys of the fabric: CURVE key pairs, the files that hold them, and join tokens.
//
// A secret key lives in a file that only its owner can read; a file that others can read is refused
// with the command that mends it. A join token is the secret half of a key pair made for one
// joining: whoever holds it can open a CURVE connection and say `join`, nothing else. The secret
// itself never crosses the wire, and the coordinator keeps only its public half.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/wire/fabric_messages.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace assay::fabric {

/// 40 characters of Z85.
std::string to_text(const public_key& key);
std::optional<public_key> parse_public_key(std::string_view z85);

struct key_pair {
  public_key shared;
  std::string secret; ///< Z85. Never logged.
};

key_pair new_key_pair();

/// The pair that belongs to a secret; nothing when the text is not Z85 of 32 bytes.
std::optional<key_pair> pair_of_secret(std::string_view z85);

/// `NAME.secret` (0600) and `NAME.pub` (0644) in `directory`, which must exist. The secret is put
/// in place last and is all that `read_key_pair` needs, so a pair that can be read is complete.
result<void, problem>
write_key_pair(const std::filesystem::path& directory, std::string_view name, const key_pair& keys);

/// Refuses a secret file that group or others can read, or that holds anything but a key.
result<key_pair, problem>
read_key_pair(const std::filesystem::path& directory, std::string_view name);

/// Reads the pair; makes and writes it when there is none.
result<key_pair, problem>
read_or_make_key_pair(const std::filesystem::path& directory, std::string_view name);

result<public_key, problem> read_public_key(const std::filesystem::path& file);

/// What `assay host token` prints, in parts.
struct join_token {
  std::string coordinator; ///< `HOST:PORT`
  public_key coordinator_key;
  key_pair keys; ///< For one joining. The ledger records `keys.shared`, its expiry and its use.
};

join_token new_join_token(std::string coordinator, const public_key& coordinator_key);

/// One word that needs no quoting in a shell, `assay-join-...`, with a checksum for bad pastes.
std::string to_text(const join_token& token);
result<join_token, problem> parse_join_token(std::string_view text);

} // namespace assay::fabric
