#include "node-agent/host/digest_cache.hpp"

#include "node-agent/host/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <sstream>
#include <vector>

namespace assay::agent {

namespace {

constexpr std::size_t piece_bytes = 1 << 20;
constexpr std::size_t entries_max = 200'000; ///< Two environments of 100,000 files each.

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

problem read_problem(const std::string& name) {
  return {
    problem_kind::unavailable,
    std::string{"the file cannot be read: "} + std::strerror(errno),
    name,
    "check its owner and the disk"};
}

/// One line per file: device inode bytes modified changed HEX.
std::map<file_identity, digest> parse_entries(const std::string& text) {
  std::map<file_identity, digest> result;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields{line};
    file_identity file;
    std::string sum;
    fields >> file.device >> file.inode >> file.bytes >> file.modified_ns >> file.changed_ns >> sum;
    if (auto parsed = parse_digest(sum); fields && parsed)
      result.emplace(file, *parsed);
  }
  return result;
}

} // namespace

file_identity identity_of(const struct stat& facts) {
  return {
    facts.st_dev,
    facts.st_ino,
    static_cast<std::uint64_t>(facts.st_size),
    nanoseconds(facts.st_mtim),
    nanoseconds(facts.st_ctim)};
}

digest_cache::digest_cache(std::filesystem::path path) : path_{std::move(path)} {
  if (path_.empty())
    return;
  if (auto text = read_small_file(path_))
    known_ = parse_entries(*text);
}

std::optional<digest> digest_cache::find(const file_identity& file) const {
  std::lock_guard guard{mutex_};
  auto entry = known_.find(file);
  return entry == known_.end() ? std::nullopt : std::optional{entry->second};
}

void digest_cache::learn(const file_identity& file, const digest& sum) {
  std::lock_guard guard{mutex_};
  if (known_.size() >= entries_max)
    known_.clear(); // Rare, and costs only reading again.
  known_.insert_or_assign(file, sum);
}

result<void, problem> digest_cache::save() const {
  if (path_.empty())
    return {};
  std::ostringstream text;
  {
    std::lock_guard guard{mutex_};
    for (const auto& [file, sum] : known_)
      text << file.device << ' ' << file.inode << ' ' << file.bytes << ' ' << file.modified_ns
           << ' ' << file.changed_ns << ' ' << to_text(sum) << '\n';
  }
  return replace_file(path_, text.str(), 0600);
}

result<std::optional<digest>, problem> digest_of_file(
  int file,
  const std::string& name,
  digest_cache& cache,
  const std::function<void(std::uint64_t)>& read,
  const std::atomic<bool>* cancelled
) {
  struct stat before {};
  struct stat after {};
  if (::fstat(file, &before) != 0)
    return unexpected{read_problem(name)};
  if (auto known = cache.find(identity_of(before))) {
    if (read)
      read(static_cast<std::uint64_t>(before.st_size));
    return known;
  }
  ::posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
  hasher sum;
  std::vector<std::byte> piece(piece_bytes);
  for (;;) {
    if (cancelled && *cancelled)
      return std::optional<digest>{};
    auto got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return unexpected{read_problem(name)};
    if (got == 0)
      break;
    sum.add(std::span{piece}.first(static_cast<std::size_t>(got)));
    if (read)
      read(static_cast<std::uint64_t>(got));
  }
  auto result = sum.finish();
  if (::fstat(file, &after) != 0 || identity_of(after) != identity_of(before))
    return unexpected{problem{
      problem_kind::unavailable,
      "the file changed while it was read",
      name,
      "wait until the copy is complete"}};
  cache.learn(identity_of(before), result);
  return std::optional{result};
}

} // namespace assay::agent
