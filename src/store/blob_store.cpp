#include "src/store/blob_store.hpp"

#include "src/store/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace assay::store {

namespace {

constexpr std::size_t piece_bytes = 256 << 10;
constexpr std::string_view temporary_folder = "tmp";

/// Two levels, so that no folder holds too many files: `ab/cdef...`.
std::filesystem::path place_of(const std::filesystem::path& folder, const digest& name) {
  auto hex = to_text(name).substr(std::string_view{"sha256:"}.size());
  return folder / hex.substr(0, 2) / hex.substr(2);
}

problem missing(const digest& name) {
  return {
    problem_kind::not_found,
    "there is no blob " + to_text(name) + " here",
    "blobs",
    "another coordinator may hold it, or it was never stored"};
}

problem incomplete(const std::filesystem::path& path) {
  return {
    problem_kind::unavailable,
    "the blob is incomplete: an earlier write of it failed",
    path.string(),
    "write it again from the beginning"};
}

/// Whoever put it there may have died between the renaming and the folder's sync: until that is
/// done a power cut can take it away again.
result<digest, problem> is_there_for_good(const std::filesystem::path& place, const digest& name) {
  if (auto done = sync_folder(place.parent_path()); !done)
    return unexpected{done.error()};
  return name;
}

std::uint64_t count_bytes(const std::filesystem::path& folder) {
  std::uint64_t total = 0;
  std::error_code failed;
  std::filesystem::recursive_directory_iterator at{folder, failed}, end;
  for (; !failed && at != end; at.increment(failed)) {
    std::error_code gone; // Removed while we looked.
    if (at->is_regular_file(gone))
      total += at->file_size(gone);
  }
  return total;
}

} // namespace

problem damaged_blob(const std::filesystem::path& path, const digest& seen) {
  return {
    problem_kind::invalid,
    "the blob is damaged: its content has the digest " + to_text(seen),
    path.string(),
    "restore it from another coordinator or from a backup"};
}

/// Outlives the store while a writer is open.
struct blob_store::shared {
  std::filesystem::path folder;
  std::uint64_t quota_bytes = 0;
  std::atomic<std::uint64_t> used_bytes = 0;
  std::atomic<std::uint64_t> next_temporary = 0;

  /// Takes room, or says that there is none.
  result<void, problem> take(std::uint64_t bytes) {
    auto before = used_bytes.fetch_add(bytes);
    if (quota_bytes == 0 || before + bytes <= quota_bytes)
      return {};
    used_bytes.fetch_sub(bytes);
    return unexpected{problem{
      problem_kind::exhausted,
      "the blob quota of " + std::to_string(quota_bytes) + " bytes is used up",
      folder.string(),
      "remove blobs that are no longer wanted, or raise the quota"}};
  }
};

struct blob_store::writer::file {
  std::shared_ptr<shared> store;
  std::filesystem::path path;
  descriptor fd;
  hasher content;
  std::uint64_t bytes = 0;
  bool is_broken = false; ///< A write failed: what is there is not what was meant.

  ~file() {
    if (path.empty())
      return;
    ::unlink(path.c_str());
    store->used_bytes -= bytes;
  }
};

// -- opening ------------------------------------------------------------------------------------

result<std::unique_ptr<blob_store>, problem>
blob_store::open(const std::filesystem::path& folder, std::uint64_t quota_bytes) {
  auto temporary = folder / temporary_folder;
  for (const auto& made : {make_folder(folder), make_folder(temporary)})
    if (!made)
      return unexpected{made.error()};
  std::error_code failed;
  for (const auto& left : std::filesystem::directory_iterator{temporary, failed}) {
    std::error_code ignored; // Unfinished blobs are garbage; a later start tries again.
    std::filesystem::remove(left.path(), ignored);
  }
  auto state = std::make_shared<shared>();
  state->folder = folder;
  state->quota_bytes = quota_bytes;
  state->used_bytes = count_bytes(folder);
  return std::unique_ptr<blob_store>{new blob_store{std::move(state)}};
}

blob_store::blob_store(std::shared_ptr<shared> state) : shared_{std::move(state)} {}
blob_store::~blob_store() = default;

// -- writing ------------------------------------------------------------------------------------

blob_store::writer::writer(std::unique_ptr<file> open) : file_{std::move(open)} {}
blob_store::writer::writer(writer&&) noexcept = default;
blob_store::writer& blob_store::writer::operator=(writer&&) noexcept = default;
blob_store::writer::~writer() = default;

result<blob_store::writer, problem> blob_store::start() {
  auto name = std::to_string(::getpid()) + "-" + std::to_string(shared_->next_temporary++);
  auto open = std::make_unique<writer::file>();
  auto path = shared_->folder / temporary_folder / name;
  auto fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!fd)
    return unexpected{fd.error()};
  open->store = shared_;
  open->path = std::move(path);
  open->fd = *std::move(fd);
  return writer{std::move(open)};
}

result<void, problem> blob_store::writer::write(std::string_view piece) {
  if (auto room = file_->store->take(piece.size()); !room) {
    file_->is_broken = true;
    return room;
  }
  file_->bytes += piece.size();
  file_->content.add(piece);
  auto done = write_all(file_->fd.get(), piece, file_->path);
  file_->is_broken |= !done;
  return done;
}

std::uint64_t blob_store::writer::size() const {
  return file_->bytes;
}

result<digest, problem> blob_store::writer::finish() {
  if (file_->is_broken)
    return unexpected{incomplete(file_->path)};
  auto name = file_->content.finish();
  auto place = place_of(file_->store->folder, name);
  if (std::error_code unknown; std::filesystem::exists(place, unknown)) {
    file_.reset(); // The same content is there already.
    return is_there_for_good(place, name);
  }
  if (auto done = put_in_place(place); !done)
    return unexpected{done.error()};
  return name;
}

result<void, problem> blob_store::writer::finish(const digest& expected) {
  if (file_->is_broken)
    return unexpected{incomplete(file_->path)};
  if (auto seen = file_->content.finish(); seen != expected)
    return unexpected{problem{
      problem_kind::invalid,
      "what came has the digest " + to_text(seen) + " and should have " + to_text(expected),
      file_->path.string(),
      "get it from another coordinator"}};
  auto place = place_of(file_->store->folder, expected);
  std::error_code is_new;
  auto before = std::filesystem::file_size(place, is_new);
  auto done = put_in_place(place);
  if (done && !is_new)
    file_->store->used_bytes -= before;
  return done;
}

result<void, problem> blob_store::writer::put_in_place(const std::filesystem::path& place) {
  auto synced = sync_file(file_->fd.get(), file_->path);
  if (synced)
    synced = make_folder(place.parent_path());
  if (synced)
    synced = sync_folder(file_->store->folder);
  if (!synced)
    return synced;
  if (::rename(file_->path.c_str(), place.c_str()) != 0)
    return unexpected{file_problem(errno, "put the blob in place", place)};
  file_->path.clear();
  return sync_folder(place.parent_path());
}

result<digest, problem> blob_store::put(std::string_view bytes) {
  if (auto name = sha256(bytes); has(name))
    return is_there_for_good(path(name), name);
  auto to = start();
  if (!to)
    return unexpected{to.error()};
  if (auto done = to->write(bytes); !done)
    return unexpected{done.error()};
  return to->finish();
}

// -- reading ------------------------------------------------------------------------------------

result<void, problem>
blob_store::read(const digest& name, const std::function<bool(std::string_view)>& take) const {
  auto place = path(name);
  auto fd = open_file(place, O_RDONLY);
  if (!fd)
    return unexpected{fd.error().kind == problem_kind::not_found ? missing(name) : fd.error()};
  hasher content;
  std::string piece(piece_bytes, '\0');
  for (;;) {
    auto size = ::read(fd->get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0)
      return unexpected{file_problem(errno, "read the blob", place)};
    if (size == 0)
      break;
    auto part = std::string_view{piece}.substr(0, static_cast<std::size_t>(size));
    content.add(part);
    if (!take(part))
      return {};
  }
  if (auto seen = content.finish(); seen != name)
    return unexpected{damaged_blob(place, seen)};
  return {};
}

result<std::string, problem> blob_store::get(const digest& name, std::uint64_t bytes_max) const {
  std::string out;
  bool is_too_long = false;
  auto done = read(name, [&](std::string_view piece) {
    is_too_long = out.size() + piece.size() > bytes_max;
    if (!is_too_long)
      out += piece;
    return !is_too_long;
  });
  if (!done)
    return unexpected{done.error()};
  if (is_too_long)
    return unexpected{problem{
      problem_kind::invalid,
      "the blob has more than " + std::to_string(bytes_max) + " bytes",
      path(name).string(),
      "read it in pieces"}};
  return out;
}

result<blob_store::part, problem>
blob_store::read_part(const digest& name, std::uint64_t offset, std::size_t bytes_max) const {
  auto bytes = size(name);
  if (!bytes)
    return unexpected{bytes.error()};
  auto fd = open_file(path(name), O_RDONLY);
  if (!fd)
    return unexpected{fd.error()};
  part out{{}, *bytes};
  out.bytes.resize(std::min<std::uint64_t>(bytes_max, *bytes - std::min(*bytes, offset)));
  for (std::size_t done = 0; done < out.bytes.size();) {
    auto at = static_cast<off_t>(offset + done);
    auto got = ::pread(fd->get(), out.bytes.data() + done, out.bytes.size() - done, at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return unexpected{file_problem(got < 0 ? errno : EIO, "read the blob", path(name))};
    done += static_cast<std::size_t>(got);
  }
  return out;
}

void blob_store::forget(const digest& name) const {
  if (auto fd = open_file(path(name), O_RDONLY))                 // Else the next read says why not.
    (void)::posix_fadvise(fd->get(), 0, 0, POSIX_FADV_DONTNEED); // Advice, and taken as such.
}

bool blob_store::has(const digest& name) const {
  std::error_code unknown; // What cannot be looked at is as good as missing; reading tells why.
  return std::filesystem::exists(path(name), unknown);
}

result<std::uint64_t, problem> blob_store::size(const digest& name) const {
  std::error_code failed;
  auto bytes = std::filesystem::file_size(path(name), failed);
  if (failed)
    return unexpected{missing(name)};
  return static_cast<std::uint64_t>(bytes);
}

std::filesystem::path blob_store::path(const digest& name) const {
  return place_of(shared_->folder, name);
}

result<void, problem> blob_store::remove(const digest& name) {
  auto bytes = size(name);
  if (!bytes)
    return unexpected{bytes.error()};
  if (::unlink(path(name).c_str()) != 0)
    return unexpected{file_problem(errno, "remove the blob", path(name))};
  shared_->used_bytes -= *bytes;
  return sync_folder(path(name).parent_path());
}

std::uint64_t blob_store::used_bytes() const {
  return shared_->used_bytes;
}

} // namespace assay::store
