#include "src/store/journal.hpp"

#include "src/base/check.hpp"
#include "src/base/log.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

namespace assay::store {

namespace {

// All numbers are in the byte order of the machine, like those of the environment beside it.

/// The first block of the file.
struct title {
  std::uint32_t magic = 0x4c4a5341; // "ASJL"
  std::uint32_t version = 1;
  journal_salt salt{}; ///< Random, the key of every checksum: no content can pose as a frame.
};
static_assert(sizeof(journal_salt) == crypto_shorthash_KEYBYTES);

struct head {
  std::uint64_t checksum = 0; ///< SipHash-2-4 under the salt, of all that follows.
  std::uint64_t number = 0;
  std::uint64_t length = 0;
};

/// Of a frame from its checksum on, to the end of its contents.
std::uint64_t checksum_of(const journal_salt& salt, std::string_view frame) {
  frame.remove_prefix(sizeof head::checksum);
  std::uint64_t sum = 0;
  static_assert(sizeof sum == crypto_shorthash_BYTES);
  auto* out = reinterpret_cast<unsigned char*>(&sum);
  auto* in = reinterpret_cast<const unsigned char*>(frame.data());
  crypto_shorthash(out, in, frame.size(), salt.data());
  return sum;
}

std::size_t blocks_of(std::size_t contents) {
  return (sizeof(head) + contents + journal_block - 1) / journal_block * journal_block;
}

struct frame {
  std::uint64_t number = 0;
  std::string_view contents;
};

/// What the file held when it was opened.
struct pages {
  std::string bytes;
  journal_salt salt{};

  /// The frame that begins there, when it is whole.
  std::optional<frame> frame_at(std::size_t at) const {
    head h;
    if (at + sizeof h > bytes.size())
      return {};
    std::memcpy(&h, bytes.data() + at, sizeof h);
    if (h.number == 0 || h.length > bytes.size() - at - sizeof h)
      return {};
    auto whole = std::string_view{bytes}.substr(at, sizeof h + h.length);
    if (h.checksum != checksum_of(salt, whole))
      return {};
    return frame{h.number, whole.substr(sizeof h)};
  }

  /// The number of a frame from `at` on that was written after number `after`.
  std::optional<std::uint64_t> newer_frame(std::size_t at, std::uint64_t after) const {
    for (; at < bytes.size(); at += journal_block)
      if (auto found = frame_at(at); found && found->number > after)
        return found->number;
    return {};
  }
};

problem damaged(const std::filesystem::path& path, std::string what) {
  return {problem_kind::refused, std::move(what), path.string(), damage_advice};
}

result<std::string, problem> bytes_of(int fd, const std::filesystem::path& path) {
  std::string all(journal_bytes, '\0');
  std::size_t size = 0;
  while (size < all.size()) {
    auto got = ::pread(fd, all.data() + size, all.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return unexpected{file_problem(errno, "read the journal", path)};
    if (got == 0)
      return unexpected{damaged(
        path,
        "the file is cut short: it has " + std::to_string(size) + " bytes and needs "
          + std::to_string(journal_bytes)
      )};
    size += static_cast<std::size_t>(got);
  }
  return all;
}

result<pages, problem> pages_of(int fd, const std::filesystem::path& path) {
  auto all = bytes_of(fd, path);
  if (!all)
    return unexpected{all.error()};
  title t;
  std::memcpy(&t, all->data(), sizeof t);
  if (t.magic != title{}.magic)
    return unexpected{damaged(path, "the file is no journal, or its first block is damaged")};
  if (t.version != title{}.version)
    return unexpected{problem{
      problem_kind::refused,
      "the journal has format " + std::to_string(t.version) + ", this assayd knows "
        + std::to_string(title{}.version),
      path.string(),
      "run the assayd that wrote it; nothing was changed"}};
  return pages{*std::move(all), t.salt};
}

/// False: it cannot be so.
bool set_direct(int fd, bool is_direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  const int wanted = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return flags >= 0 && ::fcntl(fd, F_SETFL, wanted) == 0;
}

} // namespace

// -- opening ------------------------------------------------------------------------------------

result<std::vector<std::string>, problem> journal::open(std::uint64_t settled) {
  auto file = open_file(path_, O_RDWR);
  if (!file && file.error().kind == problem_kind::not_found)
    return unexpected{damaged(path_, "the journal is missing; the newest entries are in it")};
  if (!file)
    return unexpected{file.error()};
  auto all = pages_of(file->get(), path_);
  if (!all)
    return unexpected{all.error()};
  std::vector<std::string> out;
  salt_ = all->salt;
  last_ = settled;
  restart();
  for (auto next = all->frame_at(end_); next && next->number == last_ + 1;
       next = all->frame_at(end_)) {
    out.emplace_back(next->contents);
    end_ += blocks_of(next->contents.size());
    ++last_;
  }
  if (auto found = all->newer_frame(end_, last_))
    return unexpected{damaged(
      path_,
      "frame " + std::to_string(last_ + 1) + " is damaged, and frame " + std::to_string(*found)
        + " behind it was acknowledged"
    )};
  take(*std::move(file));
  return out;
}

std::optional<write_failure> journal::make(std::uint64_t settled) {
  auto failed = [&](const problem& why) {
    ::unlink(path_.c_str()); // A full disk gets its room back.
    return write_failure{why.kind == problem_kind::exhausted, to_text(why)};
  };
  auto file = open_file(path_, O_RDWR | O_CREAT | O_TRUNC);
  if (!file)
    return failed(file.error());
  // Zeros and not only room: a block that was never written makes its first sync a larger one.
  title t;
  std::random_device source;
  std::ranges::generate(t.salt, [&] { return static_cast<unsigned char>(source()); });
  std::string all(journal_bytes, '\0');
  std::memcpy(all.data(), &t, sizeof t);
  if (auto done = write_all(file->get(), all, path_); !done)
    return failed(done.error());
  if (auto done = sync_file(file->get(), path_); !done)
    return failed(done.error());
  if (auto done = sync_folder(path_.parent_path()); !done)
    return failed(done.error());
  take(*std::move(file));
  salt_ = t.salt;
  last_ = settled;
  restart();
  return {};
}

void journal::take(descriptor file) {
  is_direct_ = set_direct(file.get(), true); // Else, as on tmpfs, it goes through the page cache.
  file_ = std::move(file);
}

// -- writing ------------------------------------------------------------------------------------

bool journal::fits(std::size_t bytes) const {
  return is_open() && end_ + blocks_of(bytes) <= journal_bytes;
}

/// The buffer, to where the next frame goes. 0 or errno.
int journal::write() {
  for (std::size_t done = 0; done < buffer_.size();) {
    if (int code = write_some(done); code == EINVAL && is_direct_)
      leave_direct(); // A disk with larger blocks, or the rest of a write that a signal cut.
    else if (code != 0 && code != EINTR)
      return code;
  }
  return 0;
}

int journal::write_some(std::size_t& done) {
  if (int code = fault_ ? fault_() : 0; code != 0)
    return code;
  const auto at = static_cast<off_t>(end_ + done);
  auto more = ::pwrite(file_.get(), buffer_.data() + done, buffer_.size() - done, at);
  if (more < 0)
    return errno;
  done += static_cast<std::size_t>(more);
  return 0;
}

void journal::leave_direct() {
  log::warn("journal_through_the_cache", {{"file", path_.string()}, {"why", "EINVAL"}});
  is_direct_ = false;
  set_direct(file_.get(), false); // When it cannot, the next write says so again, for good.
}

std::optional<write_failure> journal::append(std::string_view bytes) {
  check(fits(bytes.size()), "who appends has asked whether it fits");
  head h{0, last_ + 1, bytes.size()};
  buffer_.resize(blocks_of(bytes.size()));
  std::memcpy(buffer_.data(), &h, sizeof h);
  std::memcpy(buffer_.data() + sizeof h, bytes.data(), bytes.size());
  std::fill(
    buffer_.begin() + static_cast<std::ptrdiff_t>(sizeof h + bytes.size()), buffer_.end(), '\0'
  );
  h.checksum = checksum_of(salt_, {buffer_.data(), sizeof h + bytes.size()});
  std::memcpy(buffer_.data(), &h.checksum, sizeof h.checksum);
  int code = write();
  if (code == 0 && ::fdatasync(file_.get()) != 0)
    return write_failure{false, "syncing " + path_.string() + " failed: " + std::strerror(errno)};
  if (code != 0)
    return failure_of(code, path_, buffer_.size());
  end_ += buffer_.size();
  ++last_;
  return {};
}

} // namespace assay::store
