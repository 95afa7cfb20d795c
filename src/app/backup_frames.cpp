#include "src/app/backup_frames.hpp"

#include "src/app/backup_file.hpp"
#include "src/ledger/schema.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace assay::app {

namespace {

constexpr std::string_view magic = "assay backup\n";
constexpr std::size_t frame_bytes_max = 64 << 20;
constexpr std::size_t digest_bytes = sizeof(digest::bytes);

std::string number(std::size_t n) {
  std::string out;
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>(n >> shift));
  return out;
}

std::uint32_t number_in(std::string_view bytes) {
  std::uint32_t n = 0;
  for (int i = 3; i >= 0; --i)
    n = n << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  return n;
}

std::string_view bytes_of(const digest& d) {
  return {reinterpret_cast<const char*>(d.bytes.data()), d.bytes.size()};
}

/// One field with its size before it; nothing when the bytes end before.
std::optional<std::string> take_field(std::string_view& from) {
  if (from.size() < 4)
    return {};
  auto size = number_in(from);
  from.remove_prefix(4);
  if (from.size() < size)
    return {};
  std::string out{from.substr(0, size)};
  from.remove_prefix(size);
  return out;
}

} // namespace

std::string encode_rows(const std::vector<store::stored_row>& rows) {
  std::string out;
  for (const auto& row : rows)
    out.append(number(row.key.size())).append(row.key).append(number(row.value.size())) +=
      row.value;
  return out;
}

std::optional<std::vector<store::stored_row>> decode_rows(std::string_view bytes) {
  std::vector<store::stored_row> out;
  while (!bytes.empty()) {
    auto key = take_field(bytes);
    auto value = key ? take_field(bytes) : std::nullopt;
    if (!value)
      return {};
    out.push_back({*std::move(key), *std::move(value)});
  }
  return out;
}

// -- writing

result<backup_writer, problem>
backup_writer::create(std::filesystem::path path, std::uint32_t schema) {
  std::error_code ignored; // Creating it says what is wrong.
  std::filesystem::remove(path, ignored);
  auto fd = store::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!fd)
    return unexpected{fd.error()};
  backup_writer out{std::move(path), std::move(*fd)};
  if (auto done = out.put(std::string{magic} + number(backup_version) + number(schema)); !done)
    return unexpected{done.error()};
  return out;
}

result<void, problem> backup_writer::put(std::string_view bytes) {
  all_.add(bytes);
  return store::write_all(fd_.get(), bytes, path_);
}

result<void, problem> backup_writer::frame(char kind, std::string_view bytes) {
  if (auto done = put(kind + number(bytes.size())); !done)
    return done;
  return put(bytes);
}

result<void, problem> backup_writer::finish(const digest& root) {
  if (auto done = put('e' + number(2 * digest_bytes) + std::string{bytes_of(root)}); !done)
    return done;
  if (auto done = store::write_all(fd_.get(), bytes_of(all_.finish()), path_); !done)
    return done;
  return store::sync_file(fd_.get(), path_);
}

// -- reading

problem backup_reader::damaged(const std::string& what) const {
  return {
    problem_kind::invalid,
    "the backup is damaged: " + what,
    path_.string(),
    "take another copy of the file, or another backup; nothing was changed"};
}

problem backup_reader::too_new(const std::string& what) const {
  return {
    problem_kind::refused,
    "the backup " + what,
    path_.string(),
    "restore it with the version of assayd that wrote it, or a newer one; nothing was changed"};
}

result<void, problem> may_become_backup(const std::filesystem::path& path) {
  std::error_code failed;
  const auto there = std::filesystem::symlink_status(path, failed);
  if (there.type() == std::filesystem::file_type::not_found)
    return {};
  if (failed)
    return unexpected{store::file_problem(failed.value(), "look at what is there", path)};
  std::string begin(magic.size(), 0);
  if (std::filesystem::is_regular_file(there)) {
    std::ifstream in{path, std::ios::binary};
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(in.gcount()));
    if (in.is_open() && magic.starts_with(begin))
      return {};
  }
  return unexpected{problem{
    problem_kind::invalid,
    "this is there and is no backup; no backup was written",
    path.string(),
    "name a new file, or one that assay cluster backup wrote"}};
}

result<backup_reader, problem> backup_reader::open(const std::filesystem::path& path) {
  std::error_code failed; // A pipe would be waited for without end.
  if (const auto there = std::filesystem::status(path, failed);
      std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return unexpected{problem{
      problem_kind::invalid,
      "this is no regular file",
      path.string(),
      "give a file that assay cluster backup wrote"}};
  auto fd = store::open_file(path, O_RDONLY);
  if (!fd)
    return unexpected{fd.error()};
  backup_reader out{path, std::move(*fd)};
  auto begin = out.take(magic.size() + 8);
  if (!begin || !begin->starts_with(magic))
    return unexpected{problem{
      problem_kind::invalid,
      "this is not a backup of a cluster",
      path.string(),
      "give a file that assay cluster backup wrote"}};
  auto version = number_in(std::string_view{*begin}.substr(magic.size()));
  if (version != backup_version)
    return unexpected{out.too_new(
      "has format " + std::to_string(version) + ", and this assayd reads format "
      + std::to_string(backup_version)
    )};
  auto schema = number_in(std::string_view{*begin}.substr(magic.size() + 4));
  if (schema > ledger::known_schema())
    return unexpected{out.too_new(
      "is of schema version " + std::to_string(schema) + ", and this assayd knows versions 1 to "
      + std::to_string(ledger::known_schema())
    )};
  return out;
}

result<std::string, problem> backup_reader::take(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t got = 0; got < size;) {
    auto more = ::read(fd_.get(), out.data() + got, size - got);
    if (more < 0 && errno == EINTR)
      continue;
    if (more < 0)
      return unexpected{store::file_problem(errno, "read the backup", path_)};
    if (more == 0)
      return unexpected{damaged("it ends in the middle")};
    got += static_cast<std::size_t>(more);
  }
  all_.add(out);
  return out;
}

result<backup_frame, problem> backup_reader::next() {
  auto head = take(5);
  if (!head)
    return unexpected{head.error()};
  backup_frame out{head->front(), {}};
  auto size = number_in(std::string_view{*head}.substr(1));
  auto is_last = out.kind == 'e';
  if (size > frame_bytes_max || (is_last && size != 2 * digest_bytes))
    return unexpected{damaged("a frame has an impossible size")};
  auto bytes = take(is_last ? digest_bytes : size);
  if (!bytes)
    return unexpected{bytes.error()};
  out.bytes = *std::move(bytes);
  if (is_last)
    if (auto done = check_end(); !done)
      return unexpected{done.error()};
  return out;
}

result<void, problem> backup_reader::check_end() {
  auto is = all_.finish();
  all_ = hasher{};
  auto said = take(digest_bytes);
  if (!said)
    return unexpected{said.error()};
  if (*said != bytes_of(is))
    return unexpected{damaged("its bytes are not those that were written")};
  char more = 0;
  if (::read(fd_.get(), &more, 1) != 0)
    return unexpected{damaged("something follows its end")};
  return {};
}

} // namespace assay::app
