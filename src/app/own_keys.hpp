#pragma once
// The keys by which the others know this coordinator: a CURVE pair and one that signs, and while
// they are being changed the next two.
//
// In DIR/keys (0600): `coordinator.*` and `signing.secret`, and beside them `next-*`. Which are in
// force is the ledger's to say, by the public halves that it names for this member; so whatever
// cuts a change, the next start goes on from what is on record. A key leaves the disk only when
// the ledger has named another one.

#include "src/app/founding.hpp"
#include "src/store/signing_keys.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace assay::app {

/// As the ledger names them.
struct public_halves {
  std::string signing; ///< 64 hexadecimal digits.
  std::string curve;   ///< 40 characters of Z85.

  friend bool operator==(const public_halves&, const public_halves&) = default;
};

/// Any thread.
class own_keys {
public:
  /// `now` is what `load_secrets` gave.
  static result<std::unique_ptr<own_keys>, problem>
  open(const store::data_directory& directory, const own_secrets& now);

  public_halves in_use() const;
  std::optional<public_halves> waiting() const;

  /// The next ones, durable; made unless they wait already, because a record may name those.
  result<public_halves, problem> prepare();

  /// The ledger names the next ones: they take the place of the others. Cut, it may be said again.
  result<void, problem> adopt();

  fabric::key_pair curve() const;
  std::optional<fabric::key_pair> next_curve() const;
  const std::shared_ptr<store::signing_keys>& signing() const { return signing_; }
  /// The secret whose public half the ledger names; nothing: it is none of ours.
  std::optional<ledger::signing_key::seed> seed_of(const std::string& public_half) const;

private:
  struct keys {
    ledger::signing_key::seed signing{};
    fabric::key_pair curve;
  };

  own_keys(std::filesystem::path folder, keys now);
  static public_halves halves_of(const keys& of);
  result<void, problem> load_next();
  result<void, problem> forget_next();

  const std::filesystem::path folder_;
  const std::shared_ptr<store::signing_keys> signing_;
  mutable std::mutex mutex_;
  keys now_;
  std::optional<keys> next_;
};

} // namespace assay::app
