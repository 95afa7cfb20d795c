#pragma once
// What must never happen, and the first time that it did.
//
// It sees everything at once: who leads in which term, what was committed where, what each ledger
// looked like at each index, and what was promised to whom.

#include "tests/simulation/chance.hpp"
#include "tests/simulation/disk.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::simulation {

class oracle {
public:
  /// The first failure; empty while there is none.
  const std::string& failure() const { return failure_; }
  void fail(std::string what);

  /// Election safety: one leader in a term.
  void leads(std::uint64_t id, std::uint64_t term);
  /// State machine safety: one entry at an index, wherever it is applied.
  void committed(
    std::uint64_t id, std::uint64_t index, std::uint64_t term, const consensus::entry* what
  );
  /// One state at an index.
  void applied(std::uint64_t id, std::uint64_t index, std::uint64_t root);
  /// The ledger's time goes on whoever leads, whatever that one's clock shows.
  void stamped(std::uint64_t id, std::int64_t before, std::int64_t after);
  /// What a member believes to be committed only grows while it lives.
  void commit_index(std::uint64_t id, std::uint64_t run, std::uint64_t index);

  /// Each question is taken at one place, however often it was asked.
  void acknowledged(std::uint64_t question, std::uint64_t seq);
  std::uint64_t acknowledged_seq() const { return acknowledged_seq_; }
  const std::map<std::uint64_t, std::uint64_t>& acknowledgements() const { return places_; }
  /// A read sees everything that was acknowledged before it was asked.
  void read(std::uint64_t must_see, std::uint64_t saw);

  /// Log matching: where two logs agree on one entry's term they agree on all before.
  void logs_match(const log_environment& a, const log_environment& b);

  std::uint64_t committed_index() const;
  std::uint64_t reads() const { return reads_; }
  std::uint64_t terms() const { return leaders_.size(); }
  /// Everything of importance that happened, in order.
  fold trace;

private:
  struct place {
    std::uint64_t term = 0;
    std::uint64_t fingerprint = 0;
  };

  std::string failure_;
  std::map<std::uint64_t, std::uint64_t> leaders_;
  std::vector<place> committed_;
  std::vector<std::uint64_t> roots_; ///< By index; 0: not seen.
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> commits_; ///< Run and index.
  std::map<std::uint64_t, std::uint64_t> places_;
  std::uint64_t acknowledged_seq_ = 0;
  std::uint64_t reads_ = 0;
};

} // namespace assay::simulation
