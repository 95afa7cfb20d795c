#include "src/store/environment.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"
#include "src/store/fault_guard.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace assay::store {

namespace {

// Meta pages, free list and tree pages that a transaction rewrites besides its data.
constexpr std::uint64_t overhead_bytes = std::uint64_t{64} * 4096;
constexpr std::uint64_t reserve_ahead_bytes = 1 << 20;
constexpr unsigned readers_max = 512;

std::filesystem::path file_of(const std::filesystem::path& folder) {
  return folder / "data.mdb";
}

std::uint64_t free_bytes_at(const std::filesystem::path& folder) {
  struct statvfs seen {};
  if (::statvfs(folder.c_str(), &seen) != 0)
    return 0;
  auto blocks = ::geteuid() == 0 ? seen.f_bfree : seen.f_bavail;
  return static_cast<std::uint64_t>(blocks) * seen.f_frsize;
}

std::optional<std::uint64_t> length_of(const std::filesystem::path& file) {
  struct stat seen {};
  if (::stat(file.c_str(), &seen) != 0)
    return {};
  return static_cast<std::uint64_t>(seen.st_size);
}

problem open_problem(int code, const std::filesystem::path& folder) {
  auto what = std::string{"cannot open the store: "} + mdb_strerror(code);
  if (code == ENOSPC || code == EDQUOT)
    return {problem_kind::exhausted, what, folder.string(), "free space on this disk"};
  if (code == MDB_INVALID || code == MDB_CORRUPTED || code == MDB_VERSION_MISMATCH || code == MDB_PAGE_NOTFOUND)
    return {
      problem_kind::refused,
      what + "; the file is damaged or is not ours",
      file_of(folder).string(),
      damage_advice};
  if (code == MDB_MAP_RESIZED)
    return {
      problem_kind::refused,
      what,
      file_of(folder).string(),
      "set ledger.map_mib to what it was; if it was never more, the file is damaged"};
  return {
    problem_kind::unavailable,
    what,
    folder.string(),
    "check the directory's owner and permissions, and that this is a local disk"};
}

problem short_file(const std::filesystem::path& folder, std::uint64_t has, std::uint64_t needs) {
  return {
    problem_kind::refused,
    "the file is cut short: it has " + std::to_string(has) + " bytes and needs "
      + std::to_string(needs),
    file_of(folder).string(),
    damage_advice};
}

} // namespace

bool is_full_disk(int code, std::uint64_t free_bytes, std::uint64_t wanted_bytes) {
  if (code == MDB_MAP_FULL || code == EDQUOT)
    return true;
  return code == ENOSPC && free_bytes < wanted_bytes;
}

write_failure failure_of(int code, const std::filesystem::path& place, std::uint64_t bytes) {
  auto free = free_bytes_at(place);
  bool is_full = is_full_disk(code, free, 2 * bytes + overhead_bytes + reserve_ahead_bytes);
  auto text = "writing to " + place.string() + " failed: " + mdb_strerror(code);
  if (code == ENOSPC && !is_full)
    text += ", although " + std::to_string(free) + " bytes are free: the sync itself failed";
  return {is_full, std::move(text)};
}

std::optional<open_reader> parse_reader(std::string_view line) {
  auto number = [](std::string_view word) -> std::optional<std::uint64_t> {
    std::uint64_t out = 0;
    auto [end, why] = std::from_chars(word.data(), word.data() + word.size(), out);
    return why == std::errc{} && end == word.data() + word.size() ? std::optional{out}
                                                                  : std::nullopt;
  };
  while (line.ends_with('\n') || line.ends_with(' '))
    line.remove_suffix(1);
  const auto first = line.find_first_not_of(' ');
  if (first == std::string_view::npos)
    return {};
  line.remove_prefix(first);
  const auto process = number(line.substr(0, line.find(' ')));
  const auto txn = number(line.substr(line.rfind(' ') + 1));
  if (!process || !txn)
    return {};
  return open_reader{static_cast<std::int64_t>(*process), *txn};
}

MDB_val to_lmdb(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

std::string_view from_lmdb(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

environment::environment(std::filesystem::path folder, MDB_env* env) : env_{env} {
  moved(std::move(folder));
}

void environment::moved(std::filesystem::path to) {
  folder_ = std::move(to);
  problem why{
    problem_kind::refused,
    "a page of the store leads nowhere; the file is damaged",
    file_of(folder_).string(),
    damage_advice};
  fault_text_ = "assay: " + to_text(why) + "\n";
}

// -- opening ------------------------------------------------------------------------------------

result<std::unique_ptr<environment>, problem> environment::open(
  const std::filesystem::path& folder,
  std::uint64_t map_bytes,
  const std::vector<database>& databases
) {
  // LMDB takes an empty file for a new environment, and a cut header for a foreign one.
  const auto header = static_cast<std::uint64_t>(2 * ::sysconf(_SC_PAGESIZE));
  if (auto length = length_of(file_of(folder)); length && *length < header)
    return unexpected{short_file(folder, *length, header)};
  MDB_env* env = nullptr;
  int code = mdb_env_create(&env);
  if (code != 0)
    return unexpected{open_problem(code, folder)};
  std::unique_ptr<environment> out{new environment{folder, env}};
  fault_guard guard{out->fault_text_};
  mdb_env_set_mapsize(env, map_bytes);
  mdb_env_set_maxreaders(env, readers_max);
  mdb_env_set_maxdbs(env, static_cast<MDB_dbi>(databases.size()));
  code = mdb_env_open(env, folder.c_str(), MDB_NOTLS | MDB_NORDAHEAD, 0600);
  if (code != 0)
    return unexpected{open_problem(code, folder)};
  if (auto fine = out->check_length(); !fine)
    return unexpected{fine.error()};
  out->give_up_dead_readers();
  if (auto fine = out->open_databases(databases); !fine)
    return unexpected{fine.error()};
  if (code = out->take_spare(); code != 0)
    return unexpected{open_problem(code, folder)};
  return out;
}

environment::~environment() {
  mdb_txn_abort(spare_); // Nothing, when none was taken.
  mdb_env_close(env_);
}

result<void, problem> environment::check_length() const {
  auto length = length_of(file_of(folder_)).value_or(0);
  if (length < used_bytes())
    return unexpected{short_file(folder_, length, used_bytes())};
  return {};
}

result<void, problem> environment::open_databases(const std::vector<database>& databases) {
  MDB_txn* txn = nullptr;
  int code = mdb_txn_begin(env_, nullptr, 0, &txn);
  for (const auto& wanted : databases) {
    if (code != 0)
      break;
    code = mdb_dbi_open(txn, wanted.name, MDB_CREATE | wanted.flags, &databases_.emplace_back());
  }
  if (code == 0)
    code = mdb_txn_commit(txn); // Writes nothing when all of them were there.
  else if (txn != nullptr)
    mdb_txn_abort(txn);
  if (code != 0)
    return unexpected{open_problem(code, folder_)};
  return {};
}

// -- writing ------------------------------------------------------------------------------------

int environment::commit(const std::function<int(MDB_txn*)>& fill) {
  MDB_txn* txn = nullptr;
  int code = mdb_txn_begin(env_, nullptr, 0, &txn);
  if (code != 0)
    return code;
  code = fill(txn);
  if (code == 0 && fault_)
    code = fault_();
  if (code != 0) {
    mdb_txn_abort(txn);
    return code;
  }
  return mdb_txn_commit(txn);
}

std::optional<write_failure>
environment::write(std::uint64_t bytes, const std::function<int(MDB_txn*)>& fill) {
  fault_guard guard{fault_text_};
  if (auto now = std::chrono::steady_clock::now(); now >= next_reader_check_) {
    next_reader_check_ = now + reader_check_every;
    give_up_dead_readers();
  }
  if (auto failed = reserve(bytes))
    return failed;
  int code = commit(fill);
  if (code != 0)
    return failure_of(code, folder_, bytes);
  return {};
}

std::optional<write_failure> environment::reserve(std::uint64_t bytes) {
  // Values take whole pages when they are large, and changed tree pages are copied.
  const auto wanted = used_bytes() + 2 * bytes + overhead_bytes;
  if (!can_reserve_ || wanted <= reserved_bytes_)
    return {};
  int fd = -1;
  check(mdb_env_get_fd(env_, &fd) == 0, "an open environment has a file");
  auto allocate = [&](std::uint64_t end) {
    if (has_room_ && !has_room_(end))
      return ENOSPC;
    auto from = std::max(reserved_bytes_, used_bytes());
    // The length stays: a file longer than its pages would hide that it was cut.
    if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(end - from)) != 0)
      return errno;
    reserved_bytes_ = end;
    return 0;
  };
  int code = allocate(wanted + reserve_ahead_bytes);
  if (code == ENOSPC || code == EDQUOT)
    code = allocate(wanted);
  if (code == ENOSPC || code == EDQUOT)
    return write_failure{true, "no room left for " + folder_.string()};
  if (code != 0)
    can_reserve_ = false; // Not every file system can; then commits tell.
  return {};
}

// -- reading ------------------------------------------------------------------------------------

/// Places of processes that were killed pin old pages, and are nobody's.
void environment::give_up_dead_readers() const {
  int dead = 0;
  mdb_reader_check(env_, &dead);
}

/// Between reads it keeps its place and pins nothing.
int environment::take_spare() {
  int code = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &spare_);
  if (code == 0)
    mdb_txn_reset(spare_);
  return code;
}

int environment::read_by_spare(const std::function<int(MDB_txn*)>& look) const {
  std::lock_guard hold{spare_mutex_};
  int code = mdb_txn_renew(spare_);
  if (code != 0)
    return code;
  code = look(spare_);
  mdb_txn_reset(spare_);
  return code;
}

int environment::begin_read(MDB_txn** txn) const {
  int code = mdb_txn_begin(env_, nullptr, MDB_RDONLY, txn);
  if (code != MDB_READERS_FULL)
    return code;
  give_up_dead_readers();
  return mdb_txn_begin(env_, nullptr, MDB_RDONLY, txn);
}

result<void, problem> environment::read(const std::function<int(MDB_txn*)>& look) const {
  fault_guard guard{fault_text_};
  MDB_txn* txn = nullptr;
  int code = begin_read(&txn);
  if (code == MDB_READERS_FULL) {
    code = spare_ ? read_by_spare(look) : code; // While it is opened there is none.
  } else if (code == 0) {
    code = look(txn);
    mdb_txn_abort(txn);
  }
  if (code == 0)
    return {};
  return unexpected{read_problem(code)};
}

problem environment::read_problem(int code) const {
  auto what = std::string{"reading the store failed: "} + mdb_strerror(code);
  if (code == MDB_READERS_FULL)
    return {problem_kind::unavailable, what, folder_.string(), "too many reads at once; try again"};
  return {
    problem_kind::unavailable,
    what,
    folder_.string(),
    "the disk or the file may be damaged; compare with a backup"};
}

result<std::unique_ptr<environment::moment>, problem> environment::hold() const {
  fault_guard guard{fault_text_};
  MDB_txn* txn = nullptr;
  if (int code = begin_read(&txn); code != 0)
    return unexpected{read_problem(code)};
  return std::make_unique<moment>(txn, fault_text_);
}

std::uint64_t environment::used_bytes() const {
  MDB_envinfo info;
  mdb_env_info(env_, &info);
  MDB_stat stat;
  mdb_env_stat(env_, &stat);
  return (info.me_last_pgno + 1) * stat.ms_psize;
}

std::uint32_t environment::map_percent(std::uint64_t pending) const {
  MDB_envinfo info;
  mdb_env_info(env_, &info);
  auto percent = [&](std::uint64_t bytes) {
    return static_cast<std::uint32_t>(bytes * 100 / info.me_mapsize);
  };
  if (auto used = percent(used_bytes() + pending); used <= limits::map_use_percent)
    return used;
  // Pages once used and free again count as room; adding them up costs, so only when it matters.
  std::uint64_t free_pages = 0;
  MDB_stat stat{};
  mdb_env_stat(env_, &stat);
  auto seen = read([&](MDB_txn* txn) {
    constexpr MDB_dbi free_list = 0;
    MDB_cursor* cursor = nullptr;
    int code = mdb_cursor_open(txn, free_list, &cursor);
    if (code != 0)
      return code;
    MDB_val key, value;
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
      std::size_t count = 0;
      std::memcpy(&count, value.mv_data, sizeof count);
      free_pages += count;
    }
    mdb_cursor_close(cursor);
    return 0;
  });
  auto used = used_bytes() + pending;
  return percent(seen ? used - std::min(used, free_pages * stat.ms_psize) : used);
}

std::uint64_t environment::newest_txn() const {
  MDB_envinfo info;
  mdb_env_info(env_, &info);
  return info.me_last_txnid;
}

std::vector<open_reader> environment::readers() const {
  give_up_dead_readers(); // Who was killed reads no more, although nobody writes meanwhile.
  std::vector<open_reader> all;
  mdb_reader_list(
    env_, // The table comes only as text.
    [](const char* line, void* context) {
      if (auto one = parse_reader(line))
        static_cast<std::vector<open_reader>*>(context)->push_back(*one);
      return 0;
    },
    &all
  );
  return all;
}

} // namespace assay::store
