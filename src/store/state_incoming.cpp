// A state that another member gives: into files of its own, and then in the place of ours.

#include "src/store/posix_file.hpp"
#include "src/store/state_files.hpp"
#include "src/store/state_store.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

namespace assay::store {

namespace {

write_failure to_failure(const problem& why) {
  return {why.kind == problem_kind::exhausted, to_text(why)};
}

/// LMDB writes to the lock through memory: a page that the disk has no room for would be a SIGBUS.
std::optional<write_failure> reserve_lock(const std::filesystem::path& folder) {
  constexpr off_t more_than_it_takes = 64 << 10;
  const auto place = folder / "lock.mdb";
  auto fd = open_file(place, O_RDWR | O_CREAT);
  if (!fd)
    return to_failure(fd.error());
  if (::fallocate(fd->get(), FALLOC_FL_KEEP_SIZE, 0, more_than_it_takes) == 0)
    return {};
  if (errno == ENOSPC || errno == EDQUOT) // Not every file system can.
    return to_failure(file_problem(errno, "reserve room", place));
  return {};
}

} // namespace

std::optional<write_failure> state_store::drop_incoming() {
  incoming_.reset();
  const auto folder = folder_ / state_files::incoming;
  std::error_code failed;
  std::filesystem::remove_all(folder, failed);
  if (failed)
    return write_failure{false, "removing " + folder.string() + " failed: " + failed.message()};
  return {};
}

std::optional<write_failure> state_store::clear_incoming() {
  if (auto failed = drop_incoming())
    return failed;
  const auto folder = folder_ / state_files::incoming;
  if (auto made = make_folder(folder); !made)
    return to_failure(made.error());
  if (auto failed = reserve_lock(folder))
    return failed;
  auto open = state_files::open(folder, map_bytes_);
  if (!open)
    return to_failure(open.error());
  incoming_ = *std::move(open);
  spoil(*incoming_->disk);
  return {};
}

std::optional<write_failure> state_store::write_incoming(const std::vector<stored_row>& page) {
  if (!incoming_)
    if (auto failed = clear_incoming())
      return failed;
  std::uint64_t bytes = 64;
  for (const auto& row : page)
    bytes += row.key.size() + row.value.size() + 64;
  return incoming_->disk->write(bytes, [&](MDB_txn* txn) {
    for (const auto& row : page) {
      auto k = to_lmdb(row.key), v = to_lmdb(row.value);
      if (int code = mdb_put(txn, incoming_->rows, &k, &v, MDB_APPEND); code != 0)
        return code;
    }
    return 0;
  });
}

std::optional<write_failure> state_store::adopt_incoming(std::uint64_t index, std::uint64_t term) {
  if (!incoming_)
    if (auto failed = clear_incoming())
      return failed;
  auto failed = incoming_->disk->write(64 + disk_id_.size(), [&](MDB_txn* txn) {
    const auto meta = incoming_->meta();
    int code = put_disk_id(txn, meta, disk_id_);
    if (code == 0)
      code = put_fetched(txn, meta, index);
    if (code == 0)
      code = put_applied(txn, meta, {index, term});
    return code;
  });
  if (!failed)
    failed = put_in_place();
  return failed;
}

/// The lock goes first: whoever opens the files in between reads the old ones under a new lock, and
/// nobody writes those any more. When a step fails a start finds the one state or the other whole,
/// and makes the lock anew.
std::optional<write_failure> state_store::put_in_place() {
  const auto from = folder_ / state_files::incoming;
  for (const auto* name : {"lock.mdb", "data.mdb"})
    if (::rename((from / name).c_str(), (folder_ / name).c_str()) != 0)
      return write_failure{
        false, to_text(file_problem(errno, "put the new state in place", folder_ / name))};
  if (auto synced = sync_folder(folder_); !synced)
    return write_failure{false, to_text(synced.error())};
  std::error_code ignored; // It is empty, and in nobody's way.
  std::filesystem::remove(from, ignored);
  incoming_->disk->moved(folder_);
  std::shared_ptr<state_files> old; // Closed when nobody waits for the lock any more.
  std::lock_guard hold{mutex_};
  old = std::exchange(in_force_, std::exchange(incoming_, {}));
  return {};
}

} // namespace assay::store
