#pragma once
// A file of fixed length in front of the log's environment. What must be durable now is appended
// here with one sync of blocks that are on the disk already; LMDB would copy its tree's pages and
// sync twice. The environment takes it over in larger steps, and then the file begins again.
//
// It is written past the page cache where the file system can: half the CPU of a small synced write
// is the cache's.
//
// A frame has a number, a checksum, and blocks of its own, so that no write touches a block that
// was acknowledged before. A frame that a crash tore is the last one and was never acknowledged; a
// bad frame with a good one behind it is damage, and is told apart. Decides nothing. One thread.

#include "src/store/environment.hpp"
#include "src/store/posix_file.hpp"

#include <boost/align/aligned_allocator.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::store {

inline constexpr std::size_t journal_bytes = 4 << 20;
inline constexpr std::size_t journal_block = 4'096; ///< What a disk writes whole or not at all.

using journal_salt = std::array<unsigned char, 16>;

class journal {
public:
  explicit journal(const std::filesystem::path& folder) : path_{folder / "journal"} {}

  /// The contents of the frames after number `settled`, in order, and what follows goes behind
  /// them. Refuses a file that is cut, that lacks the frame after `settled`, or that has a bad
  /// frame before a good one. The file must be there.
  result<std::vector<std::string>, problem> open(std::uint64_t settled);

  /// Makes the file, with its blocks on the disk; frames will count from `settled` on.
  std::optional<write_failure> make(std::uint64_t settled);

  /// Its file is of no use: what it holds is not known to be a journal's.
  void give_up() { file_.close(); }

  bool is_open() const { return file_.is_open(); }
  /// Number of the newest frame.
  std::uint64_t last() const { return last_; }

  bool fits(std::size_t bytes) const;

  /// Whether it is written past the page cache.
  bool is_direct() const { return is_direct_; }

  /// Durable when it returns without a failure. After a failure that is not a full disk the fate of
  /// this frame is unknown, and nothing more may be appended.
  std::optional<write_failure> append(std::string_view bytes);

  /// All frames are held elsewhere now: the next one goes to the start.
  void restart() { end_ = journal_block; }

  /// Tests: an errno that stands in for what the disk reports of one write.
  void inject(std::function<int()> fault) { fault_ = std::move(fault); }

private:
  /// As direct input and output wants it.
  using blocks = std::vector<char, boost::alignment::aligned_allocator<char, journal_block>>;

  void take(descriptor file);
  int write();
  int write_some(std::size_t& done);
  void leave_direct();

  std::filesystem::path path_;
  descriptor file_;
  journal_salt salt_{};
  std::uint64_t last_ = 0;
  std::size_t end_ = 0; ///< Where the next frame goes.
  blocks buffer_;
  bool is_direct_ = false;
  std::function<int()> fault_;
};

} // namespace assay::store
