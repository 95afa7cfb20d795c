#pragma once
// A ledger in memory whose batches are signed and whose rows are bytes, and its exports.

#include "src/wire/export_codec.hpp"
#include "src/wire/row_codec.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::ledger::test {

/// The state environment: rows by table and key.
using disk = std::map<std::pair<table, std::string>, std::string>;

/// I18: what is not held in memory is history, and only grows.
inline void expect_added(const disk& to, const row_change& change) {
  if (is_in_memory(change.table))
    return;
  REQUIRE(change.row);
  auto before = to.find({change.table, change.key});
  // A record may name a subject that it is about anyway.
  if (before != to.end())
    REQUIRE(before->second == wire::encode_row(*change.row));
}

inline void write(disk& to, const batch_outcome& outcome) {
  for (const auto& change : outcome.rows) {
    expect_added(to, change);
    std::pair key{change.table, change.key};
    if (change.row)
      to.insert_or_assign(key, wire::encode_row(*change.row));
    else
      to.erase(key);
  }
}

/// A ledger with a signer, that keeps every batch as bytes.
struct signed_world {
  std::shared_ptr<signing_key> key = std::make_shared<signing_key>(signing_key::seed{7});
  uuid cluster;
  world w;
  disk rows;
  std::vector<std::string> log;

  explicit signed_world(uuid id = make_uuid7(9, {})) : cluster{id} {
    commit(
      {w.next_record(cluster_created{cluster, "test"}),
       w.next_record(membership{{{1, "one", "127.0.0.1:1", to_text(key->public_part()), true}}})}
    );
  }

  void commit(const std::vector<record>& records) {
    batch b;
    b.term = 1;
    b.stamped_at = w.now;
    b.proposer = "one";
    for (const auto& r : records)
      b.entries.push_back(wire::make_entry(r));
    b.signature = key->sign(batch_message(cluster, b.term, b.stamped_at, record_hashes(b)));
    log.push_back(wire::encode(b));
    w.last = apply(w.t, b, ++w.index, w.known);
    w.known.learn(w.last);
    write(rows, w.last);
  }

  void commit(payload p) { commit(std::vector{w.next_record(std::move(p))}); }

  /// What `assay ledger export` writes.
  std::string exported() const {
    auto text = wire::encode_frame(export_header{export_format, cluster, genesis(cluster)});
    for (const auto& [at, bytes] : rows)
      if (at.first == table::batches)
        text += wire::encode_frame(frame(std::get<batch_row>(*wire::decode_row(bytes))));
    auto s = key->sign(head_message(cluster, w.t.head.seq, w.t.head.chain));
    return text
           + wire::encode_frame(export_head{
             w.t.head.seq, w.t.head.chain, "one", std::string{s.begin(), s.end()}});
  }

  export_batch frame(const batch_row& b) const {
    export_batch out{b, {}};
    for (auto seq : b.seqs)
      if (seq != 0) {
        auto row = *wire::decode_row(rows.at({table::records, record_key(seq)}));
        out.canonical.push_back(std::get<record_row>(row).canonical);
      }
    return out;
  }
};

} // namespace assay::ledger::test
