#include "src/store/file_system.hpp"

#include "src/base/log.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace assay::store {

namespace {

using enum disk_verdict;

// Numbers from linux/magic.h, the file systems' own sources, and statfs(2).
constexpr std::array kinds{
  file_system_kind{0x0000EF53, "ext2/ext3/ext4", accepted},
  file_system_kind{0x58465342, "xfs", accepted},
  file_system_kind{0x9123683E, "btrfs", accepted},
  file_system_kind{0x2FC12FC1, "zfs", accepted},
  file_system_kind{0xF2F52010, "f2fs", accepted},
  file_system_kind{0xCA451A4E, "bcachefs", accepted},
  file_system_kind{0x3153464A, "jfs", accepted},
  file_system_kind{0x01021994, "tmpfs", warned},
  file_system_kind{0x858458F6, "ramfs", warned},
  file_system_kind{0x794C7630, "overlayfs", warned},
  file_system_kind{0x00006969, "nfs", refused},
  file_system_kind{0x0000517B, "smb", refused},
  file_system_kind{0xFF534D42, "cifs", refused},
  file_system_kind{0xFE534D42, "smb2", refused},
  file_system_kind{0x0BD00BD0, "lustre", refused},
  file_system_kind{0x47504653, "gpfs", refused},
  file_system_kind{0x01021997, "9p", refused},
  file_system_kind{0x65735546, "fuse", refused},
  file_system_kind{0x65735543, "fusectl", refused},
  file_system_kind{0x00C36400, "ceph", refused},
  file_system_kind{0x19830326, "beegfs", refused},
  file_system_kind{0x5346414F, "afs", refused},
  file_system_kind{0x6B414653, "afs", refused},
  file_system_kind{0x73757245, "coda", refused},
  file_system_kind{0x0000564C, "ncp", refused},
  file_system_kind{0x20030528, "orangefs", refused},
  file_system_kind{0x01161970, "gfs2", refused},
  file_system_kind{0x7461636F, "ocfs2", refused},
  file_system_kind{0x786F4256, "vboxsf", refused},
  file_system_kind{0xBACBACBC, "vmhgfs", refused},
  file_system_kind{0xAAD7AAEA, "panfs", refused},
  file_system_kind{0x013111A8, "ibrix", refused},
};

} // namespace

file_system_kind judge_file_system(std::uint64_t f_type) {
  // Some kernels sign-extend the magic number.
  auto magic = static_cast<std::uint32_t>(f_type);
  auto at =
    std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.magic == magic; });
  return at == kinds.end() ? file_system_kind{magic, "unknown", accepted} : *at;
}

std::optional<problem>
file_system_problem(const std::filesystem::path& path, const file_system_kind& kind) {
  if (kind.verdict != refused)
    return {};
  return problem{
    problem_kind::refused,
    "the data directory is on a " + std::string{kind.name}
      + " file system, where locks, mappings and fsync cannot be relied on",
    path.string(),
    "choose a directory on a local disk (ext4, xfs, btrfs or zfs); `findmnt -T " + path.string()
      + "` shows what is mounted there"};
}

result<file_system_kind, problem> check_file_system(const std::filesystem::path& path) {
  struct statfs seen {};
  if (::statfs(path.c_str(), &seen) != 0)
    return unexpected{problem{
      problem_kind::unavailable,
      std::string{"cannot ask for the kind of file system: "} + std::strerror(errno),
      path.string(),
      "check that the directory exists and may be read"}};
  auto kind = judge_file_system(static_cast<std::uint64_t>(seen.f_type));
  if (auto wrong = file_system_problem(path, kind))
    return unexpected{*std::move(wrong)};
  if (kind.verdict == warned)
    log::warn(
      "data directory on a file system that may not outlive this machine or container",
      {{"path", path.string()}, {"type", std::string{kind.name}}}
    );
  return kind;
}

} // namespace assay::store
