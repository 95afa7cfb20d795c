#include "src/store/ledger_export.hpp"

#include "src/base/limits.hpp"
#include "src/wire/export_codec.hpp"
#include "src/wire/row_codec.hpp"

namespace assay::store {

namespace {

problem damaged_row(std::string_view what) {
  return {
    problem_kind::refused,
    "a stored " + std::string{what} + " is missing or cannot be read",
    "ledger/",
    "restore the data directory from a backup"};
}

template <class Row>
std::optional<Row> row_of(const std::string& bytes) {
  auto row = wire::decode_row(bytes);
  if (!row || !std::holds_alternative<Row>(*row))
    return {};
  return std::get<Row>(*std::move(row));
}

/// The batch with the bytes of the records that were taken.
result<ledger::export_batch, problem>
with_records(const ledger_engine& engine, ledger::batch_row batch) {
  ledger::export_batch out{std::move(batch), {}};
  for (auto seq : out.batch.seqs) {
    if (seq == 0)
      continue;
    auto bytes = engine.read_row(row_key(ledger::table::records, ledger::record_key(seq)));
    if (!bytes)
      return unexpected{bytes.error()};
    auto record = *bytes ? row_of<ledger::record_row>(**bytes) : std::nullopt;
    if (!record)
      return unexpected{damaged_row("record")};
    out.canonical.push_back(std::move(record->canonical));
  }
  return out;
}

class exporter {
public:
  exporter(const ledger_engine& engine, const std::function<bool(std::string_view)>& take)
    : engine_{engine}, take_{take} {}

  void frame(const ledger::export_frame& what) {
    is_wanted_ = is_wanted_ && take_(wire::encode_frame(what));
  }

  result<void, problem> batches(std::uint64_t last_index) {
    row_scan scan{.prefix = row_key(ledger::table::batches, {}), .count = limits::batch_entries};
    for (;;) {
      auto page = engine_.read_rows(scan);
      if (!page)
        return unexpected{page.error()};
      for (const auto& row : *page) {
        auto batch = row_of<ledger::batch_row>(row.value);
        if (!batch)
          return unexpected{damaged_row("batch")};
        if (batch->raft_index > last_index || !is_wanted_)
          return {};
        auto whole = with_records(engine_, *std::move(batch));
        if (!whole)
          return unexpected{whole.error()};
        frame(*whole);
      }
      if (page->empty())
        return {};
      scan.from = page->back().key + '\0';
    }
  }

private:
  const ledger_engine& engine_;
  const std::function<bool(std::string_view)>& take_;
  bool is_wanted_ = true;
};

} // namespace

result<void, problem> export_ledger(
  const ledger_engine& engine,
  const export_signer& signer,
  const std::function<bool(std::string_view)>& take
) {
  const auto from = engine.current();
  const auto& head = tables_of(from)->head;
  if (!head.cluster)
    return unexpected{problem{
      problem_kind::not_found,
      "the ledger is empty: no cluster was created yet",
      "ledger",
      "create one first"}};
  exporter out{engine, take};
  out.frame(ledger::export_header{
    .cluster = *head.cluster, .genesis = ledger::genesis(*head.cluster)});
  if (auto done = out.batches(from->index); !done)
    return done;
  auto signature = signer.key.sign(ledger::head_message(*head.cluster, head.seq, head.chain));
  out.frame(ledger::export_head{
    head.seq, head.chain, signer.member, {signature.begin(), signature.end()}});
  return {};
}

} // namespace assay::store
