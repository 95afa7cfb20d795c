#include "src/ledger/schema.hpp"

#include <algorithm>

namespace assay::ledger {

std::uint16_t agreed_schema(const head_row& head) {
  return std::max<std::uint16_t>(1, head.schema_version);
}

std::optional<refusal> not_agreed(std::uint16_t agreed, std::uint16_t version) {
  if (version >= 1 && version <= agreed)
    return {};
  return refusal{
    "newer_schema",
    "the record needs schema version " + std::to_string(version) + "; this cluster takes 1 to "
      + std::to_string(agreed)
      + ", and nothing was changed. A newer one is agreed on by itself once every coordinator runs "
        "a "
        "program that knows it"};
}

std::optional<cluster_version>
due_version(const tables& t, const std::map<std::uint64_t, std::uint32_t>& known) {
  std::uint32_t all = UINT16_MAX;
  for (const auto& m : t.head.members) {
    auto said = known.find(m.id);
    all = std::min(all, said == known.end() ? 0 : said->second);
  }
  if (t.head.members.empty() || all <= agreed_schema(t.head))
    return {};
  return cluster_version{static_cast<std::uint16_t>(all)};
}

std::string too_old(const head_row& head, std::uint16_t knows) {
  if (head.schema_version <= knows)
    return {};
  return "the ledger, at seq " + std::to_string(head.seq) + ", is written under schema version "
         + std::to_string(head.schema_version) + "; this program knows 1 to "
         + std::to_string(knows) + ": install the version of Assay that wrote it, or a newer one";
}

std::string too_old_to_join(const head_row& head, std::uint32_t knows) {
  if (agreed_schema(head) <= knows)
    return {};
  return "the cluster agreed on schema version " + std::to_string(agreed_schema(head))
         + ", and the assayd that would join knows no newer one than " + std::to_string(knows)
         + ": install the version of Assay that the members run; this did not use the token up";
}

} // namespace assay::ledger
