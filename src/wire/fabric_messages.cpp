#include "src/wire/fabric_messages.hpp"

namespace assay::fabric {

std::optional<std::uint64_t> epoch_of(const coordinator_message& message) {
  return std::visit(
    [](const auto& m) -> std::optional<std::uint64_t> {
      // Welcome and heartbeat announce an epoch; they are not commands of it.
      using type = std::decay_t<decltype(m)>;
      if constexpr (std::is_same_v<type, welcome> || std::is_same_v<type, coordinator_heartbeat>)
        return std::nullopt;
      else if constexpr (requires { m.epoch; })
        return m.epoch;
      else
        return std::nullopt;
    },
    message
  );
}

} // namespace assay::fabric
