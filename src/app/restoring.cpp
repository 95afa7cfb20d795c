#include "src/app/restoring.hpp"

#include "src/app/backup_file.hpp"
#include "src/app/member_address.hpp"
#include "src/store/moments.hpp"
#include "src/store/private_files.hpp"

namespace assay::app {

namespace {

std::optional<problem> misfit(const settings& how, const backup_manifest& what) {
  if (!how.is_coordinator)
    return problem{
      problem_kind::refused,
      "a separate ingress cannot take a cluster over",
      how.name,
      "restore on a coordinator (roles in its file)"};
  if (how.name == what.member)
    return {};
  return problem{
    problem_kind::refused,
    "the backup is of member '" + what.member + "', and this assayd is '" + how.name + "'",
    how.name,
    "write `name: " + what.member
      + "` into its file and start it again: only with that name is what it signs believed"};
}

result<void, problem> take_blobs(
  const store::data_directory& directory,
  const std::filesystem::path& file,
  const store::row_taker& rows,
  backup_manifest& what
) {
  auto blobs = store::blob_store::open(directory.blobs());
  if (!blobs)
    return unexpected{blobs.error()};
  auto read = read_backup(file, {rows, blobs->get()});
  if (!read)
    return unexpected{read.error()};
  what = *std::move(read);
  return {};
}

} // namespace

result<place, problem> restore_member(
  const settings& how, const store::data_directory& directory, const std::filesystem::path& file
) {
  auto what = read_backup(file);
  if (!what)
    return unexpected{what.error()};
  if (auto wrong = misfit(how, *what))
    return unexpected{*wrong};
  store::engine_options options;
  options.server_id = what->last_member + 1;
  options.address = member_addresses(how).peers;
  auto source = [&](const store::row_taker& rows) -> result<store::moment, problem> {
    if (auto done = take_blobs(directory, file, rows, *what); !done)
      return unexpected{done.error()};
    return what->at;
  };
  if (auto done = store::restore(directory, options, source); !done)
    return unexpected{done.error()};
  // Behind the state: a directory that may still become another member keeps a key of its own.
  auto text = ledger::to_text(ledger::public_key{what->signing}) + "\n";
  if (auto done = store::write_private_file(directory.keys() / "signing.secret", text); !done)
    return unexpected{done.error()};
  return place{what->cluster, what->cluster_name, options.server_id, how.name, {}};
}

} // namespace assay::app
