#pragma once
// A cgroup per replica where the kernel lets us: v2, v1 or none. It is one of three ways to find
// everything a runtime started (the others are the process tree and the mark in its environment),
// so its absence is never an error.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay::agent {

/// Where `controller` keeps the group of a process, from the texts of /proc/PID/cgroup and
/// /proc/self/mountinfo; empty where it is not mounted. A `0::` line means v2 only if a cgroup2
/// mount has that controller: hybrid hosts have the line and keep their controllers in v1. Pure.
std::filesystem::path
group_directory(std::string_view cgroups, std::string_view mounts, std::string_view controller);

/// Makes a group below our own and moves this process in; empty when that is not possible here.
std::filesystem::path enter_new_group(const std::string& name);

/// Every process in the group and in groups below it.
std::vector<pid_t> members(const std::filesystem::path& group);

/// Removes an empty group; false while it still has members, dying ones included.
bool remove_group(const std::filesystem::path& group);

/// How many processes the kernel has killed for memory in our memory group; 0 where that is not
/// counted.
std::uint64_t oom_kills();

} // namespace assay::agent
