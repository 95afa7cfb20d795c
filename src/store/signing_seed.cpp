#include "src/store/signing_seed.hpp"

#include "src/store/private_files.hpp"

namespace assay::store {

result<ledger::signing_key::seed, problem>
load_or_make_signing_seed(const std::filesystem::path& path) {
  auto text = read_private_file(path);
  if (!text && text.error().kind != problem_kind::not_found)
    return unexpected{text.error()};
  // Seeds and public keys are both 32 bytes, so the text form of one serves the other.
  if (!text) {
    auto seed = ledger::signing_key::new_seed();
    if (auto done = write_private_file(path, ledger::to_text(ledger::public_key{seed}) + "\n");
        !done)
      return unexpected{done.error()};
    return seed;
  }
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r'))
    text->pop_back();
  auto seed = ledger::parse_public_key(*text);
  if (!seed)
    return unexpected{problem{
      problem_kind::invalid,
      "this is not a signing key",
      path.string(),
      "expected 64 hexadecimal digits; restore the file from a backup"}};
  return ledger::signing_key::seed{*seed};
}

} // namespace assay::store
