#pragma once
// The state machine that the product runs: binds the engine's bytes to the ledger's records, tables
// and rows. It decides nothing; `ledger::apply` does.
//
// A batch that another coordinator sealed is applied only with the signature of the member that it
// names as its proposer. The chain needs no check here: each member makes it from what it applies.

#include "src/ledger/apply.hpp"
#include "src/ledger/schema.hpp"
#include "src/store/ledger_engine.hpp"
#include "src/store/signing_keys.hpp"

#include <atomic>
#include <map>
#include <mutex>

namespace assay::store {

/// The engine's key of a row: one byte for the table, then the row's own key. An empty key is the
/// prefix of the whole table.
std::string row_key(ledger::table table, std::string_view key);

/// The tables of a view that an engine with a `ledger_machine` published.
std::shared_ptr<const ledger::tables> tables_of(const view_ptr& published);

class ledger_machine : public state_machine {
public:
  /// `keys` sign the batches that this coordinator seals as `member_name`: the one that the ledger
  /// names for it, as of what was applied before the batch. A leader does not change its own, so
  /// none is sealed behind a change that it cannot know of yet.
  /// `knows` is the newest schema version that the program understands; tests give an older one.
  ledger_machine(
    std::shared_ptr<const signing_keys> keys,
    std::string member_name,
    std::uint16_t knows = ledger::known_schema()
  );
  /// With one key.
  ledger_machine(
    const ledger::signing_key::seed& seed,
    std::string member_name,
    std::uint16_t knows = ledger::known_schema()
  );

  /// A record that the cluster has not agreed to take, or that nobody here can read.
  std::optional<problem> refuse(std::string_view proposal) const override;
  bool is_essential(std::string_view proposal) const override;
  std::string
  seal(const std::vector<std::string>& proposals, wall_ms stamp, std::uint64_t term) override;
  std::vector<std::string> loaded_prefixes() const override;
  result<void, problem> load(std::string_view key, std::string_view value) override;
  applied apply(
    std::string_view batch, std::uint64_t index, std::uint64_t term, const row_lookup& known
  ) override;
  std::vector<row_change> skip(std::uint64_t index, std::uint64_t term) override;
  void clear() override;
  std::unique_ptr<state_audit> begin_audit() const override;
  standing stands() const override;
  std::shared_ptr<const void> share() override;

private:
  std::string take_over_head();
  std::string
  outgrown(const ledger::batch& sealed, std::uint64_t index, const row_lookup& known) const;
  uuid cluster_for(const ledger::batch& sealed);
  void learn_key(const std::string& named);
  bool has_key() const;
  void remember(const std::string& bytes, ledger::batch sealed);
  std::optional<ledger::batch> take_own(std::string_view bytes);
  std::string forged(const ledger::batch& sealed);

  const std::shared_ptr<const signing_keys> keys_;
  const std::string member_name_;
  const std::uint16_t knows_;
  ledger::tables tables_;
  std::atomic<std::uint16_t> agreed_ = 1;    ///< Schema version; the log writer asks.
  mutable std::atomic<bool> has_key_ = true; ///< The same; so each proposal costs no search.

  /// The log writer signs for the cluster, and with the key, that the applier learns of.
  mutable std::mutex mutex_;
  std::optional<uuid> cluster_;
  std::string named_key_; ///< The public half that the ledger names for us; empty: none yet.
  mutable std::shared_ptr<const ledger::signing_key>
    key_; ///< Of that name; null: it is none of ours.
  /// What this process sealed is neither read nor checked again.
  std::map<std::string, ledger::batch, std::less<>> own_;
};

} // namespace assay::store
