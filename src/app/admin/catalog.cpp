// Declarations: apply, and taking one away.

#include "src/app/admin/admin.hpp"
#include "src/app/founding.hpp"
#include "src/app/standalone.hpp"
#include "src/base/limits.hpp"
#include "src/catalog/diff.hpp"
#include "src/catalog/parse.hpp"
#include "src/catalog/profile.hpp"
#include "src/ledger/apply.hpp"
#include "src/ledger/describe.hpp"
#include "src/ledger/status.hpp"
#include "src/qualification/suite.hpp"
#include "src/wire/record_codec.hpp"

#include <algorithm>

namespace assay::app::admin {

namespace {

using declarations = std::vector<catalog::declaration>;

result<std::vector<catalog::source_file>, problem> files_of(const json::object& body) {
  const auto* files = body.if_contains("files");
  if (!files || !files->is_array() || files->get_array().empty())
    return unexpected{
      problem{problem_kind::invalid, "names no file", "files", "give [{name, text}]"}};
  std::vector<catalog::source_file> all;
  for (const auto& file : files->get_array()) {
    if (!file.is_object())
      return unexpected{
        problem{problem_kind::invalid, "is not an object", "files", "give [{name, text}]"}};
    auto name = text_at(file.get_object(), "name");
    auto text = text_at(file.get_object(), "text", false);
    if (!name || !text)
      return unexpected{!name ? name.error() : text.error()};
    all.push_back({*name, *text});
  }
  return all;
}

/// One problem that holds them all, as `assay apply` prints them.
problem join(const std::vector<problem>& all) {
  problem whole{
    problem_kind::invalid,
    std::to_string(all.size()) + (all.size() == 1 ? " thing is" : " things are")
      + " wrong; nothing was changed",
    {},
    {}};
  for (const auto& one : all)
    whole.what += "\n  " + assay::to_text(one);
  return whole;
}

/// Adds what is wrong with a document's text. Lines are counted in the document.
template <class Parsed>
void add_problems(std::vector<problem>& to, const Parsed& parsed) {
  if (!parsed)
    to.insert(to.end(), parsed.error().begin(), parsed.error().end());
}

/// Texts of suites and profiles are the ledger's by digest; whether they can be run is asked here,
/// before they are on record.
std::vector<problem> bad_texts(const catalog::catalog_set& set) {
  std::vector<problem> all;
  for (const auto& item : set.items) {
    if (const auto* suite = std::get_if<catalog::suite_document>(&item.value))
      add_problems(all, qualification::parse_suite(item.place.file, suite->text));
    if (const auto* profile = std::get_if<catalog::profile_document>(&item.value))
      add_problems(all, catalog::parse_profile(item.place.file, profile->text));
  }
  return all;
}

declarations current_of(const ledger::tables& t) {
  declarations all;
  for (const auto& row : ledger::all_declarations(t))
    all.push_back(row.what);
  return all;
}

/// Declarations that others refer to come first, so that each record stands on the ones before it.
std::size_t rank(const catalog::declaration& d) {
  constexpr std::string_view order[] = {
    "project",
    "pool",
    "runtime-profile",
    "suite",
    "policy",
    "model",
    "artifact",
    "implementation",
    "key"};
  return static_cast<std::size_t>(
    std::ranges::find(order, catalog::kind_of(d)) - std::begin(order)
  );
}

/// What an apply puts on record, in order.
struct intent {
  std::vector<ledger::record> records;
  std::vector<std::pair<std::string, std::string>> new_keys; ///< Name and secret.
};

intent intend(
  const call& c,
  declarations wanted,
  const std::vector<catalog::change>& changes,
  const ledger::tables& t
) {
  std::vector<catalog::declaration> changed;
  std::vector<key_id> lacking; // Keys without a secret: new ones, and those whose apply was cut.
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto is_changed = changes[i].what != catalog::change_kind::unchanged;
    if (const auto* key = std::get_if<catalog::key>(&wanted[i])) {
      const auto* row = ledger::find(t.keys, key->name);
      // A revoked key comes back only when somebody declares it anew.
      if (!row || (row->revoked && changes[i].what == catalog::change_kind::added))
        lacking.push_back(key->name);
    }
    if (is_changed)
      changed.push_back(std::move(wanted[i]));
  }
  std::ranges::stable_sort(changed, {}, rank);
  intent made;
  auto add = [&](ledger::payload what) {
    made.records.push_back(
      ledger::make_record(std::move(what), c.author, {"apply", "declared by a file"})
    );
  };
  for (auto& one : changed)
    add(ledger::declared{std::move(one)});
  for (const auto& name : lacking) {
    made.new_keys.emplace_back(name.value, new_key_secret());
    add(ledger::key_issued{.key = name, .secret = sha256(made.new_keys.back().second)});
  }
  return made;
}

class no_history : public ledger::history {
public:
  std::optional<ledger::record_id_row> find(const uuid&) const override { return {}; }
};

/// Tries all records on a copy of the tables: an apply is refused whole or taken whole.
std::vector<problem> rehearse(ledger::tables& copy, const std::vector<ledger::record>& records) {
  const auto& t = copy;
  ledger::batch batch{
    .term = t.head.applied_term, .stamped_at = wall_now(), .proposer = "rehearsal", .entries = {}};
  batch.stamped_at = std::max(batch.stamped_at, t.head.stamped_at);
  for (const auto& record : records)
    batch.entries.push_back(wire::make_entry(record));
  std::vector<problem> refused;
  for (const auto& record : records)
    if (auto bytes = wire::encode_proposal(record).size(); bytes > limits::proposal_bytes)
      refused.push_back(
        {problem_kind::invalid,
         ledger::describe(record).summary + ": it makes a record of " + std::to_string(bytes)
           + " bytes, and a record has at most " + std::to_string(limits::proposal_bytes),
         std::string{ledger::kind_name(record.payload)},
         "declare it in smaller parts"}
      );
  if (!refused.empty())
    return refused;
  auto outcome = ledger::apply(copy, batch, t.head.applied_index + 1, no_history{});
  for (std::size_t i = 0; i < records.size(); ++i)
    if (const auto* why = std::get_if<ledger::refusal>(&outcome.verdicts[i]))
      refused.push_back(
        {problem_kind::refused, why->text, std::string{ledger::kind_name(records[i].payload)}, {}}
      );
  return refused;
}

json::array to_json(const std::vector<catalog::change>& changes) {
  json::array all;
  for (const auto& change : changes) {
    json::array fields;
    for (const auto& field : change.fields)
      fields.push_back(json::object{
        {"name", field.field}, {"old", field.before}, {"new", field.after}});
    all.push_back(json::object{
      {"kind", change.kind},
      {"name", change.name},
      {"action", catalog::name(change.what)},
      {"fields", std::move(fields)}});
  }
  return all;
}

json::array missing_json(const ledger::tables& t, const declarations& wanted) {
  json::array all;
  for (const auto& one : wanted) {
    json::array what;
    for (const auto& missing : ledger::missing_for(t, one, wall_now()))
      what.emplace_back(missing.next.empty() ? missing.what : missing.what + "; " + missing.next);
    auto kind = ledger::name(static_cast<ledger::declaration_kind>(one.index()));
    if (!what.empty())
      all.push_back(json::object{
        {"kind", kind}, {"name", catalog::name_of(one)}, {"what", std::move(what)}});
  }
  return all;
}

/// All at once, so that they share one commit; a refusal here means that somebody changed something
/// meanwhile.
result<void, problem> put_all(const call& c, const std::vector<ledger::record>& records) {
  for (const auto& done : propose_all(*c.parts.engine, records))
    if (!done) {
      auto why = done.error();
      why.next = "apply again: what is on record already is left alone; " + why.next;
      return unexpected{why};
    }
  return {};
}

} // namespace

answer apply(const call& c) {
  auto files = files_of(c.body);
  if (!files)
    return unexpected{files.error()};
  auto dry = flag_at(c.body, "dry_run");
  if (!dry)
    return unexpected{dry.error()};
  const auto is_dry = *dry;
  auto parsed = catalog::parse(*files);
  if (!parsed)
    return unexpected{join(parsed.error())};
  if (auto wrong = bad_texts(*parsed); !wrong.empty())
    return unexpected{join(wrong)};
  auto read = read_now(*c.parts.engine);
  if (!read)
    return unexpected{read.error()};
  auto wanted = catalog::declarations_of(*parsed);
  auto changes = catalog::diff(wanted, current_of(*read->tables));
  auto made = intend(c, wanted, changes, *read->tables);
  auto rehearsed = *read->tables;
  if (auto refused = rehearse(rehearsed, made.records); !refused.empty())
    return unexpected{join(refused)};
  // A standalone keeps its try-out key in a file of its own, for `assay env`; first, so that no
  // crash loses it.
  for (const auto& [name, secret] : made.new_keys)
    if (!is_dry && c.parts.settings.standalone && name == tryout_key_name)
      if (auto written = write_env(c.parts.data, c.parts.base_url, secret); !written)
        return unexpected{written.error()};
  if (!is_dry)
    if (auto done = put_all(c, made.records); !done)
      return unexpected{done.error()};
  auto after = is_dry ? std::move(read) : read_now(*c.parts.engine);
  if (!after)
    return unexpected{after.error()};
  json::array keys;
  if (!is_dry)
    for (const auto& [name, secret] : made.new_keys)
      keys.push_back(json::object{{"name", name}, {"secret", secret}});
  json::object document{
    {"changes", to_json(changes)},
    {"missing", missing_json(is_dry ? rehearsed : *after->tables, wanted)},
    {"keys", std::move(keys)},
    {"seq", after->seq},
    {"freshness", "linearizable"}};
  return reply{std::move(document), {}, {}};
}

answer remove(const call& c) {
  auto word = c.path[0];
  // The API's kinds are plural; declarations are named in the singular.
  auto singular = word == "policies" ? "policy" : word.substr(0, word.size() - word.ends_with('s'));
  auto kind = ledger::parse_declaration_kind(singular);
  if (!kind) {
    auto is_revoked = singular == "host" || singular == "qualification" || singular == "waiver";
    return unexpected{problem{
      problem_kind::invalid,
      "'" + word + "' are not declarations",
      {},
      is_revoked ? "assay revoke " + singular + " '" + c.path[1] + "' --reason TEXT"
                 : "what was declared by assay apply can be deleted"}};
  }
  auto reason = c.query.contains("reason") ? c.query.at("reason") : std::string{};
  return put(c, ledger::retired{*kind, c.path[1]}, reason);
}

} // namespace assay::app::admin
