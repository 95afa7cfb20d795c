#include "src/app/own_keys.hpp"

#include "src/store/posix_file.hpp"
#include "src/store/private_files.hpp"
#include "src/store/signing_seed.hpp"

#include <array>

namespace assay::app {

namespace {

constexpr auto signing_file = "signing.secret";
constexpr auto next_signing_file = "next-signing.secret";
constexpr auto curve_name = "coordinator";
constexpr auto next_curve_name = "next-coordinator";
/// In the order in which they go: without the first one no next pair counts.
constexpr std::array next_files{
  "next-coordinator.secret", "next-coordinator.pub", next_signing_file};

std::string text_of(const ledger::signing_key::seed& seed) {
  return ledger::to_text(ledger::public_key{seed});
}

std::string public_text(const ledger::signing_key::seed& seed) {
  return ledger::to_text(ledger::signing_key{seed}.public_part());
}

} // namespace

own_keys::own_keys(std::filesystem::path folder, keys now)
  : folder_{std::move(folder)}, signing_{std::make_shared<store::signing_keys>(now.signing)},
    now_{std::move(now)} {}

result<std::unique_ptr<own_keys>, problem>
own_keys::open(const store::data_directory& directory, const own_secrets& now) {
  std::unique_ptr<own_keys> out{new own_keys{directory.keys(), {now.signing, now.curve}}};
  if (auto done = out->load_next(); !done)
    return unexpected{done.error()};
  return out;
}

/// The CURVE secret is written last and removed first: with it there are both.
result<void, problem> own_keys::load_next() {
  if (!std::filesystem::exists(folder_ / next_files.front()))
    return {};
  auto curve = fabric::read_key_pair(folder_, next_curve_name);
  if (!curve)
    return unexpected{curve.error()};
  if (!std::filesystem::exists(folder_ / next_signing_file))
    return unexpected{problem{
      problem_kind::unavailable,
      "the key is missing, and the ledger may name it for this member",
      (folder_ / next_signing_file).string(),
      "put it back from a backup of the directory"}};
  auto signing = store::load_or_make_signing_seed(folder_ / next_signing_file);
  if (!signing)
    return unexpected{signing.error()};
  next_ = keys{*signing, *std::move(curve)};
  signing_->add(next_->signing);
  // It took their place and was cut before it was forgotten.
  return halves_of(*next_) == halves_of(now_) ? forget_next() : result<void, problem>{};
}

public_halves own_keys::halves_of(const keys& of) {
  return {public_text(of.signing), fabric::to_text(of.curve.shared)};
}

public_halves own_keys::in_use() const {
  std::lock_guard hold{mutex_};
  return halves_of(now_);
}

std::optional<public_halves> own_keys::waiting() const {
  std::lock_guard hold{mutex_};
  return next_ ? std::optional{halves_of(*next_)} : std::nullopt;
}

result<public_halves, problem> own_keys::prepare() {
  std::lock_guard hold{mutex_};
  if (next_)
    return halves_of(*next_);
  // One that is there without its pair was never on record as the next, or is in use already.
  auto signing = ledger::signing_key::new_seed();
  auto text = text_of(signing) + "\n";
  if (auto done = store::write_private_file(folder_ / next_signing_file, text); !done)
    return unexpected{done.error()};
  auto curve = fabric::new_key_pair();
  if (auto done = fabric::write_key_pair(folder_, next_curve_name, curve); !done)
    return unexpected{done.error()};
  if (auto done = store::sync_folder(folder_); !done)
    return unexpected{done.error()};
  next_ = keys{signing, std::move(curve)};
  signing_->add(next_->signing);
  return halves_of(*next_);
}

result<void, problem> own_keys::adopt() {
  std::lock_guard hold{mutex_};
  if (!next_)
    return {};
  auto signing = store::write_private_file(folder_ / signing_file, text_of(next_->signing) + "\n");
  if (!signing)
    return signing;
  if (auto done = fabric::write_key_pair(folder_, curve_name, next_->curve); !done)
    return done;
  if (auto done = store::sync_folder(folder_); !done)
    return done;
  now_ = *next_;
  (void)forget_next(); // What stays behind is known by its halves at the next start.
  return {};
}

result<void, problem> own_keys::forget_next() {
  next_.reset();
  for (const auto* name : next_files) {
    std::error_code failed;
    std::filesystem::remove(folder_ / name, failed);
    if (failed)
      return unexpected{
        store::file_problem(failed.value(), "remove a key that took its place", folder_ / name)};
  }
  return store::sync_folder(folder_);
}

fabric::key_pair own_keys::curve() const {
  std::lock_guard hold{mutex_};
  return now_.curve;
}

std::optional<fabric::key_pair> own_keys::next_curve() const {
  std::lock_guard hold{mutex_};
  return next_ ? std::optional{next_->curve} : std::nullopt;
}

std::optional<ledger::signing_key::seed> own_keys::seed_of(const std::string& public_half) const {
  std::lock_guard hold{mutex_};
  if (public_text(now_.signing) == public_half)
    return now_.signing;
  if (next_ && public_text(next_->signing) == public_half)
    return next_->signing;
  return {};
}

} // namespace assay::app
