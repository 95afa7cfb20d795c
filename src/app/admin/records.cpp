// The ledger for eyes: its last records, one record whole, and whether all of it holds.

#include "src/app/admin/admin.hpp"
#include "src/base/limits.hpp"
#include "src/ledger/audit.hpp"
#include "src/ledger/describe.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/wire/record_codec.hpp"
#include "src/wire/row_codec.hpp"

#include <algorithm>
#include <charconv>
#include <mutex>

namespace assay::app::admin {

namespace {

problem damaged(std::uint64_t seq, const std::string& why) {
  return {
    problem_kind::unavailable,
    "record " + std::to_string(seq) + " cannot be read: " + why,
    {},
    "run assay ledger verify; restore from a backup if it fails"};
}

} // namespace

result<std::optional<read_record>, problem> record_at(const app::parts& parts, std::uint64_t seq) {
  auto row =
    parts.engine->read_row(store::row_key(ledger::table::records, ledger::record_key(seq)));
  if (!row)
    return unexpected{row.error()};
  if (!*row)
    return std::optional<read_record>{};
  auto decoded = wire::decode_row(**row);
  if (!decoded)
    return unexpected{damaged(seq, decoded.error().text)};
  const auto* stored = std::get_if<ledger::record_row>(&*decoded);
  if (!stored)
    return unexpected{damaged(seq, "its row is of another kind")};
  auto record = wire::decode_record(stored->canonical);
  if (!record)
    return unexpected{damaged(seq, record.error().text)};
  return std::optional{read_record{stored->stamp, std::move(*record)}};
}

result<std::uint64_t, problem> seq_of_record(const app::parts& parts, const uuid& id) {
  auto row = parts.engine->read_row(store::row_key(
    ledger::table::record_ids, ledger::key_of(ledger::record_id_row{.record_id = id})
  ));
  if (!row)
    return unexpected{row.error()};
  auto decoded = *row ? wire::decode_row(**row)
                      : result<ledger::row, wire::malformed>{unexpected{wire::malformed{}}};
  const auto* found = decoded ? std::get_if<ledger::record_id_row>(&*decoded) : nullptr;
  return found ? found->seq : std::uint64_t{0};
}

namespace {

json::object line_of(const read_record& r) {
  auto told = ledger::describe(r.record);
  return {
    {"seq", r.stamp.seq},
    {"stamped_at_ms", r.stamp.stamped_at.value},
    {"kind", told.kind},
    {"summary", told.summary},
    {"author", r.record.author.who},
    {"record_id", to_text(r.record.record_id)}};
}

/// Seqs of the newest `limit` records, all or of one subject, newest first.
result<std::vector<std::uint64_t>, problem>
newest(const app::parts& parts, const history_query& what) {
  std::vector<std::uint64_t> seqs;
  if (what.subject.empty()) {
    for (auto seq = parts.engine->current()->seq; seq > 0 && seqs.size() < what.limit; --seq)
      seqs.push_back(seq);
    return seqs;
  }
  auto digest = ledger::subject_of(what.subject_kind, what.subject);
  store::row_scan scan{
    .prefix = store::row_key(ledger::table::subjects, ledger::subject_prefix(digest)),
    .from = {},
    .count = what.limit,
    .is_downwards = true};
  auto rows = parts.engine->read_rows(scan);
  if (!rows)
    return unexpected{rows.error()};
  for (const auto& row : *rows) {
    auto decoded = wire::decode_row(row.value);
    const auto* subject = decoded ? std::get_if<ledger::subject_row>(&*decoded) : nullptr;
    if (subject && (seqs.empty() || seqs.back() != subject->seq))
      seqs.push_back(subject->seq);
  }
  return seqs;
}

constexpr std::size_t history_most = 1'000; ///< Records in one answer.

constexpr std::string_view subject_kinds[] = {
  "model",
  "implementation",
  "pool",
  "artifact",
  "runtime-profile",
  "suite",
  "policy",
  "project",
  "key",
  "host",
  "qualification",
  "route",
  "move",
  "waiver",
  "job"};

result<std::uint64_t, problem> seq_of(const app::parts& parts, const std::string& word) {
  std::uint64_t seq = 0;
  auto [end, why] = std::from_chars(word.data(), word.data() + word.size(), seq);
  if (why == std::errc{} && end == word.data() + word.size())
    return seq;
  auto id = parse_uuid(word);
  if (!id)
    return unexpected{problem{
      problem_kind::invalid,
      "'" + word + "' is neither a record's number nor its id",
      {},
      "assay ledger log lists numbers"}};
  return seq_of_record(parts, *id);
}

// -- verification ---------------------------------------------------------------------------------

/// Reads every batch with its records and hands them to the auditor: what an offline one would
/// find.
class verification {
public:
  explicit verification(const app::parts& parts) : parts_{parts}, auditor_{wire::read_record} {}

  result<void, problem> run(const ledger::tables& t) {
    if (!t.head.cluster)
      return {};
    if (note(auditor_.feed(ledger::export_header{
          .cluster = *t.head.cluster, .genesis = ledger::genesis(*t.head.cluster)})))
      return {};
    auto prefix = store::row_key(ledger::table::batches, {});
    store::row_scan scan{
      .prefix = prefix, .from = {}, .count = limits::batch_entries, .is_downwards = false};
    while (true) {
      auto rows = parts_.engine->read_rows(scan);
      if (!rows)
        return unexpected{rows.error()};
      for (const auto& row : *rows)
        if (auto done = check(row.value); !done || !found_.empty())
          return done;
      if (rows->empty())
        return {};
      scan.from = rows->back().key + '\0';
    }
  }

  /// What the batches add up to must be what the tables say: else the tail is missing. Records that
  /// came after the tables were read are no reason to complain.
  void compare_head(const ledger::head_row& expected) {
    const auto& head = auditor_.state().head;
    if (found_.empty() && head.seq < expected.seq)
      found_.push_back(
        "the records end at " + std::to_string(head.seq) + ", the tables are at "
        + std::to_string(expected.seq)
      );
    if (found_.empty() && head.seq == expected.seq && head.chain != expected.chain)
      found_.push_back("the chain ends otherwise than the tables say");
  }

  const std::vector<std::string>& found() const { return found_; }
  const ledger::auditor& auditor() const { return auditor_; }

private:
  bool note(const std::optional<ledger::finding>& finding) {
    if (finding)
      found_.push_back("record " + std::to_string(finding->seq) + ": " + finding->text);
    return finding.has_value();
  }

  result<void, problem> check(const std::string& bytes) {
    auto decoded = wire::decode_row(bytes);
    const auto* batch = decoded ? std::get_if<ledger::batch_row>(&*decoded) : nullptr;
    if (!batch) {
      found_.push_back("a batch's row cannot be read");
      return {};
    }
    ledger::export_batch frame{.batch = *batch, .canonical = {}};
    for (auto seq : batch->seqs) {
      if (seq == 0)
        continue;
      auto row =
        parts_.engine->read_row(store::row_key(ledger::table::records, ledger::record_key(seq)));
      if (!row)
        return unexpected{row.error()};
      auto record = *row ? wire::decode_row(**row)
                         : result<ledger::row, wire::malformed>{unexpected{wire::malformed{}}};
      const auto* stored = record ? std::get_if<ledger::record_row>(&*record) : nullptr;
      frame.canonical.push_back(stored ? stored->canonical : std::string{});
    }
    note(auditor_.feed(frame));
    return {};
  }

  const app::parts& parts_;
  ledger::auditor auditor_;
  std::vector<std::string> found_;
};

} // namespace

result<json::array, problem> history_of(const app::parts& parts, const history_query& what) {
  auto seqs = newest(parts, what);
  if (!seqs)
    return unexpected{seqs.error()};
  json::array lines;
  for (auto seq : *seqs) {
    auto record = record_at(parts, seq);
    if (!record)
      return unexpected{record.error()};
    if (*record)
      lines.push_back(line_of(**record));
  }
  return lines;
}

answer ledger_log(const call& c) {
  auto at = [&](const char* key) {
    return c.query.contains(key) ? c.query.at(key) : std::string{};
  };
  history_query query{.subject_kind = {}, .subject = at("subject")};
  if (auto limit = at("limit"); !limit.empty()) {
    auto [end, why] = std::from_chars(limit.data(), limit.data() + limit.size(), query.limit);
    auto is_number = why == std::errc{} && end == limit.data() + limit.size();
    if (!is_number || query.limit < 1 || query.limit > history_most)
      return unexpected{problem{
        problem_kind::invalid,
        "'" + limit + "' is not a number from 1 to " + std::to_string(history_most),
        "limit",
        {}}};
  }
  // The view that is published may be a moment behind what was just answered; a read closes it
  // first.
  auto read = read_for(c);
  if (!read)
    return unexpected{read.error()};
  json::array records;
  if (query.subject.empty()) {
    auto lines = history_of(c.parts, query);
    if (!lines)
      return unexpected{lines.error()};
    records = std::move(*lines);
  }
  for (auto kind : subject_kinds) {
    if (query.subject.empty() || !records.empty())
      break;
    query.subject_kind = kind;
    auto lines = history_of(c.parts, query);
    if (!lines)
      return unexpected{lines.error()};
    records = std::move(*lines);
  }
  if (records.empty() && !query.subject.empty())
    return unexpected{problem{
      problem_kind::not_found,
      "no record is about '" + query.subject + "'",
      "subject",
      "a subject is the name of a thing, as assay get KIND prints it"}};
  // Oldest first, as a log is read.
  std::ranges::reverse(records);
  auto document = std::move(read->label);
  document["records"] = std::move(records);
  return reply{std::move(document), {}, {}};
}

answer ledger_show(const call& c) {
  if (auto read = read_for(c); !read)
    return unexpected{read.error()};
  auto seq = seq_of(c.parts, c.path[1]);
  if (!seq)
    return unexpected{seq.error()};
  auto found = record_at(c.parts, *seq);
  if (!found)
    return unexpected{found.error()};
  if (!*found)
    return unexpected{problem{
      problem_kind::not_found,
      "there is no record '" + c.path[1] + "'",
      {},
      "assay ledger log lists them"}};
  const auto& [stamp, record] = **found;
  auto told = ledger::describe(record);
  json::object document{{"kind", told.kind}, {"summary", told.summary}};
  for (const auto& field : ledger::describe(stamp))
    document[field.name] = field.value;
  for (const auto& field : told.fields)
    document[field.name] = field.value;
  return reply{{{"record", std::move(document)}}, {}, {}};
}

answer ledger_verify(const call& c) {
  static std::mutex one_at_a_time; // Each holds what a whole replay makes.
  std::unique_lock hold{one_at_a_time, std::try_to_lock};
  if (!hold)
    return unexpected{problem{
      problem_kind::unavailable,
      "this member's ledger is being verified already",
      {},
      "ask again when that is done"}};
  auto read = read_for(c);
  if (!read)
    return unexpected{read.error()};
  verification check{c.parts};
  if (auto done = check.run(*read->tables); !done)
    return unexpected{done.error()};
  check.compare_head(read->tables->head);
  if (!check.found().empty())
    return unexpected{problem{
      problem_kind::refused,
      "the ledger does not hold: " + check.found().front(),
      (c.parts.data / "ledger").string(),
      "keep the directory as it is and restore from a backup"}};
  const auto& head = check.auditor().state().head;
  return reply{
    {{"records", head.seq},
     {"batches", check.auditor().batches()},
     {"head", json::object{{"seq", head.seq}, {"chain", assay::to_text(head.chain)}}},
     {"problems", json::array{}}},
    {},
    {}};
}

} // namespace assay::app::admin
