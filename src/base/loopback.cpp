#include "src/base/loopback.hpp"

#include <sys/stat.h>

#include <fstream>

namespace assay {

namespace {

std::string read_own_loopback() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string boot;
  struct stat space {};
  if (!std::getline(file, boot) || boot.empty() || ::stat("/proc/self/ns/net", &space) != 0)
    return {};
  return boot + '/' + std::to_string(space.st_ino);
}

} // namespace

const std::string& own_loopback() {
  static const auto found = read_own_loopback();
  return found;
}

bool is_loopback_address(const std::string& ip) {
  return ip.starts_with("127.") || ip == "0.0.0.0" || ip == "::1" || ip == "::";
}

} // namespace assay
