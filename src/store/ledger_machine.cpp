#include "src/store/ledger_machine.hpp"

#include "src/base/check.hpp"
#include "src/base/overloaded.hpp"
#include "src/ledger/essential.hpp"
#include "src/ledger/schema.hpp"
#include "src/store/environment.hpp"
#include "src/store/ledger_audit.hpp"
#include "src/wire/record_codec.hpp"
#include "src/wire/row_codec.hpp"

#include <algorithm>

namespace assay::store {

namespace {

/// Batches that are remembered: more than can be on their way. Those that never commit would pile
/// up; a forgotten one is read and checked like a stranger's.
constexpr std::size_t own_max = 32;

problem_kind kind_of(const ledger::refusal& r) {
  return r.code == "not_found" ? problem_kind::not_found : problem_kind::refused;
}

class stored_ids : public ledger::history {
public:
  explicit stored_ids(const row_lookup& rows) : rows_{rows} {}

  std::optional<ledger::record_id_row> find(const uuid& record_id) const override {
    auto key = ledger::key_of(ledger::record_id_row{.record_id = record_id});
    auto bytes = rows_.find(row_key(ledger::table::record_ids, key));
    if (!bytes)
      return {};
    auto row = wire::decode_row(*bytes);
    check(row && std::holds_alternative<ledger::record_id_row>(*row), "a record id's row decodes");
    return std::get<ledger::record_id_row>(*row);
  }

private:
  const row_lookup& rows_;
};

problem refused(std::string why) {
  return {
    problem_kind::refused,
    std::move(why) + "; nothing was applied",
    "the proposal",
    "see that every coordinator runs one version of Assay, then ask again"};
}

ledger::entry entry_of(const std::string& proposal) {
  auto entry = wire::decode_proposal(proposal);
  // What cannot be read keeps its place, and apply refuses it.
  return entry ? *std::move(entry) : ledger::entry{};
}

answer answer_of(const ledger::verdict& said) {
  return std::visit(
    overloaded{
      [](const ledger::receipt& r) -> answer {
        return receipt{r.seq, r.record, r.chain, r.stamped_at, r.repeated};
      },
      [](const ledger::refusal& r) -> answer {
        return unexpected{problem{kind_of(r), r.code + ": " + r.text, "", ""}};
      },
    },
    said
  );
}

std::vector<row_change> rows_of(std::vector<ledger::row_change> changes) {
  std::vector<row_change> out;
  out.reserve(changes.size());
  for (auto& c : changes) {
    auto value = c.row ? std::optional{wire::encode_row(*c.row)} : std::nullopt;
    out.push_back({row_key(c.table, c.key), std::move(value)});
  }
  return out;
}

} // namespace

std::string row_key(ledger::table table, std::string_view key) {
  std::string out(1, static_cast<char>(table));
  return out.append(key);
}

std::shared_ptr<const ledger::tables> tables_of(const view_ptr& published) {
  return std::static_pointer_cast<const ledger::tables>(published->tables);
}

ledger_machine::ledger_machine(
  std::shared_ptr<const signing_keys> keys, std::string member_name, std::uint16_t knows
)
  : keys_{std::move(keys)}, member_name_{std::move(member_name)}, knows_{knows}, key_{keys_->first(
                                                                                 )} {}

ledger_machine::ledger_machine(
  const ledger::signing_key::seed& seed, std::string member_name, std::uint16_t knows
)
  : ledger_machine{std::make_shared<const signing_keys>(seed), std::move(member_name), knows} {}

/// With `mutex_` held.
void ledger_machine::learn_key(const std::string& named) {
  if (named == named_key_)
    return;
  named_key_ = named;
  key_ = named.empty() ? keys_->first() : keys_->find(named);
  has_key_ = key_ != nullptr;
}

/// A key that was missing may have been put back since it was named.
bool ledger_machine::has_key() const {
  if (has_key_)
    return true;
  std::lock_guard hold{mutex_};
  key_ = keys_->find(named_key_);
  return has_key_ = key_ != nullptr;
}

std::optional<problem> ledger_machine::refuse(std::string_view proposal) const {
  auto head = wire::head_of_proposal(proposal);
  if (!head)
    return refused("malformed: " + head.error().text);
  if (!has_key()) // What it would seal stops everybody who applies it.
    return problem{
      problem_kind::unavailable,
      "the signing key of this coordinator is not the one that the ledger names for it; nothing "
      "was applied",
      "keys/",
      "hand leadership over (assay cluster transfer), then put its keys back from a backup of its "
      "directory"};
  if (head->schema_version == 0)
    return {};
  if (auto why = ledger::not_agreed(agreed_, head->schema_version))
    return refused(why->code + ": " + why->text);
  if (head->raises_to > knows_)
    return refused(
      "newer_schema: this program knows schema versions 1 to " + std::to_string(knows_)
      + " and cannot agree on " + std::to_string(head->raises_to)
    );
  if (!head->is_known_kind)
    return refused(
      "malformed: the record is of a kind that no program of schema version "
      + std::to_string(head->schema_version) + " knows"
    );
  return {};
}

/// What cannot be read is refused later, with its reason or for want of room.
bool ledger_machine::is_essential(std::string_view proposal) const {
  auto entry = wire::decode_proposal(proposal);
  const auto* record = entry ? std::get_if<ledger::record>(&entry->what) : nullptr;
  return record != nullptr && ledger::is_essential(record->payload);
}

std::string
ledger_machine::seal(const std::vector<std::string>& proposals, wall_ms stamp, std::uint64_t term) {
  ledger::batch batch;
  batch.term = term;
  batch.stamped_at = stamp;
  batch.proposer = member_name_;
  for (const auto& proposal : proposals)
    batch.entries.push_back(entry_of(proposal));
  auto hashes = ledger::record_hashes(batch);
  if (!hashes.empty()) {
    auto key = [&] {
      std::lock_guard hold{mutex_};
      return key_;
    }();
    check(key != nullptr, "what is sealed was not refused");
    batch.signature = key->sign(ledger::batch_message(cluster_for(batch), term, stamp, hashes));
  }
  auto bytes = wire::encode(batch);
  remember(bytes, std::move(batch));
  return bytes;
}

void ledger_machine::remember(const std::string& bytes, ledger::batch sealed) {
  std::lock_guard hold{mutex_};
  if (own_.size() >= own_max)
    own_.clear();
  own_.insert_or_assign(bytes, std::move(sealed));
}

std::optional<ledger::batch> ledger_machine::take_own(std::string_view bytes) {
  std::lock_guard hold{mutex_};
  auto at = own_.find(bytes);
  if (at == own_.end())
    return {};
  auto sealed = std::move(at->second);
  own_.erase(at);
  return sealed;
}

/// Why no member sealed this. Before the first membership nobody's key is known; the auditor checks
/// those batches once it is.
std::string ledger_machine::forged(const ledger::batch& sealed) {
  const auto hashes = ledger::record_hashes(sealed);
  const auto& head = tables_.head;
  if (hashes.empty() || head.members.empty())
    return {};
  auto who = std::ranges::find(head.members, sealed.proposer, &ledger::member::name);
  if (who == head.members.end())
    return "its proposer \"" + sealed.proposer + "\" is no member";
  auto key = ledger::parse_public_key(who->signing_public);
  auto message = ledger::batch_message(*head.cluster, sealed.term, sealed.stamped_at, hashes);
  if (!key || !ledger::verify(*key, message, sealed.signature))
    return "its signature is not that of \"" + sealed.proposer + "\"";
  return {};
}

/// The first batch creates the cluster that it is signed for.
uuid ledger_machine::cluster_for(const ledger::batch& sealed) {
  std::lock_guard hold{mutex_};
  if (cluster_)
    return *cluster_;
  for (const auto& entry : sealed.entries) {
    const auto* record = std::get_if<ledger::record>(&entry.what);
    if (record == nullptr)
      continue;
    if (const auto* made = std::get_if<ledger::cluster_created>(&record->payload))
      return made->cluster;
  }
  return {};
}

std::vector<std::string> ledger_machine::loaded_prefixes() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < ledger::table_count; ++i)
    if (auto table = static_cast<ledger::table>(i); ledger::is_in_memory(table))
      out.push_back(row_key(table, {}));
  return out;
}

result<void, problem> ledger_machine::load(std::string_view key, std::string_view value) {
  auto row = wire::decode_row(value);
  if (!row)
    return unexpected{problem{
      problem_kind::refused,
      "a row of table " + std::string{name(static_cast<ledger::table>(key.front()))}
        + " cannot be read: " + row.error().text,
      "ledger/",
      damage_advice}};
  tables_.load(*row);
  auto old = std::holds_alternative<ledger::head_row>(*row) ? take_over_head() : std::string{};
  if (!old.empty())
    return unexpected{problem{
      problem_kind::refused, std::move(old), "ledger/", "nothing was changed on this disk"}};
  return {};
}

/// For those who ask from the log writer's thread. Says why this program must not go on, if it must
/// not.
std::string ledger_machine::take_over_head() {
  const auto& head = tables_.head;
  agreed_ = ledger::agreed_schema(head);
  const std::string nobody;
  auto me = std::ranges::find(head.members, member_name_, &ledger::member::name);
  std::lock_guard hold{mutex_};
  cluster_ = head.cluster;
  learn_key(me == head.members.end() ? nobody : me->signing_public);
  return ledger::too_old(head, knows_);
}

/// Why this program cannot go on behind the batch: the cluster agrees on a schema that it does not
/// know. Tried on a copy, because a record that says so may yet be refused.
std::string ledger_machine::outgrown(
  const ledger::batch& sealed, std::uint64_t index, const row_lookup& known
) const {
  auto raises = [&](const ledger::entry& e) {
    auto* r = std::get_if<ledger::record>(&e.what);
    auto* to = r ? std::get_if<ledger::cluster_version>(&r->payload) : nullptr;
    return to && to->version > knows_;
  };
  if (std::ranges::none_of(sealed.entries, raises))
    return {};
  auto trial = tables_;
  ledger::apply(trial, sealed, index, stored_ids{known});
  return ledger::too_old(trial.head, knows_);
}

applied ledger_machine::apply(
  std::string_view bytes, std::uint64_t index, std::uint64_t, const row_lookup& known
) {
  auto batch = take_own(bytes);
  if (!batch) {
    auto read = wire::decode_batch(bytes);
    if (!read) // Nobody seals what does not decode.
      return {.forged = "its bytes are no batch: " + read.error().text};
    if (auto why = forged(*read); !why.empty())
      return {.forged = std::move(why)};
    batch = *std::move(read);
  }
  if (auto old = outgrown(*batch, index, known); !old.empty())
    return {.too_new = std::move(old)};
  auto outcome = ledger::apply(tables_, *batch, index, stored_ids{known});
  (void)take_over_head();
  applied out;
  for (const auto& said : outcome.verdicts)
    out.answers.push_back(answer_of(said));
  out.rows = rows_of(std::move(outcome.rows));
  return out;
}

std::vector<row_change> ledger_machine::skip(std::uint64_t index, std::uint64_t term) {
  return rows_of(ledger::apply_nothing(tables_, index, term).rows);
}

void ledger_machine::clear() {
  tables_ = {};
  std::lock_guard hold{mutex_};
  cluster_.reset();
  learn_key({});
}

std::unique_ptr<state_audit> ledger_machine::begin_audit() const {
  return std::make_unique<ledger_audit>(knows_);
}

standing ledger_machine::stands() const {
  return {tables_.head.seq, tables_.head.stamped_at};
}

std::shared_ptr<const void> ledger_machine::share() {
  return std::make_shared<const ledger::tables>(tables_);
}

} // namespace assay::store
