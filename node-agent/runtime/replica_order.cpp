#include "node-agent/runtime/replica_order.hpp"

#include "node-agent/host/process.hpp"
#include "src/base/limits.hpp"
#include "src/wire/fabric_codec.hpp"

#include <span>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;

constexpr auto order_file = "order.capnp";

template <class Field>
auto field_of(const replica_order& order, Field field) {
  return std::visit([&](const auto& o) { return field(o); }, order);
}

} // namespace

replica_id id_of(const replica_order& order) {
  return field_of(order, [](const auto& o) { return o.replica; });
}

std::uint64_t generation_of(const replica_order& order) {
  return field_of(order, [](const auto& o) { return o.generation; });
}

implementation_id implementation_of(const replica_order& order) {
  return field_of(order, [](const auto& o) { return o.implementation; });
}

std::uint32_t slots_of(const replica_order& order) {
  return field_of(order, [](const auto& o) { return o.slots; });
}

std::string profile_text_of(const replica_order& order) {
  return field_of(order, [](const auto& o) { return o.profile_text; });
}

bool is_adopted(const replica_order& order) {
  return std::holds_alternative<fabric::adopt_replica>(order);
}

result<void, problem> write_order(const fs::path& directory, const replica_order& order) {
  auto bytes =
    std::visit([](const auto& o) { return wire::encode(fabric::coordinator_message{o}); }, order);
  return replace_file(directory / order_file, bytes, 0600);
}

void forget_order(const fs::path& directory) {
  std::error_code ignored; // One that stays is taken over, and found to have ended.
  fs::remove(directory / order_file, ignored);
}

bool has_order(const fs::path& directory) {
  std::error_code unreadable;
  return fs::exists(directory / order_file, unreadable);
}

result<replica_order, problem> read_order(const fs::path& directory) {
  auto path = directory / order_file;
  auto bytes = read_small_file(path);
  problem damaged{
    problem_kind::invalid,
    "the order of this replica is missing or damaged",
    path.native(),
    "remove the folder; the coordinator starts another replica"};
  if (!bytes)
    return unexpected{damaged};
  auto message = wire::decode_coordinator_message(std::as_bytes(std::span{*bytes}));
  if (!message)
    return unexpected{damaged};
  if (auto* start = std::get_if<fabric::start_replica>(&*message))
    return replica_order{std::move(*start)};
  if (auto* adopt = std::get_if<fabric::adopt_replica>(&*message))
    return replica_order{std::move(*adopt)};
  return unexpected{damaged};
}

result<catalog::runtime_profile, problem> read_profile(const replica_order& order) {
  auto profile = catalog::parse_profile("profile", profile_text_of(order));
  if (profile)
    return std::move(*profile);
  return unexpected{
    profile.error().empty() ? problem{problem_kind::invalid, "the runtime profile is not readable"}
                            : profile.error().front()};
}

life::rules rules_of(const catalog::runtime_profile& profile, bool ours) {
  const auto& phases = profile.phases;
  return {
    phases.ready_times,
    phases.live ? phases.live->failures : phases.ready.failures,
    profile.phases.cold_start.limit,
    limits::suspicion,
    ours};
}

} // namespace assay::agent
