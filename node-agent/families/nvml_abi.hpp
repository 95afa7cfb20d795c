#pragma once
// The few entry points and structs of libnvidia-ml.so.1 that we use, by their public ABI on 64-bit
// Linux: NVIDIA's NVML API reference (docs.nvidia.com/deploy/nvml-api) and the sizes that its
// public header of API 13 gives. They are declared here because that header is not free to ship,
// and because the library is opened at run time and never linked.
//
// Names that end in a version are the exported ones: the header's macros rename calls silently.

#include <cstddef>
#include <cstdint>

namespace assay::agent::nvml {

using device = void*;
using code = std::int32_t; ///< nvmlReturn_t

inline constexpr code ok = 0;
inline constexpr code not_supported = 3;
inline constexpr code too_small = 7;
inline constexpr code function_missing = 13;
inline constexpr code lost = 15;
inline constexpr code blocked = 17; ///< By the operating system: a cgroup.
inline constexpr code in_use = 19;
inline constexpr code no_data = 21;
inline constexpr code deprecated = 26;
inline constexpr code not_ready = 27;

struct utilization {
  std::uint32_t gpu = 0;
  std::uint32_t memory = 0;
};
static_assert(sizeof(utilization) == 8);

struct memory_v1 {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t used = 0;
};
static_assert(sizeof(memory_v1) == 24);

struct memory_v2 {
  std::uint32_t version = sizeof(memory_v2) | 2U << 24;
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;
  std::uint64_t free = 0;
  std::uint64_t used = 0;
};
static_assert(sizeof(memory_v2) == 40);

struct pci_info {
  char legacy_address[16] = {};
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t id = 0;
  std::uint32_t subsystem = 0;
  char address[32] = {};
};
static_assert(sizeof(pci_info) == 68);

struct field_value {
  std::uint32_t id = 0;
  std::uint32_t scope = 0;
  std::int64_t timestamp = 0;
  std::int64_t latency = 0;
  std::uint32_t type = 0;
  code result = 0;
  std::uint64_t value = 0; ///< A union of eight bytes, by `type`.
};
static_assert(sizeof(field_value) == 40);
enum field_type : std::uint32_t { is_double, is_u32, is_ulong, is_u64, is_i64, is_i32, is_u16 };

struct temperature_v1 {
  std::uint32_t version = sizeof(temperature_v1) | 1U << 24;
  std::uint32_t sensor = 0; ///< 0: the GPU.
  std::int32_t celsius = 0;
};
static_assert(sizeof(temperature_v1) == 12);

struct event_data {
  nvml::device device = nullptr;
  std::uint64_t type = 0;
  std::uint64_t data = 0; ///< The number of an Xid.
  std::uint32_t instance = 0;
  std::uint32_t compute_instance = 0;
};
static_assert(sizeof(event_data) == 32);
inline constexpr std::uint64_t xid_event = 8;

struct attributes {
  std::uint32_t counts[8] = {};
  std::uint64_t memory_mib = 0;
};
static_assert(sizeof(attributes) == 40);

/// The newest process record is 24 bytes; drivers of the early 535 series wrote 32 under the same
/// name, and those before `_v2` write 16.
inline constexpr std::size_t process_stride = 24;
inline constexpr std::size_t process_stride_535 = 32;
inline constexpr std::size_t process_stride_v1 = 16;
inline constexpr std::size_t process_memory_at = 8;
inline constexpr std::uint64_t memory_not_told = ~std::uint64_t{0};

/// Null where the installed driver has no such symbol: it is older.
struct functions {
  code (*init)() = nullptr;                                        ///< nvmlInit_v2
  code (*shutdown)() = nullptr;                                    ///< nvmlShutdown
  const char* (*error_string)(code) = nullptr;                     ///< nvmlErrorString
  code (*driver_version)(char*, unsigned) = nullptr;               ///< nvmlSystemGetDriverVersion
  code (*nvml_version)(char*, unsigned) = nullptr;                 ///< nvmlSystemGetNVMLVersion
  code (*cuda_version)(int*) = nullptr;                            ///< ..GetCudaDriverVersion_v2
  code (*count)(unsigned*) = nullptr;                              ///< nvmlDeviceGetCount_v2
  code (*handle)(unsigned, device*) = nullptr;                     ///< ..GetHandleByIndex_v2
  code (*pci)(device, pci_info*) = nullptr;                        ///< ..GetPciInfo_v3
  code (*uuid)(device, char*, unsigned) = nullptr;                 ///< ..GetUUID
  code (*name)(device, char*, unsigned) = nullptr;                 ///< ..GetName
  code (*utilization)(device, nvml::utilization*) = nullptr;       ///< ..GetUtilizationRates
  code (*memory_2)(device, memory_v2*) = nullptr;                  ///< ..GetMemoryInfo_v2
  code (*memory_1)(device, memory_v1*) = nullptr;                  ///< ..GetMemoryInfo
  code (*power)(device, unsigned*) = nullptr;                      ///< ..GetPowerUsage
  code (*power_limit)(device, unsigned*) = nullptr;                ///< ..GetEnforcedPowerLimit
  code (*energy)(device, unsigned long long*) = nullptr;           ///< ..GetTotalEnergyConsumption
  code (*temperature_v)(device, temperature_v1*) = nullptr;        ///< ..GetTemperatureV
  code (*temperature)(device, unsigned, unsigned*) = nullptr;      ///< ..GetTemperature
  code (*clock)(device, unsigned, unsigned*) = nullptr;            ///< ..GetClockInfo
  code (*clock_reasons)(device, unsigned long long*) = nullptr;    ///< ..CurrentClocksEventReasons
  code (*throttle_reasons)(device, unsigned long long*) = nullptr; ///< its older name
  code (*ecc)(device, unsigned, unsigned, unsigned long long*) = nullptr; ///< ..GetTotalEccErrors
  code (*remapped)(device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  code (*fields)(device, int, field_value*) = nullptr;      ///< ..GetFieldValues
  code (*processes_3)(device, unsigned*, void*) = nullptr;  ///< ..ComputeRunningProcesses_v3
  code (*processes_2)(device, unsigned*, void*) = nullptr;  ///< .._v2
  code (*processes_1)(device, unsigned*, void*) = nullptr;  ///< without a version
  code (*mig_mode)(device, unsigned*, unsigned*) = nullptr; ///< ..GetMigMode
  code (*mig_count)(device, unsigned*) = nullptr;           ///< ..GetMaxMigDeviceCount
  code (*mig_handle)(device, unsigned, device*) = nullptr;  ///< ..MigDeviceHandleByIndex
  code (*attributes)(device, nvml::attributes*) = nullptr;  ///< ..GetAttributes_v2
  code (*event_set)(void**) = nullptr;                      ///< nvmlEventSetCreate
  code (*register_events)(device, unsigned long long, void*) = nullptr; ///< ..RegisterEvents
  code (*wait_event)(void*, event_data*, unsigned) = nullptr;           ///< nvmlEventSetWait_v2
};

/// A call that may be missing from the driver's library.
template <class Function, class... Args>
code call(Function f, Args... args) {
  return f ? f(args...) : function_missing;
}

} // namespace assay::agent::nvml
