#include "src/store/stored_chronicle.hpp"

#include "src/base/check.hpp"
#include "src/wire/record_codec.hpp"
#include "src/wire/row_codec.hpp"
#include "src/wire/stamp_codec.hpp"

namespace assay::store {

namespace {

constexpr std::size_t number_bytes = 8;

problem damaged(std::uint64_t seq, const std::string& why) {
  return {
    problem_kind::unavailable,
    "record " + std::to_string(seq) + " cannot be read: " + why,
    {},
    "run assay ledger verify; restore from a backup if it fails"};
}

/// The number that ends a subject's key, most significant byte first.
std::uint64_t number_of(std::string_view key) {
  std::uint64_t number = 0;
  for (auto byte : key.substr(key.size() - number_bytes))
    number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

} // namespace

result<std::string, problem> stored_chronicle::bytes_at(std::uint64_t seq) const {
  if (seq == 0 || seq > now_->head.seq)
    return unexpected{problem{
      problem_kind::not_found,
      "there is no record " + std::to_string(seq),
      {},
      "assay ledger log lists them"}};
  auto bytes = engine_.read_row(row_key(ledger::table::records, ledger::record_key(seq)));
  if (!bytes)
    return unexpected{bytes.error()};
  if (!*bytes)
    return unexpected{damaged(seq, "it is missing")};
  return **std::move(bytes);
}

result<ledger::record_row, problem> stored_chronicle::row_at(std::uint64_t seq) const {
  auto bytes = bytes_at(seq);
  if (!bytes)
    return unexpected{bytes.error()};
  auto row = wire::decode_row(*bytes);
  if (!row)
    return unexpected{damaged(seq, row.error().text)};
  auto* stored = std::get_if<ledger::record_row>(&*row);
  if (stored == nullptr)
    return unexpected{damaged(seq, "its row is of another kind")};
  return std::move(*stored);
}

result<ledger::kept_record, problem> stored_chronicle::record_at(std::uint64_t seq) const {
  auto row = row_at(seq);
  if (!row)
    return unexpected{row.error()};
  auto record = wire::decode_record(row->canonical);
  if (!record)
    return unexpected{damaged(seq, record.error().text)};
  return ledger::kept_record{std::move(row->stamp), *std::move(record)};
}

result<wall_ms, problem> stored_chronicle::stamped_at(std::uint64_t seq) const {
  auto bytes = bytes_at(seq);
  if (!bytes)
    return unexpected{bytes.error()};
  auto at = wire::stamped_at_in(*bytes);
  if (!at)
    return unexpected{damaged(seq, at.error().text)};
  return *at;
}

result<std::vector<std::uint64_t>, problem> stored_chronicle::about(
  const digest& subject, std::uint64_t from, ledger::direction where, std::size_t count
) const {
  auto is_older = where == ledger::direction::older;
  row_scan scan{
    .prefix = row_key(ledger::table::subjects, ledger::subject_prefix(subject)),
    .from = {},
    .count = count,
    .is_downwards = is_older};
  auto first = is_older ? std::min(from, now_->head.seq) : from;
  scan.from = row_key(
    ledger::table::subjects, ledger::key_of(ledger::subject_row{.what = subject, .seq = first})
  );
  auto rows = engine_.read_rows(scan);
  if (!rows)
    return unexpected{rows.error()};
  std::vector<std::uint64_t> found;
  for (const auto& row : *rows) {
    check(row.key.size() == scan.prefix.size() + number_bytes, "a subject's key ends in a number");
    if (auto number = number_of(row.key); number <= now_->head.seq)
      found.push_back(number);
  }
  return found;
}

} // namespace assay::store
