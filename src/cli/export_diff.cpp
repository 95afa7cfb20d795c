#include "src/cli/export_diff.hpp"

#include "src/cli/export_source.hpp"
#include "src/ledger/describe.hpp"
#include "src/wire/record_codec.hpp"

namespace assay::cli {

namespace {

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

void add_line(side& to, const ledger::record_row& row) {
  auto record = wire::read_record(row.canonical);
  if (!record || to.beyond.size() >= side::beyond_most)
    return;
  auto told = ledger::describe(*record);
  to.beyond.push_back(
    {row.stamp.seq, row.stamp.stamped_at, told.kind, told.summary, record->author.who}
  );
}

template <class Take>
result<uuid, problem> each_record(const std::string& file, Take take) {
  slow_progress progress;
  ledger::auditor auditor{wire::read_record, [&](const ledger::batch_outcome& outcome) {
                            for (const auto& change : outcome.rows)
                              if (change.row)
                                if (auto* r = std::get_if<ledger::record_row>(&*change.row))
                                  take(*r);
                          }};
  auto read = audit_file(file, auditor, [&](std::uint64_t done, std::uint64_t total) {
    progress.show(done, total, file);
  });
  progress.clear();
  if (!read)
    return unexpected{read.error()};
  return auditor.began()->cluster;
}

} // namespace

/// Reads A, then B beside it, and A once more only for what B lacks.
result<comparison, problem> compare_exports(const std::string& a, const std::string& b) {
  comparison c{{a, {}, {}, {}}, {b, {}, {}, {}}, 0};
  auto first = each_record(a, [&](const auto& row) { c.a.chains.push_back(row.stamp.chain); });
  if (!first)
    return unexpected{first.error()};
  auto second = each_record(b, [&](const auto& row) {
    auto at = c.b.chains.size();
    c.b.chains.push_back(row.stamp.chain);
    if (c.common == at && at < c.a.chains.size() && c.a.chains[at] == row.stamp.chain)
      ++c.common;
    else
      add_line(c.b, row);
  });
  if (!second)
    return unexpected{second.error()};
  c.a.cluster = *first;
  c.b.cluster = *second;
  if (c.common == c.a.chains.size() || !c.is_of_one_cluster())
    return c;
  auto again = each_record(a, [&](const auto& row) {
    if (row.stamp.seq > c.common)
      add_line(c.a, row);
  });
  if (!again)
    return unexpected{again.error()};
  return c;
}

/// Why the two cannot both be copies of one ledger, when they cannot.
std::optional<problem> contradiction(const comparison& c) {
  if (!c.is_of_one_cluster())
    return problem{
      problem_kind::refused,
      "they are ledgers of two clusters: " + assay::to_text(c.a.cluster) + " and "
        + assay::to_text(c.b.cluster),
      c.b.file,
      "compare exports of one cluster"};
  if (!c.parts())
    return {};
  return problem{
    problem_kind::refused,
    "they part at record " + number(c.common + 1) + ": " + number(c.common)
      + " records are common, and both are signed",
    c.b.file,
    "a ledger has one history: ask each coordinator for an export, and keep all of them"};
}

} // namespace assay::cli
