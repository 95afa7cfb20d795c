#pragma once
// A native sample: a vendor's own metric under its own name and unit, with the reason when there is
// no value. Nothing here renames, rescales or averages; what is compared across families are
// service outcomes, never these.

#include "src/base/clock.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::telemetry {

enum class sample_kind : std::uint8_t { gauge, counter, state };

/// The device or the kernel has no such metric, and never will on this host.
struct unsupported {
  friend bool operator==(const unsupported&, const unsupported&) = default;
};

/// There is such a metric, but not now (a driver that restarts, a file that needs root).
struct unavailable {
  std::string why;

  friend bool operator==(const unavailable&, const unavailable&) = default;
};

/// Asking went wrong; `code` is the vendor's or the kernel's own.
struct failed {
  std::int64_t code = 0;
  std::string why;

  friend bool operator==(const failed&, const failed&) = default;
};

/// Counters and byte counts stay whole numbers; a gauge may be a fraction; `state` samples are
/// text.
using reading =
  std::variant<std::uint64_t, std::int64_t, double, std::string, unsupported, unavailable, failed>;

struct sample {
  std::string family; ///< `cpu`, `nvidia`, ...
  std::string name;   ///< The native name: `MemAvailable`, `cpu.stat:nr_throttled`.
  std::string unit;   ///< The native unit as the vendor writes it: `kB`, `USER_HZ`, `us`.
  sample_kind kind = sample_kind::gauge;
  std::string device; ///< UUID, PCI address, `node0`; empty for the host itself.
  telemetry::reading reading;
  wall_ms taken;

  friend bool operator==(const sample&, const sample&) = default;
};

bool has_value(const reading& r);

/// `value`, `unsupported`, `unavailable` or `failed`.
std::string_view state_name(const reading& r);
std::string_view name(sample_kind k);

/// The reading as a person reads it: the number, the text, or `failed(5): why`.
std::string to_text(const reading& r);

/// What a family's figures begin with where its vendor's tools export them: `nvml`, `amdgpu`, else
/// the family's own name.
std::string_view native_prefix(std::string_view family);

/// Prometheus text: `PREFIX_NAME{device="",unit=""} VALUE`, names reduced to `[a-zA-Z0-9_]`, and
/// `PREFIX_sample_state{name="",device="",state=""} 1` for each sample without a value. A `state`
/// sample becomes a label of a series that is 1.
std::string to_prometheus(const std::vector<sample>& samples);

} // namespace assay::telemetry
