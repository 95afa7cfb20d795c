#pragma once
// The ledger as a history that can be asked: one record, the records about one thing, and what the
// tables say now. Behind it is a store's disk, or what an auditor applied again from a file; who
// asks cannot tell which.
//
// A record is found by its subjects. Those that every record of a thing has are in the way where
// only one kind is looked for, so apply adds the narrower ones of `indexes`. A ledger that was
// begun before there were any has no mark; then the wide subject is searched, which takes as long
// as the thing's history is, and gives the same.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/ledger/audit.hpp"
#include "src/ledger/tables.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::ledger {

/// Kinds of subjects that apply adds, for one implementation or route each.
namespace indexes {
inline constexpr std::string_view mark = "index"; ///< On record 1: the others are complete.
inline constexpr std::string_view route_change = "route_change";
inline constexpr std::string_view qualification_of = "qualification_of";
inline constexpr std::string_view waiver_of = "waiver_of";
} // namespace indexes

/// A record as it stands in the ledger.
struct kept_record {
  ledger::stamp stamp;
  ledger::record record;

  friend bool operator==(const kept_record&, const kept_record&) = default;
};

enum class direction : std::uint8_t { older, newer };

class chronicle {
public:
  virtual ~chronicle() = default;

  /// The tables; nothing newer than their head is told.
  virtual const tables& now() const = 0;

  /// `not_found` when there is no record of that number.
  virtual result<kept_record, problem> record_at(std::uint64_t seq) const = 0;
  virtual result<wall_ms, problem> stamped_at(std::uint64_t seq) const = 0;

  /// Numbers of records about a subject, from `from` on, itself included; at most `count`.
  virtual result<std::vector<std::uint64_t>, problem>
  about(const digest& subject, std::uint64_t from, direction where, std::size_t count) const = 0;
};

/// The newest record stamped at `at` or before, 0 when there is none. Stamps never go back, so
/// twenty looks find it among a million.
result<std::uint64_t, problem> last_record_at(const chronicle& c, wall_ms at);

/// Is the narrow subject to be searched, or the wide one?
result<bool, problem> has_indexes(const chronicle& c);

/// Reads a subject's records one by one, from a number on.
class record_walk {
public:
  record_walk(const chronicle& c, const digest& subject, std::uint64_t from, direction where)
    : chronicle_{c}, subject_{subject}, next_{from}, where_{where} {}

  /// Nothing: there are no more.
  result<std::optional<kept_record>, problem> step();

private:
  result<void, problem> fill();

  const chronicle& chronicle_;
  digest subject_;
  std::uint64_t next_;
  direction where_;
  std::size_t count_ = 1; ///< Most walks end at their first record; later ones take a page.
  std::vector<std::uint64_t> seqs_;
  std::size_t at_ = 0;
  bool is_over_ = false;
};

/// The first record of the walk that says a T.
template <class T>
result<std::optional<kept_record>, problem> first_of(record_walk records) {
  for (;;) {
    auto one = records.step();
    if (!one || !*one || std::holds_alternative<T>((*one)->record.payload))
      return one;
  }
}

// -- from a file ------------------------------------------------------------------------------

/// What an auditor's replay leaves. It keeps the records about routes, moves, qualifications,
/// waivers, service and what hosts may be used for, and of the others when they were stamped.
class replayed_chronicle : public chronicle {
public:
  explicit replayed_chronicle(record_reader read) : auditor_{read, taker()}, read_{read} {}
  replayed_chronicle(const replayed_chronicle&) = delete;
  replayed_chronicle& operator=(const replayed_chronicle&) = delete;

  /// Feed every frame; nothing may be asked before `finish` found nothing.
  ledger::auditor& auditor() { return auditor_; }

  const tables& now() const override { return auditor_.state(); }
  result<kept_record, problem> record_at(std::uint64_t seq) const override;
  result<wall_ms, problem> stamped_at(std::uint64_t seq) const override;
  result<std::vector<std::uint64_t>, problem> about(
    const digest& subject, std::uint64_t from, direction where, std::size_t count
  ) const override;

private:
  auditor::applied_sink taker();
  void take(const batch_outcome& outcome);

  ledger::auditor auditor_;
  record_reader read_;
  std::vector<wall_ms> stamps_; ///< Of record n at n - 1.
  std::map<std::uint64_t, record_row> kept_;
  std::map<digest, std::vector<std::uint64_t>> subjects_; ///< Numbers that grow.
};

} // namespace assay::ledger
