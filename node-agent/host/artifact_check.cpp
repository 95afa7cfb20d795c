#include "node-agent/host/artifact_check.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

namespace assay::agent {

namespace {

constexpr std::size_t readers_max = 4;

/// A descriptor that closes itself.
struct open_file {
  int number = -1;

  explicit open_file(int value) : number{value} {}
  ~open_file() {
    if (number >= 0)
      ::close(number);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
};

artifact_problem unreadable(const std::string& where, std::string what, std::string next) {
  return {
    artifact_fault::unreadable,
    {problem_kind::unavailable, std::move(what), where, std::move(next)}};
}

artifact_problem mismatched(const std::string& where, std::string what) {
  return {
    artifact_fault::mismatched,
    {problem_kind::refused,
     std::move(what),
     where,
     "copy the artifact anew, or declare what is there as another artifact"}};
}

/// Opens below `folder` and nowhere else, whatever links stand on the way.
int open_below(int folder, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

artifact_problem open_problem(const std::string& where) {
  if (errno == EXDEV)
    return mismatched(where, "the path leads out of the artifact's folder");
  if (errno == ENOENT)
    return unreadable(where, "the file is missing", "copy the artifact to this host");
  return unreadable(
    where,
    std::string{"the file cannot be opened: "} + std::strerror(errno),
    "check its owner and the disk"
  );
}

std::optional<artifact_problem> check_size(
  const std::string& where, const catalog::artifact_file& wanted, const struct stat& facts
) {
  if (!S_ISREG(facts.st_mode))
    return mismatched(where, "this is not a regular file");
  if (wanted.bytes != 0 && wanted.bytes != static_cast<std::uint64_t>(facts.st_size))
    return mismatched(
      where,
      "the file has " + std::to_string(facts.st_size) + " bytes, the manifest says "
        + std::to_string(wanted.bytes)
    );
  return {};
}

/// One verification: what the readers share.
class verification {
public:
  verification(
    const std::filesystem::path& location,
    const std::vector<catalog::artifact_file>& files,
    digest_cache& cache,
    const std::function<void(const artifact_progress&)>& progress,
    const std::function<bool()>& cancelled
  )
    : location_{location}, files_{files}, cache_{cache}, progress_{progress},
      cancelled_{cancelled}, folder_{::open(location.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)} {
    for (const auto& file : files)
      total_bytes_ += file.bytes;
  }

  result<artifact_progress, artifact_problem> run() {
    if (folder_.number < 0)
      return unexpected{unreadable(
        location_.native(),
        std::string{"the artifact's folder cannot be opened: "} + std::strerror(errno),
        "copy the artifact to this host, or correct `location`"
      )};
    if (files_.empty())
      return unexpected{mismatched(location_.native(), "the manifest names no file")};
    {
      std::vector<std::jthread> readers;
      auto count = std::min({readers_max, files_.size(), cores()});
      for (std::size_t i = 0; i < count; ++i)
        readers.emplace_back([this] { read_files(); });
    }
    if (found_)
      return unexpected{*found_};
    return artifact_progress{checked_bytes_, std::max(total_bytes_, checked_bytes_.load())};
  }

private:
  static std::size_t cores() { return std::max(1U, std::thread::hardware_concurrency()); }

  void read_files() {
    for (;;) {
      auto index = next_.fetch_add(1);
      if (index >= files_.size() || stop_)
        return;
      if (auto wrong = check_file(files_[index]))
        give_up(std::move(*wrong));
    }
  }

  /// The first problem wins; the other readers end at their next piece.
  void give_up(artifact_problem why) {
    std::lock_guard guard{mutex_};
    if (!found_)
      found_ = std::move(why);
    stop_ = true;
  }

  std::optional<artifact_problem> check_file(const catalog::artifact_file& wanted) {
    auto where = (location_ / wanted.path).native();
    open_file file{open_below(folder_.number, wanted.path)};
    if (file.number < 0)
      return open_problem(where);
    struct stat facts {};
    if (::fstat(file.number, &facts) != 0)
      return open_problem(where);
    if (auto wrong = check_size(where, wanted, facts))
      return wrong;
    auto sum = digest_of_file(
      file.number, where, cache_, [this](std::uint64_t bytes) { tell(bytes); }, &stop_
    );
    if (!sum)
      return artifact_problem{artifact_fault::unreadable, sum.error()};
    if (!*sum)
      return artifact_problem{artifact_fault::cancelled, {problem_kind::unavailable, "cancelled"}};
    if (**sum != wanted.sha256)
      return mismatched(
        where, "the file is " + to_text(**sum) + ", the manifest says " + to_text(wanted.sha256)
      );
    return {};
  }

  void tell(std::uint64_t bytes) {
    auto checked = checked_bytes_ += bytes;
    if (progress_)
      progress_({checked, std::max(total_bytes_, checked)});
    if (cancelled_ && cancelled_())
      stop_ = true;
  }

  const std::filesystem::path& location_;
  const std::vector<catalog::artifact_file>& files_;
  digest_cache& cache_;
  const std::function<void(const artifact_progress&)>& progress_;
  const std::function<bool()>& cancelled_;
  open_file folder_;
  std::uint64_t total_bytes_ = 0;
  std::atomic<std::uint64_t> checked_bytes_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::optional<artifact_problem> found_;
};

} // namespace

result<artifact_progress, artifact_problem> check_artifact(
  const std::filesystem::path& location,
  const std::vector<catalog::artifact_file>& files,
  digest_cache& cache,
  const std::function<void(const artifact_progress&)>& progress,
  const std::function<bool()>& cancelled
) {
  return verification{location, files, cache, progress, cancelled}.run();
}

} // namespace assay::agent
