// From a profile and the values of its slots to the command line, or the reason there is none.

#include "src/base/limits.hpp"
#include "src/catalog/complaints.hpp"
#include "src/catalog/profile.hpp"
#include "src/catalog/slots.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>

namespace assay::catalog {

namespace {

using values = std::map<std::string, std::string>;

problem refusal(const runtime_profile& p, std::string what, std::string next) {
  return {problem_kind::refused, std::move(what), "runtime profile " + p.id.value, std::move(next)};
}

values canonical(const values& given) {
  values all;
  for (const auto& [slot, value] : given)
    all[canonical_slot(slot)] = value;
  return all;
}

/// Slots that only the agent fills.
std::set<std::string> agent_slots(const runtime_profile& p) {
  std::set<std::string> slots;
  for (const auto slot : system_slots())
    slots.insert(std::string{slot});
  for (const auto& port : p.ports)
    slots.insert(port.slot);
  for (const auto& [slot, variable] : p.launch->secret_env)
    slots.insert(slot);
  return slots;
}

const launch_arg* find_slot(const launch_plan& launch, std::string_view slot) {
  const auto at = std::ranges::find(launch.args, slot, &launch_arg::slot);
  return at == launch.args.end() ? nullptr : &*at;
}

// -- the operator's arguments -----------------------------------------------------------------

std::optional<problem> check_slot_arg(const runtime_profile& p, const std::string& slot) {
  std::vector<std::string_view> own;
  const auto reserved = agent_slots(p);
  if (reserved.contains(slot))
    return refusal(
      p,
      "the arg " + in_quotes(slot) + " is filled by the agent",
      "remove it from `args`; sizes stand in `slots` and `limits`"
    );
  for (const auto& arg : p.launch->args)
    if (!arg.slot.empty() && !reserved.contains(arg.slot))
      own.push_back(arg.slot);
  if (std::ranges::find(own, slot) != own.end())
    return {};
  auto what = "the arg " + in_quotes(slot) + " is no slot of this profile";
  if (const auto near = nearest(slot, own); !near.empty())
    what += "; did you mean `" + near + "`?";
  return refusal(
    p, std::move(what), "slots: " + listed(own) + "; or write the engine's own flag, like `--flag`"
  );
}

std::optional<problem> check_flag_arg(const runtime_profile& p, const std::string& flag) {
  const auto& launch = *p.launch;
  if (flag.find('=') != flag.npos)
    return refusal(
      p, "the arg " + in_quotes(flag) + " has a value in its name", "write `--flag: value`"
    );
  if (std::ranges::find(launch.refuse_operator_flags, flag) != launch.refuse_operator_flags.end())
    return refusal(
      p,
      "the flag " + in_quotes(flag) + " is refused",
      "remove it from `args`: the agent or the router depends on what the profile sets"
    );
  for (const auto& arg : launch.args) {
    const bool fixed = std::ranges::find(arg.fixed, flag) != arg.fixed.end();
    if (arg.flag != flag && !fixed)
      continue;
    const auto next = fixed ? std::string{"remove it from `args`"} : "write `" + arg.slot + ":`";
    return refusal(p, "the flag " + in_quotes(flag) + " is set by the profile", next);
  }
  return {};
}

std::optional<problem> check_args(const runtime_profile& p, const values& args) {
  for (const auto& [arg, value] : args) {
    const auto wrong =
      arg.starts_with('-') ? check_flag_arg(p, arg) : check_slot_arg(p, canonical_slot(arg));
    if (wrong)
      return wrong;
  }
  return {};
}

// -- words ------------------------------------------------------------------------------------

std::vector<std::string> split_list(std::string_view value) {
  std::vector<std::string> items;
  while (!value.empty()) {
    const auto item = value.substr(0, value.find(','));
    if (!item.empty())
      items.emplace_back(item);
    value.remove_prefix(std::min(value.size(), item.size() + 1));
  }
  return items;
}

void append(std::vector<std::string>& argv, std::string flag, std::string value) {
  if (!flag.empty())
    argv.push_back(std::move(flag));
  argv.push_back(std::move(value));
}

void append_arg(std::vector<std::string>& argv, const launch_arg& arg, const std::string& value) {
  switch (arg.form) {
  case arg_form::separate:
    append(argv, arg.flag, value);
    return;
  case arg_form::equals:
    argv.push_back(arg.flag + "=" + value);
    return;
  case arg_form::list:
    if (!arg.flag.empty())
      argv.push_back(arg.flag);
    std::ranges::move(split_list(value), std::back_inserter(argv));
    return;
  case arg_form::repeat:
    for (auto& item : split_list(value))
      append(argv, arg.flag, std::move(item));
    return;
  case arg_form::toggle:
    if (value == "true")
      argv.push_back(arg.flag);
    return;
  }
}

/// Fills templates; the first slot without a value is kept as the reason for failure.
class filler {
public:
  filler(const runtime_profile& p, values known) : p_{p}, known_{std::move(known)} {}

  std::string operator()(const std::string& text) {
    auto filled = replace_slots(text, [&](const std::string& slot) { return value_of(slot); });
    if (filled)
      return std::move(*filled);
    if (!failure_)
      failure_ = refusal(
        p_,
        "the slot `" + filled.error() + "` has no value",
        "give it in the implementation's `args`, or a default in the profile"
      );
    return {};
  }

  std::optional<std::string> value_of(const std::string& slot) {
    if (const auto at = known_.find(slot); at != known_.end())
      return at->second;
    const auto* arg = find_slot(*p_.launch, slot);
    // A default may name other slots, but never leads round: one level is enough.
    if (arg == nullptr || !arg->fallback)
      return {};
    const auto filled = replace_slots(*arg->fallback, [&](const std::string& inner) {
      const auto at = known_.find(inner);
      return at == known_.end() ? std::nullopt : std::optional{at->second};
    });
    return filled ? std::optional{*filled} : std::nullopt;
  }

  const std::optional<problem>& failure() const { return failure_; }

private:
  const runtime_profile& p_;
  values known_;
  std::optional<problem> failure_;
};

std::optional<problem> append_slot(
  const runtime_profile& p, const launch_arg& arg, filler& fill, std::vector<std::string>& argv
) {
  const auto value = fill.value_of(arg.slot);
  if (value) {
    append_arg(argv, arg, *value);
    return {};
  }
  if (!arg.required && !arg.fallback)
    return {};
  return refusal(
    p,
    "the slot `" + arg.slot + "` needs a value and has none",
    "add `" + arg.slot + ": VALUE` to the implementation's `args`"
  );
}

std::optional<problem> check_total(const runtime_profile& p, const std::vector<std::string>& argv) {
  std::size_t bytes = 0;
  for (const auto& word : argv) {
    bytes += word.size() + 1;
    if (word.find('\0') != word.npos)
      return refusal(p, "an argument has a zero byte in it", "remove it");
  }
  if (bytes <= limits::command_bytes)
    return {};
  return refusal(
    p,
    "the command line has " + std::to_string(bytes) + " bytes",
    "at most " + std::to_string(limits::command_bytes) + " are allowed; shorten `args`"
  );
}

} // namespace

result<command, problem> compose_command(const runtime_profile& p, const slot_values& slots) {
  if (!p.launch)
    return unexpected{refusal(
      p,
      "this profile starts nothing",
      "register a running server with `assay-agent adopt`, or name a profile with `launch`"
    )};
  if (auto wrong = check_args(p, slots.args))
    return unexpected{std::move(*wrong)};
  auto known = canonical(slots.system);
  for (const auto& [arg, value] : slots.args)
    if (!arg.starts_with('-'))
      known[canonical_slot(arg)] = value;
  filler fill{p, std::move(known)};
  command made;
  std::ranges::transform(p.launch->argv, std::back_inserter(made.argv), std::ref(fill));
  for (const auto& arg : p.launch->args) {
    std::ranges::transform(arg.fixed, std::back_inserter(made.argv), std::ref(fill));
    if (arg.slot.empty())
      continue;
    if (auto wrong = append_slot(p, arg, fill, made.argv))
      return unexpected{std::move(*wrong)};
  }
  for (const auto& [flag, value] : slots.args)
    if (flag.starts_with('-'))
      append_arg(
        made.argv,
        {.flag = flag, .form = value == "true" ? arg_form::toggle : arg_form::separate},
        value
      );
  for (const auto& [variable, text] : p.launch->env)
    made.env[variable] = fill(text);
  for (const auto& [slot, variable] : p.launch->secret_env)
    made.secret_env[variable] = slot;
  if (fill.failure())
    return unexpected{*fill.failure()};
  if (auto wrong = check_total(p, made.argv))
    return unexpected{std::move(*wrong)};
  return made;
}

} // namespace assay::catalog
