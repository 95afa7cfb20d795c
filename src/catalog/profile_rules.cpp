#include "src/catalog/profile_rules.hpp"

#include "src/catalog/slots.hpp"

#include <algorithm>
#include <set>

namespace assay::catalog {

namespace {

class slot_checker {
public:
  slot_checker(const runtime_profile& p, mapping_reader& r) : r_{r} {
    for (const auto slot : system_slots())
      known_.insert(std::string{slot});
    for (const auto& port : p.ports)
      known_.insert(port.slot);
    if (!p.launch)
      return;
    for (const auto& arg : p.launch->args)
      if (!arg.slot.empty())
        known_.insert(arg.slot);
    for (const auto& [slot, variable] : p.launch->secret_env)
      secrets_.insert(slot);
  }

  void check(std::string_view key, std::string_view text) {
    const auto slots = slots_in(text);
    if (!slots)
      return r_.refuse(
        key, in_quotes(text) + " has a `${` without a slot", "write `${slot}`, like `${port}`"
      );
    for (const auto& slot : *slots)
      check_slot(key, slot);
  }

  void check(std::string_view key, const observation& o) {
    for (const auto& text : {o.path, o.body, o.equals.value_or("")})
      check(key, text);
  }

  bool is_secret(const std::string& slot) const { return secrets_.contains(slot); }

private:
  void check_slot(std::string_view key, const std::string& slot) {
    if (secrets_.contains(slot))
      return r_.refuse(
        key,
        "the secret slot " + in_quotes(slot) + " stands in a template",
        "secrets go by `launch.secret-env` only: words and paths are seen by every user"
      );
    if (known_.contains(slot))
      return;
    const std::vector<std::string_view> words{known_.begin(), known_.end()};
    auto what = "the slot " + in_quotes(slot) + " does not exist";
    if (const auto near = nearest(slot, words); !near.empty())
      what += "; did you mean `" + near + "`?";
    r_.refuse(key, std::move(what), "slots here: " + listed(words));
  }

  mapping_reader& r_;
  std::set<std::string> known_;
  std::set<std::string> secrets_;
};

void check_args(const launch_plan& launch, slot_checker& slots, mapping_reader& r) {
  std::set<std::string> seen;
  for (const auto& arg : launch.args) {
    for (const auto& word : arg.fixed)
      slots.check("launch", word);
    slots.check("launch", arg.fallback.value_or(""));
    if (arg.slot.empty())
      continue;
    if (slots.is_secret(arg.slot))
      r.refuse(
        "launch",
        "the secret " + in_quotes(arg.slot) + " would stand in argv",
        "every user of the host can read argv; keep it in `secret-env` only"
      );
    if (!seen.insert(arg.slot).second)
      r.refuse(
        "launch", "the slot " + in_quotes(arg.slot) + " has two arguments", "keep one of both"
      );
  }
}

void check_reachable(const launch_plan& launch, mapping_reader& r) {
  std::set<std::string> used;
  const auto use = [&](std::string_view text) {
    for (auto& slot : slots_in(text).value_or(std::vector<std::string>{}))
      used.insert(std::move(slot));
  };
  std::ranges::for_each(launch.argv, use);
  for (const auto& arg : launch.args) {
    used.insert(arg.slot);
    std::ranges::for_each(arg.fixed, use);
  }
  for (const auto& [variable, value] : launch.env)
    use(value);
  for (const auto slot : {"host", "port"})
    if (!used.contains(slot))
      r.refuse(
        "launch",
        "nothing uses the slot `" + std::string{slot} + "`",
        "engines listen on loopback, at a port that the agent chose: add an argument for it"
      );
}

void check_launch(const runtime_profile& p, slot_checker& slots, mapping_reader& r) {
  const auto& launch = *p.launch;
  for (const auto& word : launch.argv)
    slots.check("launch", word);
  for (const auto& [variable, value] : launch.env)
    slots.check("launch", value);
  check_args(launch, slots, r);
  check_reachable(launch, r);
  const bool keyed = launch.secret_env.contains("api_key");
  if (keyed != (p.api.auth == replica_auth::bearer))
    r.refuse(
      keyed ? "launch" : "api",
      keyed ? "the engine is given a key that nobody would send"
            : "`auth: bearer` has no key that the engine knows",
      "`auth: bearer` and a `secret-env` for `api_key` belong together"
    );
}

} // namespace

void check_profile(const runtime_profile& p, mapping_reader& r) {
  slot_checker slots{p, r};
  if (p.launch)
    check_launch(p, slots, r);
  const auto& phases = p.phases;
  for (const auto* list : {&phases.loading, &phases.saturated, &phases.stopping})
    for (const auto& o : *list)
      slots.check("phases", o);
  slots.check("phases", phases.ready);
  slots.check("phases", phases.deep);
  if (phases.live)
    slots.check("phases", *phases.live);
}

} // namespace assay::catalog
