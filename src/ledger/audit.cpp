#include "src/ledger/audit.hpp"

#include "src/ledger/schema.hpp"

#include <algorithm>
#include <utility>

namespace assay::ledger {

namespace {

std::optional<signature> signature_of(const std::string& bytes) {
  signature s;
  if (bytes.size() != s.size())
    return {};
  std::ranges::copy(bytes, reinterpret_cast<char*>(s.data()));
  return s;
}

const member* find_member(const tables& t, const std::string& name) {
  auto at = std::ranges::find(t.head.members, name, &member::name);
  return at == t.head.members.end() ? nullptr : &*at;
}

bool verifies(const member& m, const digest& message, const std::string& bytes) {
  auto key = parse_public_key(m.signing_public);
  auto s = signature_of(bytes);
  return key && s && verify(*key, message, *s);
}

/// The auditor's words for a batch whose lists do not fit each other.
std::string bad_shape(const export_batch& b) {
  if (b.batch.records.size() != b.batch.seqs.size())
    return "the batch names " + std::to_string(b.batch.records.size()) + " records but "
           + std::to_string(b.batch.seqs.size()) + " seqs";
  auto taken = static_cast<std::size_t>(std::ranges::count_if(b.batch.seqs, [](std::uint64_t seq) {
    return seq != 0;
  }));
  if (taken != b.canonical.size())
    return "the batch took " + std::to_string(taken) + " records but holds "
           + std::to_string(b.canonical.size());
  return {};
}

} // namespace

std::optional<record_id_row> auditor::remembered::find(const uuid& record_id) const {
  auto at = ids_.find(record_id);
  if (at == ids_.end())
    return {};
  return record_id_row{.record_id = record_id, .record = at->second.record, .seq = at->second.seq};
}

void auditor::remembered::add(const record_id_row& row) {
  ids_.insert_or_assign(row.record_id, known{row.record, row.seq});
}

std::size_t auditor::remembered::hash_of::operator()(const uuid& id) const {
  return std::hash<std::string_view>{}(
    {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()}
  );
}

std::optional<finding> auditor::feed(const export_frame& frame) {
  if (ended_)
    return wrong("something follows the signed head");
  if (auto* h = std::get_if<export_header>(&frame))
    return header(*h);
  if (!header_)
    return wrong("the export does not begin with a header");
  if (auto* b = std::get_if<export_batch>(&frame))
    return batch(*b);
  return head(std::get<export_head>(frame));
}

std::optional<finding> auditor::finish() const {
  if (!founding_.empty())
    return wrong("no membership names who signed the first records");
  if (ended_)
    return {};
  return wrong("the export was cut: it has no signed head");
}

std::optional<finding> auditor::header(const export_header& h) {
  if (header_)
    return wrong("the export has a second header");
  if (h.format != export_format)
    return wrong("format " + std::to_string(h.format) + " is not known to this version");
  if (h.genesis != genesis(h.cluster))
    return wrong("the genesis hash is not the cluster's");
  header_ = h;
  return {};
}

std::optional<finding> auditor::check_signature(const batch_row& b) const {
  auto* m = find_member(tables_, b.proposer);
  if (!m)
    return wrong("the batch's proposer \"" + b.proposer + "\" is not a member");
  auto message = batch_message(header_->cluster, b.term, b.stamped_at, b.records);
  if (!verifies(*m, message, b.signature))
    return wrong("the batch's signature is not that of \"" + b.proposer + "\"");
  return {};
}

std::optional<finding> auditor::batch(const export_batch& b) {
  if (auto why = bad_shape(b); !why.empty())
    return wrong(why);
  if (b.batch.raft_index <= tables_.head.applied_index)
    return wrong("the batches are out of order");
  // The founding batches are signed by a member that the last of them names.
  bool is_founded = !tables_.head.members.empty();
  if (is_founded)
    if (auto why = check_signature(b.batch))
      return why;
  if (auto why = reapply(b))
    return why;
  ++batches_;
  if (tables_.head.cluster != header_->cluster)
    return wrong("the records belong to another cluster than the header names");
  if (!is_founded)
    if (auto why = check_founding(b.batch))
      return why;
  if (auto old = too_old(tables_.head, known_schema()); !old.empty())
    return finding{tables_.head.seq, old, founding_.empty()}; // Before, no signature was checked.
  return {};
}

std::optional<finding> auditor::check_founding(const batch_row& b) {
  founding_.push_back(b);
  if (tables_.head.members.empty())
    return {};
  for (const auto& unchecked : std::exchange(founding_, {}))
    if (auto why = check_signature(unchecked))
      return why;
  return {};
}

std::optional<finding> auditor::reapply(const export_batch& b) {
  ledger::batch again{b.batch.term, b.batch.stamped_at, b.batch.proposer, {}, {}};
  std::vector<std::uint64_t> seqs;
  for (std::size_t i = 0; i < b.batch.records.size(); ++i) {
    if (b.batch.seqs[i] == 0)
      continue;
    const auto& canonical = b.canonical[seqs.size()];
    auto expected = tables_.head.seq + 1 + seqs.size();
    seqs.push_back(b.batch.seqs[i]);
    if (seqs.back() != expected)
      return finding{expected, "seq " + std::to_string(seqs.back()) + " follows a gap"};
    if (record_hash(canonical) != b.batch.records[i])
      return finding{expected, "the record is not the one that was hashed"};
    auto r = read_(canonical);
    if (!r)
      return finding{expected, "the record cannot be read: " + r.error()};
    again.entries.push_back({*std::move(r), canonical, b.batch.records[i], true});
  }
  return compare(again, b.batch.raft_index);
}

std::optional<finding> auditor::compare(const ledger::batch& again, std::uint64_t raft_index) {
  auto first = tables_.head.seq + 1;
  auto outcome = apply(tables_, again, raft_index, known_);
  for (std::size_t i = 0; i < outcome.verdicts.size(); ++i) {
    auto seq = first + i;
    if (auto* no = std::get_if<refusal>(&outcome.verdicts[i]))
      return finding{seq, "the record breaks a rule: " + no->text};
    if (std::get<receipt>(outcome.verdicts[i]).repeated)
      return finding{seq, "the record repeats an earlier one"};
  }
  for (const auto& change : outcome.rows)
    if (change.row)
      if (auto* id = std::get_if<record_id_row>(&*change.row))
        known_.add(*id);
  if (applied_)
    applied_(outcome);
  return {};
}

std::optional<finding> auditor::head(const export_head& h) {
  ended_ = true;
  for (const auto& broken : broken_invariants(tables_))
    return wrong(broken);
  if (h.seq != tables_.head.seq || h.chain != tables_.head.chain)
    return wrong(
      "the head is signed for seq " + std::to_string(h.seq) + "; the records end at seq "
      + std::to_string(tables_.head.seq) + (h.seq == tables_.head.seq ? " with another chain" : "")
    );
  auto* m = find_member(tables_, h.signer);
  if (!m || !verifies(*m, head_message(header_->cluster, h.seq, h.chain), h.signature))
    return wrong("the head's signature is not that of member \"" + h.signer + "\"");
  return {};
}

} // namespace assay::ledger
