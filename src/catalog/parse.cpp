#include "src/catalog/parse.hpp"

#include "src/base/limits.hpp"
#include "src/catalog/complaints.hpp"
#include "src/catalog/kinds.hpp"
#include "src/catalog/yaml_tree.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace assay::catalog {

namespace {

void tell_duplicate(const declared& first, const declared& again, complaints& out) {
  const auto kind = std::string{kind_of(again.value)};
  const bool implementation =
    again.value.index() == first.value.index() && kind == "implementation";
  out.add(
    again.place,
    kind,
    "the " + kind + " " + in_quotes(name_of(again.value)) + " is declared twice, first at "
      + to_text(first.place),
    implementation ? "remove one, or give each its own `profile`" : "remove or rename one of both"
  );
}

void check_unique(const std::vector<declared>& items, complaints& out) {
  std::map<std::pair<std::string_view, std::string>, const declared*> seen;
  for (const auto& item : items) {
    auto name = name_of(item.value);
    // A name that could not be read was told already.
    if (name.empty())
      continue;
    const auto [first, fresh] =
      seen.emplace(std::pair{kind_of(item.value), std::move(name)}, &item);
    if (!fresh)
      tell_duplicate(*first->second, item, out);
  }
}

std::vector<problem> unserved_models(const std::vector<declared>& items) {
  std::set<std::string> served;
  for (const auto& item : items)
    if (const auto* i = std::get_if<implementation>(&item.value))
      served.insert(i->model.value);
  std::vector<problem> notes;
  for (const auto& item : items)
    if (const auto* m = std::get_if<model>(&item.value);
        m != nullptr && !served.contains(m->id.value))
      notes.push_back(
        {problem_kind::invalid,
         "the model " + in_quotes(m->id.value) + " has no implementation in these files",
         to_text(item.place) + ": model",
         "unless one is declared already, nothing can serve it: add `implementations:` with a pool "
         "and an artifact"}
      );
  return notes;
}

} // namespace

std::string to_text(const source_place& place) {
  return place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::vector<declaration> declarations_of(const catalog_set& set) {
  std::vector<declaration> values;
  for (const auto& item : set.items)
    values.push_back(item.value);
  return values;
}

result<catalog_set, std::vector<problem>> parse(std::span<const source_file> files) {
  complaints out;
  catalog_set set;
  for (const auto& file : files)
    for (const auto& document : read_yaml(file, out))
      for (auto& item : read_document(document, out))
        set.items.push_back(std::move(item));
  if (set.items.size() > limits::documents)
    out.add(
      set.items[limits::documents].place,
      {},
      std::to_string(set.items.size()) + " declarations are too many for one apply",
      "apply at most " + std::to_string(limits::documents) + " at a time"
    );
  check_unique(set.items, out);
  if (!out.empty())
    return unexpected{out.take()};
  set.notes = unserved_models(set.items);
  return set;
}

} // namespace assay::catalog
