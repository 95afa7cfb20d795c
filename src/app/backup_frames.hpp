#pragma once
// Frames of a backup file as bytes, one at a time, with the digest over all of them.

#include "src/base/digest.hpp"
#include "src/store/posix_file.hpp"
#include "src/store/rows.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::app {

struct backup_frame {
  char kind = 0;
  std::string bytes;
};

class backup_writer {
public:
  /// A file that is there is replaced. `schema` is the version that a reader has to know.
  static result<backup_writer, problem> create(std::filesystem::path path, std::uint32_t schema);

  result<void, problem> frame(char kind, std::string_view bytes);
  /// The last frame, and all of it on disk.
  result<void, problem> finish(const digest& root);

private:
  backup_writer(std::filesystem::path path, store::descriptor fd)
    : path_{std::move(path)}, fd_{std::move(fd)} {}
  result<void, problem> put(std::string_view bytes);

  std::filesystem::path path_;
  store::descriptor fd_;
  hasher all_;
};

class backup_reader {
public:
  /// Refuses what is no backup, one of another format, and one of a schema that is not known here.
  static result<backup_reader, problem> open(const std::filesystem::path& path);

  /// Frames up to the last one, which is checked against all before; nothing may follow it.
  result<backup_frame, problem> next();
  problem damaged(const std::string& what) const;
  problem too_new(const std::string& what) const;

private:
  backup_reader(std::filesystem::path path, store::descriptor fd)
    : path_{std::move(path)}, fd_{std::move(fd)} {}
  result<std::string, problem> take(std::size_t size);
  result<void, problem> check_end();

  std::filesystem::path path_;
  store::descriptor fd_;
  hasher all_;
};

/// Nothing lost when a backup takes the place of what is at `path`: nothing is there, an empty
/// file, or a backup, cut ones included. Refused otherwise: a slip must not cost a device or a
/// member's files.
result<void, problem> may_become_backup(const std::filesystem::path& path);

std::string encode_rows(const std::vector<store::stored_row>& rows);
/// Nothing: the bytes are no rows.
std::optional<std::vector<store::stored_row>> decode_rows(std::string_view bytes);

} // namespace assay::app
