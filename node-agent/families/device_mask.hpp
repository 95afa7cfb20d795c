#pragma once
// Which devices an agent may give out, and how a replica is told which are its own.
//
// The mask that the agent inherited is the universe: it is never widened, and one that cannot be
// understood gives nothing, with the reason. A replica gets one mask of its family and none of its
// siblings.

#include "node-agent/families/probe_protocol.hpp"
#include "src/catalog/profile.hpp"

#include <map>
#include <string>
#include <vector>

namespace assay::agent {

using environment = std::map<std::string, std::string>;

/// The ids of the devices that `inherited` leaves of `all`, which is in the library's own order.
/// Without a mask that is every one. Refused: a mask that is empty, names what is not there, or
/// counts in an order that nobody can know.
result<std::vector<std::string>, problem> visible_devices(
  catalog::family family, const environment& inherited, const std::vector<probed_device>& all
);

/// Whether the agent was given some of the family's devices only.
bool has_mask(catalog::family family, const environment& inherited);

/// What one replica's environment says of its devices.
struct device_binding_env {
  environment variables; ///< The mask, and what makes its numbers mean what we mean.
  std::string mask;      ///< For the slot `devices`.

  friend bool operator==(const device_binding_env&, const device_binding_env&) = default;
};

/// For a replica on these devices, each of which is one of `all`. Refused: an id that is not there,
/// a profile that does not say how the family's devices are named, numbers for what has none.
result<device_binding_env, problem> bind_devices(
  catalog::family family,
  const catalog::runtime_profile& profile,
  const std::vector<std::string>& ids,
  const std::vector<probed_device>& all
);

/// For a replica that was given no device on a host that has some: it must find none.
environment hide_devices(catalog::family family);

} // namespace assay::agent
