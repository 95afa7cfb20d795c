#pragma once
// What an implementation is, as opposed to what its file wants: derived from artifact,
// qualification and route, never stored.

#include "src/ledger/tables.hpp"

#include <optional>
#include <string>
#include <vector>

namespace assay::ledger {

/// The policy of this name, or the default policy over the suite of this name; nothing when neither
/// is declared.
std::optional<catalog::policy> policy_of(const tables& t, const policy_id& id);

/// What a qualification is about besides the artifact's bytes: the profile's text and what of the
/// implementation's declaration its engine is told. Nothing when no profile is declared.
std::optional<digest> launch_digest_of(const tables& t, const catalog::implementation& i);

/// The stacks that the qualification holds for, less those that were revoked since.
std::vector<digest> usable_fingerprints(const tables& t, const qualification_row& q);

/// The qualification that holds for the implementation as it is declared now (same artifact
/// manifest, same profile text, not expired at `now`), or null. The latest one when there are more.
const qualification_row*
current_qualification(const tables& t, const implementation_id& implementation, wall_ms now);

/// Why there is none, in one sentence with the next step; empty when there is one.
std::string
why_not_qualified(const tables& t, const implementation_id& implementation, wall_ms now);

/// An unexpired waiver of the gate for the implementation, or null.
const waiver_row*
waiver_of(const tables& t, const implementation_id& implementation, std::uint8_t gate, wall_ms now);

/// Waivers that ran out by themselves, oldest first: somebody still has to look at each, and says
/// so by ending it.
std::vector<const waiver_row*> waivers_to_review(const tables& t, wall_ms now);

/// The artifact's bytes were verified and neither quarantined nor revoked.
bool is_artifact_approved(const tables& t, const artifact_id& artifact);

/// `draft`: no current qualification. `suspended`: it had one that is suspended. `retired`: its
/// declaration is gone or wants retirement. Else as it stands in the model's route; a qualified
/// implementation that carries nothing is `draft`.
catalog::implementation_status
status_of(const tables& t, const implementation_id& implementation, wall_ms now);

/// One thing that stands between an implementation and its wanted status.
struct missing {
  std::string what; ///< `pool inf2-west is not declared`
  std::string next; ///< `declare it: assay apply -f FILE with "pool: inf2-west"`
};

/// Everything that is missing, in the order in which it is to be done. Empty: it has what it wants.
std::vector<missing>
missing_for(const tables& t, const implementation_id& implementation, wall_ms now);

/// The same for any declaration: a model needs an implementation, a key its project; the rest need
/// nothing.
std::vector<missing> missing_for(const tables& t, const catalog::declaration& d, wall_ms now);

} // namespace assay::ledger
