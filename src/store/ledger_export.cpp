#include "src/store/ledger_export.hpp"

#include "src/base/limits.hpp"
#include "src/wire/export_codec.hpp"
#include "src/wire/row_codec.hpp"

#include <utility>

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

} // namespace

result<ledger_export, problem>
ledger_export::begin(const ledger_engine& engine, const export_signer& signer) {
  ledger_export out{engine, engine.current()};
  const auto& head = tables_of(out.from_)->head;
  if (!head.cluster)
    return unexpected{problem{
      problem_kind::not_found,
      "the ledger is empty: no cluster was created yet",
      "ledger",
      "create one first"}};
  out.first_frame_ = wire::encode_frame(ledger::export_header{
    .cluster = *head.cluster, .genesis = ledger::genesis(*head.cluster)});
  auto signature = signer.key.sign(ledger::head_message(*head.cluster, head.seq, head.chain));
  out.last_frame_ = wire::encode_frame(ledger::export_head{
    head.seq, head.chain, signer.member, {signature.begin(), signature.end()}});
  out.scan_ = {
    .prefix = row_key(ledger::table::batches, {}), .from = {}, .count = limits::batch_entries};
  return out;
}

result<void, problem> ledger_export::fill_page() {
  auto page = engine_->read_rows(scan_);
  if (!page)
    return unexpected{page.error()};
  page_ = *std::move(page);
  at_ = 0;
  is_over_ = page_.empty();
  if (!is_over_)
    scan_.from = page_.back().key + '\0';
  return {};
}

/// Empty: the batch came after the view.
result<std::string, problem> ledger_export::batch_at(std::size_t at) {
  auto batch = row_of<ledger::batch_row>(page_[at].value);
  if (!batch)
    return unexpected{damaged_row("batch")};
  if (batch->raft_index > from_->index)
    return std::string{};
  auto whole = with_records(*engine_, *std::move(batch));
  if (!whole)
    return unexpected{whole.error()};
  return wire::encode_frame(*whole);
}

result<std::string, problem> ledger_export::next() {
  auto piece = std::exchange(first_frame_, {});
  while (!is_over_ && piece.size() < piece_bytes) {
    if (at_ == page_.size()) {
      if (auto filled = fill_page(); !filled)
        return unexpected{filled.error()};
      continue;
    }
    auto frame = batch_at(at_++);
    if (!frame)
      return unexpected{frame.error()};
    is_over_ = frame->empty();
    piece += *frame;
  }
  if (is_over_)
    piece += std::exchange(last_frame_, {});
  return piece;
}

} // namespace assay::store
