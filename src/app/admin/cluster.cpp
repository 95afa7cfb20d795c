// The whole at a glance, and how a client reaches a standalone.

#include "src/app/admin/admin.hpp"
#include "src/app/admin/views.hpp"
#include "src/app/standalone.hpp"
#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/fabric/curve_keys.hpp"
#include "src/ledger/status.hpp"

namespace assay::app::admin {

namespace {

json::array problems_of(const store::engine_status& status, const world& seen) {
  json::array all;
  add_file_problems(seen.parts, status, all);
  if (status.is_disk_full)
    all.emplace_back("the ledger's disk is full: nothing is taken but what undoes, from the room "
                     "that is kept for it; free some, no restart is needed");
  if (!status.room_fault.empty())
    all.emplace_back("the cluster takes only what undoes: " + status.room_fault);
  if (!status.is_clock_trusted)
    all.emplace_back(status.clock_text);
  for (const auto* row : ledger::waivers_to_review(*seen.tables, seen.now))
    all.emplace_back(
      "waiver " + row->waiver.id + " of " + row->waiver.implementation.value
      + " ran out and nobody looked at what it let through: assay describe waiver " + row->waiver.id
      + ", then assay revoke waiver " + row->waiver.id + " --reason TEXT"
    );
  for (const auto& [pool, view] : seen.pools)
    for (const auto& one : view->implementations)
      if (one.given_up)
        all.emplace_back(
          one.id.value + " is not started any more: it " + one.waits_for
          + "; mend what ended it, then assay qualify " + one.id.value
        );
  return all;
}

} // namespace

void add_file_problems(const app::parts& p, const store::engine_status& now, json::array& to) {
  if (auto damage = p.scrub->damage(); !damage.empty())
    to.emplace_back(damage);
  for (const auto& [blob, why] : p.blob_keeper->damaged())
    to.emplace_back(damaged_blob_text(blob, why));
  if (auto why = map_text(now); !why.empty())
    to.emplace_back(why);
  for (const auto& one : p.space->forgotten())
    to.emplace_back(forgotten_text(one));
}

answer status(const call& c) {
  auto w = look(c);
  if (!w)
    return unexpected{w.error()};
  auto engine = c.parts.engine->status();
  std::uint64_t hosts = 0, ready = 0;
  for (const auto& [id, host] : w->hosts)
    hosts += host.connected;
  for (const auto& [id, view] : w->pools)
    for (const auto& replica : view->replicas)
      ready += replica.takes_traffic;
  const auto& head = w->tables->head;
  return reply{
    {{"version", ASSAY_VERSION},
     {"cluster", head.cluster ? assay::to_text(*head.cluster) : ""},
     {"seq", w->seq},
     {"chain", assay::to_text(head.chain)},
     {"leader", engine.is_leader},
     {"term", engine.term},
     {"ingress", c.parts.base_url},
     {"agents", c.parts.hub->address()},
     {"hosts_connected", hosts},
     {"replicas_ready", ready},
     {"problems", problems_of(engine, *w)},
     {"freshness", "linearizable"}},
    {},
    {}};
}

answer env(const call& c) {
  auto key = read_tryout_key(c.parts.data);
  if (!key)
    return unexpected{key.error()};
  auto read = read_now(*c.parts.engine);
  if (!read)
    return unexpected{read.error()};
  const auto* issued = ledger::find(read->tables->keys, {std::string{tryout_key_name}});
  if (!issued || issued->revoked)
    return unexpected{problem{
      problem_kind::refused,
      "key '" + std::string{tryout_key_name} + "' is revoked",
      {},
      "declare another key, apply it, and use what assay apply prints"}};
  return reply{
    {{"base_url", c.parts.base_url}, {"key_name", tryout_key_name}, {"key", *key}}, {}, {}};
}

} // namespace assay::app::admin
