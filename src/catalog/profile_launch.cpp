// How an engine is started: its words, its variables, its devices and its ports.

#include "src/base/limits.hpp"
#include "src/catalog/keys.hpp"
#include "src/catalog/profile_parts.hpp"
#include "src/catalog/profile_words.hpp"
#include "src/catalog/slots.hpp"

#include <algorithm>

namespace assay::catalog::parts {

namespace {

void read_slot_arg(mapping_reader& r, launch_arg& into) {
  std::string slot;
  r.name("slot", slot);
  into.slot = canonical_slot(slot);
  if (r.text("flag", into.flag) && !into.flag.starts_with('-'))
    r.refuse("flag", in_quotes(into.flag) + " is no flag", "begin it with `-`");
  r.choice("form", into.form, words::arg_forms());
  read_optional_text(r, "default", into.fallback);
  r.flag("required", into.required);
  const bool needs_flag = into.form != arg_form::separate && into.form != arg_form::list;
  if (needs_flag && into.flag.empty())
    r.refuse("form", "this form needs a flag", "add `flag`, or use the form `separate` or `list`");
  if (into.required && into.fallback)
    r.refuse("required", "a slot with a default is never missing", "remove one of both");
}

launch_arg read_arg(mapping_reader& r) {
  launch_arg read;
  if (r.has("slot") == r.has("fixed")) {
    r.refuse("slot", "an argument is either a slot or fixed words", "write one of `slot`, `fixed`");
    return read;
  }
  if (r.has("slot")) {
    read_slot_arg(r, read);
    return read;
  }
  r.texts("fixed", read.fixed);
  for (const auto key : {"flag", "form", "default", "required"})
    if (r.has(key))
      r.refuse(key, "fixed words take no other key", "remove it");
  return read;
}

bool is_variable(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.size() <= limits::name_bytes && !(text[0] >= '0' && text[0] <= '9')
         && std::ranges::all_of(text, fits);
}

void check_variable(mapping_reader& r, std::string_view key, std::string_view variable) {
  if (!is_variable(variable))
    r.refuse(
      key,
      in_quotes(variable) + " is no environment variable",
      "use letters, digits and `_`, not a digit first"
    );
}

void read_secrets(mapping_reader& r, launch_plan& into) {
  std::map<std::string, std::string> read;
  r.table("secret-env", read);
  for (const auto& [slot, variable] : read) {
    check_variable(r, "secret-env", variable);
    if (!is_name(slot))
      r.refuse("secret-env", in_quotes(slot) + " is no slot", "write a name, like `api_key`");
    into.secret_env[canonical_slot(slot)] = variable;
  }
}

} // namespace

void read_launch(mapping_reader& parent, std::optional<launch_plan>& into) {
  auto r = parent.mapping("launch", keys::profile_launch);
  if (!r)
    return;
  launch_plan read;
  if (r->require("argv", "write the program and its first words, like `[llama-server]`"))
    r->texts("argv", read.argv);
  if (r->has("argv") && (read.argv.empty() || read.argv.front().empty()))
    r->refuse("argv", "the list names no program", "write the program first");
  for (auto& arg : r->mappings("args", keys::profile_arg))
    read.args.push_back(read_arg(arg));
  r->table("env", read.env);
  for (const auto& [variable, value] : read.env)
    check_variable(*r, "env", variable);
  read_secrets(*r, read);
  r->texts("refuse-operator-flags", read.refuse_operator_flags);
  for (const auto& flag : read.refuse_operator_flags)
    if (!flag.starts_with('-'))
      r->refuse("refuse-operator-flags", in_quotes(flag) + " is no flag", "begin it with `-`");
  into = std::move(read);
}

void read_devices(mapping_reader& parent, std::map<family, device_binding>& into) {
  const auto* n = parent.find("devices");
  if (n == nullptr)
    return;
  if (n->kind != node_kind::mapping)
    return parent.refuse(
      "devices",
      std::string{kind_word(*n)} + " stands where a mapping belongs",
      "write a family and its mapping, like `nvidia: {env: CUDA_VISIBLE_DEVICES}`"
    );
  for (const auto& entry : n->entries) {
    const auto path = parent.path_of("devices") + "." + entry.key.substr(0, limits::name_bytes);
    const auto family = parse_family(entry.key);
    auto r = parent.mapping_of(entry.value, path, keys::profile_device);
    if (!family)
      parent.refuse_word(
        {parent.file(), entry.line, entry.column}, path, entry.key, words::families()
      );
    if (!family || !r)
      continue;
    device_binding read;
    if (r->require("env", "write the variable that names the devices"))
      r->text("env", read.env);
    check_variable(*r, "env", read.env);
    std::string_view identifier = "index";
    r->choice("id", identifier, words::device_ids());
    read.identifier = identifier;
    r->text("separator", read.separator);
    r->texts("unset", read.unset);
    if (!into.emplace(*family, std::move(read)).second)
      parent.refuse_at(entry.value, path, "the family is given twice", "keep one of both");
  }
}

void read_ports(mapping_reader& parent, std::vector<port_plan>& into) {
  for (auto& r : parent.mappings("ports", keys::profile_port)) {
    port_plan read;
    if (r.require("name", "name the port, like `http`"))
      r.name("name", read.name);
    read.slot = read.name == "http" ? "port" : canonical_slot(read.name) + "_port";
    std::string slot;
    if (r.name("slot", slot))
      read.slot = canonical_slot(slot);
    into.push_back(std::move(read));
  }
  if (into.empty())
    into.push_back({"http", "port"});
  const auto is_http = [](const port_plan& p) { return p.name == "http" && p.slot == "port"; };
  if (std::ranges::count_if(into, is_http) != 1)
    parent.refuse(
      "ports", "there is not exactly one port `http`", "the engine is reached at the port `http`"
    );
}

} // namespace assay::catalog::parts
