#pragma once
// How the tables change: one batch at a time, by pure functions of (tables, batch).
//
// Apply reads no clock, no file and no chance; the time is the leader's stamp. Everything that a
// record may not do is refused here, with the reason, whatever its proposer believed. A refused
// record changes nothing and gets no seq; its hash stays in the batch's row, so that the batch's
// signature can still be checked.

#include "src/ledger/chain.hpp"
#include "src/ledger/tables.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace assay::ledger {

/// One proposal, decoded. `canonical` is what was proposed, byte for byte.
struct entry {
  std::variant<std::monostate, record, state_entry> what; ///< Nothing: it could not be decoded.
  std::string canonical;
  digest hash;            ///< record_hash(canonical); unused for state entries.
  bool is_record = false; ///< Also when it could not be decoded.
};

/// The content of one Raft entry, made by the leader's log writer.
struct batch {
  std::uint64_t term = 0;
  wall_ms stamped_at;
  std::string proposer; ///< The leader's member name.
  std::vector<entry> entries;
  ledger::signature signature{}; ///< Over batch_message of the record hashes in order.
};

/// The hashes that the batch's signature covers: of its records, in order.
std::vector<digest> record_hashes(const batch& b);

struct receipt {
  std::uint64_t seq = 0; ///< 0 for a state entry.
  digest record;
  digest chain;
  wall_ms stamped_at;
  bool repeated = false; ///< The id was known: this is the receipt of the first time.

  friend bool operator==(const receipt&, const receipt&) = default;
};

/// Why a proposal changed nothing. `code` is one word for programs; `text` names the rule, what was
/// seen and what is allowed.
struct refusal {
  std::string code;
  std::string text;

  friend bool operator==(const refusal&, const refusal&) = default;
};

using verdict = std::variant<receipt, refusal>;

/// What to write: the row, or its removal.
struct row_change {
  ledger::table table = table::head;
  std::string key;
  std::optional<ledger::row> row;
};

struct batch_outcome {
  std::vector<verdict> verdicts; ///< One per entry, in order.
  std::vector<row_change> rows;  ///< In order; a later change of a key replaces an earlier one.
};

/// What the disk knows and the tables do not hold: the ids of all records ever taken. The store
/// answers from the transaction that the rows of this batch go into.
class history {
public:
  virtual ~history() = default;
  virtual std::optional<record_id_row> find(const uuid& record_id) const = 0;
};

/// Applies the batch that Raft committed at `raft_index`. Write all rows in one transaction.
/// Indexes at or below `head.applied_index` are our own mistake and stop the process.
batch_outcome apply(tables& t, const batch& b, std::uint64_t raft_index, const history& known);

/// For Raft entries that carry no batch (barriers, configuration): only the applied index moves.
batch_outcome apply_nothing(tables& t, std::uint64_t raft_index, std::uint64_t term);

/// Would the record be taken now? Asks the tables without changing them: for dry runs, and for
/// proposers that want the refusal before they propose. `now` stands in for the leader's stamp.
std::optional<refusal> refuses(const tables& t, const record& r, wall_ms now);

/// What must hold after every record, checked in tests and by the auditor: empty when it does.
std::vector<std::string> broken_invariants(const tables& t);

} // namespace assay::ledger
