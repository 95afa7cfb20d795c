#include "src/wire/fabric_messages.hpp"

#include <array>

namespace assay::fabric {

std::string_view name(device_state s) {
  constexpr std::array<std::string_view, 4> names{"offered", "withheld", "sick", "lost"};
  return names[static_cast<std::size_t>(s)];
}

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
