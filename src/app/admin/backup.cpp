// A backup of this member, written where its assayd sees the path: the signing key in it never
// crosses a socket.

#include "src/app/admin/admin.hpp"
#include "src/app/backup_file.hpp"
#include "src/base/log.hpp"
#include "src/store/signing_seed.hpp"

#include <mutex>

namespace assay::app::admin {

namespace {

std::mutex one_at_a_time; ///< Two would write one `.partial`.

json::object to_json(const backup_manifest& m, const std::string& file) {
  return {
    {"file", file},
    {"cluster", assay::to_text(m.cluster)},
    {"name", m.cluster_name},
    {"member", m.member},
    {"seq", m.seq},
    {"index", m.at.index},
    {"term", m.at.term},
    {"chain", assay::to_text(m.chain)},
    {"rows", m.rows},
    {"blobs", m.blobs}};
}

} // namespace

answer cluster_backup(const call& c) {
  if (!c.parts.group)
    return unexpected{problem{
      problem_kind::refused,
      "a standalone is no cluster",
      {},
      "stop it and copy its directory; a coordinator's cluster is backed up here"}};
  if (!c.parts.settings.is_coordinator)
    return unexpected{not_for_an_ingress(c.parts)};
  auto file = text_at(c.body, "file");
  if (!file)
    return unexpected{file.error()};
  if (!std::filesystem::path{*file}.is_absolute())
    return unexpected{problem{
      problem_kind::invalid, "'" + *file + "' is no absolute path", "file", "begin it with /"}};
  std::unique_lock hold{one_at_a_time, std::try_to_lock};
  if (!hold)
    return unexpected{problem{
      problem_kind::unavailable,
      "another backup of this member is being written",
      {},
      "ask again when it is done"}};
  auto seed = store::load_or_make_signing_seed(c.parts.data / "keys" / "signing.secret");
  if (!seed)
    return unexpected{seed.error()};
  auto made = write_backup(
    *file, {*c.parts.engine, *c.parts.blobs, c.parts.data / "blobs", c.parts.settings.name, *seed}
  );
  if (!made)
    return unexpected{made.error()};
  log::info("backup_written", {{"file", *file}, {"by", c.author.who}});
  return reply{to_json(*made, *file), {}, {}};
}

} // namespace assay::app::admin
