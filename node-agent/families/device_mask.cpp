#include "node-agent/families/device_mask.hpp"

#include "src/base/device_limits.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace assay::agent {

namespace {

using catalog::family;

constexpr auto cuda_order = "CUDA_DEVICE_ORDER";
constexpr auto by_bus = "PCI_BUS_ID";

/// Of a family, in the order in which its runtime applies them.
std::vector<std::string> mask_variables(family f) {
  switch (f) {
  case family::nvidia:
    return {"CUDA_VISIBLE_DEVICES"};
  case family::amd:
    return {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"};
  case family::neuron:
    return {"NEURON_RT_VISIBLE_CORES"};
  case family::tpu:
    return {"TPU_VISIBLE_CHIPS"};
  case family::cpu:
  case family::plugin:
    return {};
  }
  return {};
}

problem bad_mask(const std::string& variable, const std::string& value, const std::string& what) {
  return {
    problem_kind::invalid,
    variable + "=" + value + ": " + what,
    variable,
    "the mask is the scheduler's: correct it where the agent is started, or unset it to offer all"};
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto end = std::min(text.find(at, begin), text.size());
    auto part = text.substr(begin, end - begin);
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

std::optional<std::size_t> number_in(const std::string& text) {
  std::size_t number = 0;
  auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (bad != std::errc{} || end != text.data() + text.size())
    return {};
  return number;
}

/// Those that the library numbers: what is only on the bus has no place in its order.
std::vector<const probed_device*> numbered(const std::vector<probed_device>& all) {
  std::vector<const probed_device*> found;
  for (const auto& d : all)
    if (d.state != fabric::device_state::lost || d.id != d.pci)
      found.push_back(&d);
  return found;
}

/// CUDA counts the fastest first unless it is told otherwise; among equals that is the bus's order.
bool is_order_known(
  family f, const environment& inherited, const std::vector<const probed_device*>& counted
) {
  if (f != family::nvidia)
    return true;
  auto order = inherited.find(cuda_order);
  if (order != inherited.end() && order->second == by_bus)
    return true;
  return std::ranges::all_of(counted, [&](const auto* d) {
    return d->name == counted.front()->name;
  });
}

std::uint64_t number_of(const std::vector<const probed_device*>& counted, std::size_t place) {
  return counted[place]->number.value_or(place);
}

const probed_device*
find_by_number(const std::vector<const probed_device*>& counted, std::uint64_t number) {
  for (std::size_t place = 0; place < counted.size(); ++place)
    if (number_of(counted, place) == number)
      return counted[place];
  return nullptr;
}

/// `0-3` is what Neuron's mask writes for four cores; other families have no such entries.
std::vector<std::string> entries_of(family f, const std::string& value) {
  std::vector<std::string> all;
  for (auto& entry : split(value, ',')) {
    auto dash = entry.find('-');
    auto first = number_in(entry.substr(0, dash));
    auto last = dash == std::string::npos ? first : number_in(entry.substr(dash + 1));
    if (f != family::neuron || !first || !last || *last < *first || *last - *first >= limits::probe_list) {
      all.push_back(std::move(entry));
      continue;
    }
    for (auto n = *first; n <= *last; ++n)
      all.push_back(std::to_string(n));
  }
  return all;
}

/// One entry of a mask; a whole id or the beginning of just one.
const probed_device*
find_by_id(const std::vector<const probed_device*>& counted, const std::string& entry) {
  const probed_device* found = nullptr;
  for (const auto* d : counted) {
    if (d->id == entry)
      return d;
    if (!d->id.starts_with(entry))
      continue;
    if (found)
      return nullptr;
    found = d;
  }
  return found;
}

result<std::vector<std::string>, problem> apply_mask(
  family f,
  const environment& inherited,
  const std::string& variable,
  const std::string& value,
  const std::vector<const probed_device*>& counted
) {
  std::vector<std::string> left;
  for (const auto& entry : entries_of(f, value)) {
    auto at = number_in(entry);
    if (at && !is_order_known(f, inherited, counted))
      return unexpected{bad_mask(
        variable,
        value,
        "its numbers count the fastest device first, and the devices differ: name UUIDs, or set "
        "CUDA_DEVICE_ORDER=PCI_BUS_ID"
      )};
    const auto* found = at                 ? find_by_number(counted, *at)
                        : entry.size() < 4 ? nullptr
                                           : find_by_id(counted, entry);
    if (!found)
      return unexpected{bad_mask(
        variable,
        value,
        "'" + entry + "' names none of the " + std::to_string(counted.size()) + " devices"
      )};
    if (std::ranges::find(left, found->id) == left.end())
      left.push_back(found->id);
  }
  return left;
}

/// `0-3,5` for `range`.
std::string ranges_of(const std::set<std::uint64_t>& numbers) {
  std::string text;
  for (auto it = numbers.begin(); it != numbers.end();) {
    auto first = *it, last = first;
    for (++it; it != numbers.end() && *it == last + 1; ++it)
      last = *it;
    text += (text.empty() ? "" : ",") + std::to_string(first)
            + (last == first ? "" : "-" + std::to_string(last));
  }
  return text;
}

} // namespace

bool has_mask(family f, const environment& inherited) {
  return std::ranges::any_of(mask_variables(f), [&](const auto& variable) {
    return inherited.contains(variable);
  });
}

result<std::vector<std::string>, problem>
visible_devices(family f, const environment& inherited, const std::vector<probed_device>& all) {
  auto left = numbered(all);
  for (const auto& variable : mask_variables(f)) {
    auto mask = inherited.find(variable);
    if (mask == inherited.end())
      continue;
    const auto& value = mask->second;
    if (value.empty() || value == "-1" || value == "NoDevFiles" || value == "none")
      return unexpected{bad_mask(variable, value, "it leaves no device")};
    auto seen = apply_mask(f, inherited, variable, value, left);
    if (!seen)
      return unexpected{seen.error()};
    // A second mask counts in what the first one left.
    std::vector<const probed_device*> next;
    next.reserve(seen->size());
    for (const auto& id : *seen)
      next.push_back(*std::ranges::find(
        left, id, [](const auto* d) -> const auto& { return d->id; }
      ));
    left = std::move(next);
  }
  std::vector<std::string> ids;
  ids.reserve(left.size());
  for (const auto* d : left)
    ids.push_back(d->id);
  return ids;
}

result<device_binding_env, problem> bind_devices(
  family f,
  const catalog::runtime_profile& profile,
  const std::vector<std::string>& ids,
  const std::vector<probed_device>& all
) {
  auto how = profile.devices.find(f);
  if (how == profile.devices.end())
    return unexpected{problem{
      problem_kind::refused,
      "the profile '" + profile.id.value + "' does not say how " + std::string{catalog::name(f)}
        + " devices are named to the engine",
      "devices",
      "add `devices: {" + std::string{catalog::name(f)} + ": {env: ...}}` to it"}};
  const auto& plan = how->second;
  auto counted = numbered(all);
  device_binding_env made;
  std::set<std::uint64_t> numbers;
  for (const auto& id : ids) {
    auto at = std::ranges::find(
      counted, id, [](const auto* d) -> const auto& { return d->id; }
    );
    if (at == counted.end())
      return unexpected{problem{
        problem_kind::refused,
        "device " + id + " is not one that this host can give out now",
        "devices",
        "assay host show HOST lists its devices and what ails them"}};
    auto is_part = id.starts_with("MIG-");
    if (is_part && plan.identifier != "uuid")
      return unexpected{problem{
        problem_kind::refused,
        "a MIG instance has no number, and the profile '" + profile.id.value
          + "' names devices by `id: " + plan.identifier + "`",
        "devices",
        "write `id: uuid` if the engine takes UUIDs; else turn MIG off"}};
    auto number = number_of(counted, static_cast<std::size_t>(at - counted.begin()));
    numbers.insert(number);
    made.mask += (made.mask.empty() ? "" : plan.separator)
                 + (plan.identifier == "uuid" ? id : std::to_string(number));
  }
  if (plan.identifier == "range")
    made.mask = ranges_of(numbers);
  made.variables[plan.env] = made.mask;
  if (f == family::nvidia)
    made.variables[cuda_order] = by_bus;
  return made;
}

environment hide_devices(family f) {
  environment hidden;
  if (f == family::nvidia)
    hidden["CUDA_VISIBLE_DEVICES"] = "";
  if (f == family::amd)
    hidden["HIP_VISIBLE_DEVICES"] = "-1";
  return hidden;
}

} // namespace assay::agent
