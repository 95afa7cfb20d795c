#pragma once
// Which loopback this process has: two processes reach each other by 127.0.0.1 exactly when both
// say the same. Machines differ by their boot id, network namespaces of one machine by their inode.

#include <string>

namespace assay {

/// `BOOT-ID/INODE`; empty where the kernel does not say.
const std::string& own_loopback();

/// True of an IP address that means another machine on each machine: 127.0.0.0/8, ::1, and the
/// unspecified ones.
bool is_loopback_address(const std::string& ip);

} // namespace assay
