#include "src/catalog/diff.hpp"

#include "src/base/overloaded.hpp"
#include "src/catalog/render.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace assay::catalog {

namespace {

using index = std::map<std::pair<std::string_view, std::string>, const declaration*>;

index index_of(std::span<const declaration> all) {
  index found;
  for (const auto& d : all)
    found.emplace(std::pair{kind_of(d), name_of(d)}, &d);
  return found;
}

/// In the order of the wanted fields; those that only the current side has come last.
std::vector<field_change>
compare(const std::vector<field>& current, const std::vector<field>& wanted) {
  std::map<std::string, std::string> before;
  for (const auto& f : current)
    before[f.name] = f.value;
  std::vector<field_change> changes;
  for (const auto& f : wanted) {
    const auto old = before.extract(f.name);
    if (old.empty())
      changes.push_back({f.name, {}, f.value});
    else if (old.mapped() != f.value)
      changes.push_back({f.name, old.mapped(), f.value});
  }
  for (auto& [name, value] : before)
    changes.push_back({name, std::move(value), {}});
  return changes;
}

change change_of(const declaration& wanted, const index& current) {
  change made{std::string{kind_of(wanted)}, name_of(wanted), change_kind::unchanged, {}};
  const auto at = current.find({kind_of(wanted), made.name});
  if (at == current.end()) {
    made.what = change_kind::added;
    made.fields = compare({}, fields_of(wanted));
  } else if (*at->second != wanted) {
    made.what = change_kind::changed;
    made.fields = compare(fields_of(*at->second), fields_of(wanted));
  }
  return made;
}

bool is_declared(const reference& r, const index& known) {
  if (known.contains({r.kind, r.name}))
    return true;
  return r.kind == "policy" && known.contains({"suite", r.name});
}

} // namespace

std::string_view name(change_kind k) {
  constexpr std::array names{"added", "changed", "unchanged"};
  return names[static_cast<std::size_t>(k)];
}

std::vector<change>
diff(std::span<const declaration> wanted, std::span<const declaration> current) {
  const auto known = index_of(current);
  std::vector<change> changes;
  for (const auto& d : wanted)
    changes.push_back(change_of(d, known));
  return changes;
}

std::vector<reference> references_of(const declaration& d) {
  std::vector<reference> found;
  const auto user = std::string{kind_of(d)} + " " + name_of(d);
  const auto add = [&](std::string_view kind, const std::string& name) {
    if (!name.empty())
      found.push_back({std::string{kind}, name, user});
  };
  std::visit(
    overloaded{
      [&](const model& m) { add("policy", m.evaluation_policy.value); },
      [&](const artifact& a) {
        add("model", a.model.value);
        add("runtime-profile", a.profile ? a.profile->value : std::string{});
      },
      [&](const implementation& i) {
        add("model", i.model.value);
        add("pool", i.pool.value);
        add("artifact", i.artifact.value);
        add("runtime-profile", i.profile ? i.profile->value : std::string{});
      },
      [&](const policy& p) { add("suite", p.suite.value); },
      [&](const key& k) { add("project", k.project.value); },
      [](const auto&) {},
    },
    d
  );
  return found;
}

std::vector<reference>
missing(std::span<const declaration> wanted, std::span<const declaration> current) {
  auto known = index_of(wanted);
  known.merge(index_of(current));
  std::vector<reference> absent;
  for (const auto& d : wanted)
    for (auto& r : references_of(d))
      if (!is_declared(r, known))
        absent.push_back(std::move(r));
  return absent;
}

} // namespace assay::catalog
