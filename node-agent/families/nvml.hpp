#pragma once
// NVIDIA's management library, opened at run time in a probe child and nowhere else: a call of it
// may hang in the kernel or end the process.
//
// A symbol that the installed driver lacks makes its figures unsupported; every code that is not
// success becomes a state of its own, and a value that the library means as "none" becomes no
// number.

#include "node-agent/families/nvml_abi.hpp"
#include "node-agent/families/probe_protocol.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay::agent::nvml {

class library {
public:
  /// `libnvidia-ml.so.1`, opened and initialised. Failure: one line with the native code, or what
  /// the loader says.
  static result<std::unique_ptr<library>, std::string> open();
  ~library();
  library(const library&) = delete;
  library& operator=(const library&) = delete;

  /// `nvidia.driver`, `nvidia.cuda`, `nvidia.nvml`, as far as it says them.
  std::map<std::string, std::string> stack() const;

  struct handle {
    code result = ok;
    device of = nullptr; ///< Null unless `result` is 0.
  };
  /// One for each index, in the order of the bus. Failure: the native code.
  result<std::vector<handle>, code> handles() const;

  /// Its identity, memory, processes and health, without its place on the bus being looked at. A
  /// device that vanished between its handle and here is lost.
  probed_device describe(device d) const;

  /// What a device that runs in MIG mode is split into, in place of itself; empty when it is not.
  std::vector<probed_device> partitions(device d, const probed_device& whole) const;

  void
  sample(device d, const std::string& id, wall_ms now, std::vector<telemetry::sample>& to) const;

  /// From now on Xids of this device are told. False: the driver does not.
  bool listen_to(device d);
  struct xid {
    device of = nullptr;
    std::int64_t code = 0;
  };
  /// Those since it was asked last, without waiting for more.
  std::vector<xid> news() const;

  /// `NVML 15: GPU is lost`
  std::string text_of(code c) const;

private:
  library(void* opened, functions f) : opened_{opened}, f_{f} {}
  void read_processes(device d, probed_device& to) const;
  void read_memory(device d, probed_device& to) const;
  std::string health(device d) const;

  void* opened_;
  functions f_;
  void* events_ = nullptr; ///< The library's set of what we listen to.
};

/// The state of a figure for a code: unsupported, not there now, or failed.
telemetry::reading reading_of(code c, const std::string& text);

/// Processes from a buffer whose records are of one of several sizes: the first size by which every
/// pid can be one and no process has more memory than there is. `is_pid` says whether a pid exists.
std::vector<device_process> parse_processes(
  const std::vector<unsigned char>& buffer,
  std::size_t count,
  const std::vector<std::size_t>& strides,
  std::uint64_t total_bytes,
  const std::function<bool(std::int64_t)>& is_pid
);

} // namespace assay::agent::nvml
