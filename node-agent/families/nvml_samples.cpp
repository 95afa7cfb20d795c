// NVML's figures under their own names, in the units of its documentation.

#include "node-agent/families/nvml.hpp"

#include <cstring>
#include <limits>
#include <tuple>

namespace assay::agent::nvml {

namespace {

using telemetry::reading;
using telemetry::sample_kind;

/// What the library writes where it has no value.
template <class Number>
bool is_sentinel(Number n) {
  return n == std::numeric_limits<Number>::max()
         || (sizeof n == 8 && static_cast<std::uint64_t>(n) >= 0x7ffffffffffffff0 && static_cast<std::uint64_t>(n) <= 0x7ffffffffffffff3);
}

reading whole(std::uint64_t n) {
  return is_sentinel(n) ? reading{telemetry::unavailable{"the library gave its sign for none"}}
                        : reading{n};
}

reading narrow(std::uint32_t n) {
  return is_sentinel(n) ? reading{telemetry::unavailable{"the library gave its sign for none"}}
                        : reading{std::uint64_t{n}};
}

reading percent(std::uint32_t n) {
  if (n > 100)
    return telemetry::unavailable{"the library gave " + std::to_string(n) + " %"};
  return std::uint64_t{n};
}

reading of_field(const field_value& v, const std::string& text) {
  if (v.result != ok)
    return reading_of(v.result, text);
  switch (v.type) {
  case is_double: {
    double number = 0;
    static_assert(sizeof number == sizeof v.value);
    std::memcpy(&number, &v.value, sizeof number);
    return number;
  }
  case is_u32:
    return narrow(static_cast<std::uint32_t>(v.value));
  case is_i32:
    return std::int64_t{static_cast<std::int32_t>(v.value)};
  case is_i64:
    return static_cast<std::int64_t>(v.value);
  case is_u16:
    return std::uint64_t{static_cast<std::uint16_t>(v.value)};
  default:
    return whole(v.value);
  }
}

struct field {
  std::uint32_t id;
  const char* name;
  const char* unit;
  sample_kind kind;
};

constexpr field fields_read[] = {
  {82, "temperature.memory", "C", sample_kind::gauge},
  {94, "pcie.replay_counter", "count", sample_kind::counter},
  {185, "power.draw.average", "mW", sample_kind::gauge},
  {186, "power.draw.instant", "mW", sample_kind::gauge},
  {230, "gpu_recovery_action", "", sample_kind::gauge},
};

/// Collects samples of one device.
struct sampler {
  const library& of;
  const std::string& id;
  wall_ms now;
  std::vector<telemetry::sample>& to;

  void add(const char* name, const char* unit, sample_kind kind, reading r) const {
    to.push_back({"nvidia", name, unit, kind, id, std::move(r), now});
  }
  void add(const char* name, const char* unit, sample_kind kind, code c, const reading& r) const {
    add(name, unit, kind, c == ok ? r : reading_of(c, of.text_of(c)));
  }
};

} // namespace

void library::sample(
  device d, const std::string& id, wall_ms now, std::vector<telemetry::sample>& to
) const {
  using enum sample_kind;
  sampler s{*this, id, now, to};
  nvml::utilization busy;
  auto c = call(f_.utilization, d, &busy);
  s.add("utilization.gpu", "%", gauge, c, percent(busy.gpu));
  s.add("utilization.memory", "%", gauge, c, percent(busy.memory));

  memory_v2 memory;
  c = call(f_.memory_2, d, &memory);
  if (c == function_missing || c == not_supported) {
    memory_v1 older;
    c = call(f_.memory_1, d, &older);
    memory.total = older.total;
    memory.free = older.free;
    memory.used = older.used;
    memory.reserved = memory_not_told;
  }
  s.add("memory.total", "bytes", gauge, c, whole(memory.total));
  s.add("memory.used", "bytes", gauge, c, whole(memory.used));
  s.add("memory.free", "bytes", gauge, c, whole(memory.free));
  if (memory.reserved == memory_not_told)
    s.add("memory.reserved", "bytes", gauge, telemetry::unsupported{});
  else
    s.add("memory.reserved", "bytes", gauge, c, whole(memory.reserved));

  unsigned number = 0;
  c = call(f_.power, d, &number);
  s.add("power.draw", "mW", gauge, c, narrow(number));
  c = call(f_.power_limit, d, &number);
  s.add("enforced.power.limit", "mW", gauge, c, narrow(number));
  unsigned long long large = 0;
  c = call(f_.energy, d, &large);
  s.add("total_energy_consumption", "mJ", counter, c, whole(large));

  temperature_v1 warm;
  c = call(f_.temperature_v, d, &warm);
  if (c == function_missing || c == not_supported) {
    c = call(f_.temperature, d, 0U, &number);
    s.add("temperature.gpu", "C", gauge, c, narrow(number));
  } else {
    s.add("temperature.gpu", "C", gauge, c, std::int64_t{warm.celsius});
  }
  constexpr std::pair<unsigned, const char*> clocks[] = {
    {0, "clocks.gr"}, {1, "clocks.sm"}, {2, "clocks.mem"}};
  for (auto [type, name] : clocks) {
    c = call(f_.clock, d, type, &number);
    s.add(name, "MHz", gauge, c, narrow(number));
  }
  c = f_.clock_reasons ? f_.clock_reasons(d, &large) : call(f_.throttle_reasons, d, &large);
  s.add("clocks_event_reasons.active", "mask", gauge, c, whole(large));

  constexpr std::tuple<unsigned, unsigned, const char*> errors[] = {
    {0, 0, "ecc.errors.corrected.volatile.total"},
    {1, 0, "ecc.errors.uncorrected.volatile.total"},
    {0, 1, "ecc.errors.corrected.aggregate.total"},
    {1, 1, "ecc.errors.uncorrected.aggregate.total"}};
  for (auto [type, span, name] : errors) {
    c = call(f_.ecc, d, type, span, &large);
    s.add(name, "count", counter, c, whole(large));
  }
  unsigned corrected = 0, uncorrected = 0, pending = 0, failure = 0;
  c = call(f_.remapped, d, &corrected, &uncorrected, &pending, &failure);
  s.add("remapped_rows.correctable", "count", counter, c, narrow(corrected));
  s.add("remapped_rows.uncorrectable", "count", counter, c, narrow(uncorrected));
  s.add("remapped_rows.pending", "flag", gauge, c, narrow(pending));
  s.add("remapped_rows.failure", "flag", gauge, c, narrow(failure));

  for (const auto& one : fields_read) {
    field_value v{.id = one.id};
    c = call(f_.fields, d, 1, &v);
    s.add(one.name, one.unit, one.kind, c, of_field(v, text_of(v.result)));
  }
}

} // namespace assay::agent::nvml
