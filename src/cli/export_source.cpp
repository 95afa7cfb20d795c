#include "src/cli/export_source.hpp"

#include "src/base/limits.hpp"
#include "src/cli/export_file.hpp"
#include "src/wire/export_codec.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

namespace assay::cli {

namespace {

constexpr std::chrono::seconds quiet_for{2};
constexpr std::chrono::milliseconds draw_every{200};

problem no_export(const std::filesystem::path& file, const std::string& why) {
  return {
    problem_kind::invalid,
    "this is no exported ledger: " + why,
    file.string(),
    "an export is what assay ledger export writes"};
}

problem does_not_hold(const std::filesystem::path& file, const ledger::finding& f) {
  if (f.is_too_new)
    return {
      problem_kind::refused,
      f.text,
      file.string(),
      "nothing is wrong up to record " + std::to_string(f.seq - 1)
        + "; what follows, this program cannot judge"};
  return {
    problem_kind::refused,
    "the export does not hold: record " + std::to_string(f.seq) + ": " + f.text,
    file.string(),
    "believe nothing from record " + std::to_string(f.seq)
      + " on; ask another coordinator for an export and compare both with assay ledger diff"};
}

class input {
public:
  explicit input(const std::filesystem::path& file)
    : fd_{::open(file.c_str(), O_RDONLY | O_CLOEXEC)} {
    if (fd_ < 0)
      error_ = errno;
  }
  ~input() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  input(const input&) = delete;
  input& operator=(const input&) = delete;

  int error() const { return error_; }
  std::uint64_t size() const {
    struct stat seen {};
    return ::fstat(fd_, &seen) == 0 ? static_cast<std::uint64_t>(seen.st_size) : 0;
  }

  /// Up to `count` bytes, fewer only at the end or behind an error.
  std::string take(std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t have = 0;
    while (have < count && error_ == 0) {
      auto got = ::read(fd_, bytes.data() + have, count - have);
      if (got == 0)
        break;
      if (got < 0 && errno != EINTR)
        error_ = errno;
      have += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    bytes.resize(have);
    return bytes;
  }

private:
  int fd_;
  int error_ = 0;
};

/// A frame with its length in front; what the file has of it, at its end.
std::string take_frame_bytes(input& from) {
  auto bytes = from.take(wire::frame_length_bytes);
  if (bytes.size() < wire::frame_length_bytes)
    return bytes;
  auto size = std::min<std::size_t>(wire::frame_length(bytes), limits::export_frame_bytes + 1);
  return bytes + from.take(size);
}

} // namespace

result<void, problem> audit_file(
  const std::filesystem::path& file,
  ledger::auditor& auditor,
  const std::function<void(std::uint64_t, std::uint64_t)>& next
) {
  input from{file};
  if (from.error() != 0)
    return unexpected{file_problem(from.error(), "the file cannot be opened", file)};
  std::uint64_t done = 0;
  for (;;) {
    auto bytes = take_frame_bytes(from);
    if (from.error() != 0)
      return unexpected{file_problem(from.error(), "the file cannot be read", file)};
    std::string_view rest{bytes};
    auto frame = wire::take_frame(rest);
    done += bytes.size();
    if (!auditor.began() && (!frame || !*frame))
      return unexpected{no_export(file, frame ? "it is empty" : frame.error().text)};
    auto found = !frame    ? ledger::finding{auditor.state().head.seq + 1, frame.error().text}
                 : !*frame ? auditor.finish()
                           : auditor.feed(**frame);
    if (found)
      return unexpected{does_not_hold(file, *found)};
    if (!*frame)
      return {};
    if (next)
      next(done, from.size());
  }
}

result<std::unique_ptr<ledger::replayed_chronicle>, problem>
replay(const std::filesystem::path& file) {
  auto replayed = std::make_unique<ledger::replayed_chronicle>(wire::read_record);
  slow_progress progress;
  auto done = audit_file(file, replayed->auditor(), [&](std::uint64_t at, std::uint64_t total) {
    progress.show(at, total, file.string());
  });
  if (!done)
    return unexpected{done.error()};
  return replayed;
}

slow_progress::slow_progress()
  : next_{std::chrono::steady_clock::now() + quiet_for}, is_tty_{::isatty(STDERR_FILENO) == 1} {}

void slow_progress::show(std::uint64_t done, std::uint64_t total, std::string_view what) {
  auto now = std::chrono::steady_clock::now();
  if (!is_tty_ || now < next_)
    return;
  next_ = now + draw_every;
  auto text = std::to_string(done >> 20) + " MiB";
  if (total > 0)
    text += " of " + std::to_string(total >> 20) + " MiB";
  std::fprintf(stderr, "\r\033[K%s  %s", text.c_str(), std::string{what}.c_str());
  is_drawn_ = true;
}

void slow_progress::clear() {
  if (is_drawn_)
    std::fputs("\r\033[K", stderr);
  is_drawn_ = false;
}

void frame_follower::add(std::string_view piece) {
  while (!piece.empty()) {
    auto is_whole = [&] {
      return frame_.size() >= wire::frame_length_bytes
             && frame_.size() == wire::frame_length_bytes + wire::frame_length(frame_);
    };
    if (is_whole())
      frame_.clear();
    auto wanted = frame_.size() < wire::frame_length_bytes
                    ? wire::frame_length_bytes - frame_.size()
                    : wire::frame_length_bytes + wire::frame_length(frame_) - frame_.size();
    auto part = piece.substr(0, wanted);
    frame_ += part;
    piece.remove_prefix(part.size());
  }
}

std::optional<ledger::export_head> frame_follower::head() const {
  std::string_view rest{frame_};
  auto frame = wire::take_frame(rest);
  if (!frame || !*frame || !std::holds_alternative<ledger::export_head>(**frame))
    return {};
  return std::get<ledger::export_head>(**frame);
}

} // namespace assay::cli
