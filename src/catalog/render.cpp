#include "src/catalog/render.hpp"

#include "src/base/overloaded.hpp"
#include "src/catalog/json_path.hpp"
#include "src/catalog/units.hpp"
#include "src/catalog/yaml_tree.hpp"

#include <algorithm>
#include <array>

namespace assay::catalog {

namespace {

// -- values to a tree -------------------------------------------------------------------------

/// A number, a truth value or a word of a closed list.
node plain(std::string text) {
  node n;
  n.kind = node_kind::scalar;
  n.text = std::move(text);
  return n;
}

/// What a person wrote: text, even when it looks like a number.
node free_text(std::string text) {
  auto n = plain(std::move(text));
  n.quoted = true;
  return n;
}

node plain(bool value) {
  return plain(std::string{value ? "true" : "false"});
}

node plain(std::uint64_t value) {
  return plain(std::to_string(value));
}

node words(const std::vector<std::string>& texts) {
  node n;
  n.kind = node_kind::sequence;
  for (const auto& text : texts)
    n.items.push_back(free_text(text));
  return n;
}

/// A mapping in the making. `unless_empty` keeps keys away that would say nothing.
class tree {
public:
  tree() { root_.kind = node_kind::mapping; }

  tree& with(std::string_view key, node value) {
    root_.entries.push_back({std::string{key}, 0, 0, std::move(value)});
    return *this;
  }

  tree& unless_empty(std::string_view key, const std::string& text) {
    return text.empty() ? *this : with(key, free_text(text));
  }

  tree& unless_empty(std::string_view key, const std::vector<std::string>& texts) {
    return texts.empty() ? *this : with(key, words(texts));
  }

  tree& unless_empty(std::string_view key, node part) {
    const bool nothing = part.items.empty() && part.entries.empty();
    return nothing ? *this : with(key, std::move(part));
  }

  tree& unless_zero(std::string_view key, std::uint64_t value) {
    return value == 0 ? *this : with(key, plain(value));
  }

  node done() { return std::move(root_); }

private:
  node root_;
};

node table(const std::map<std::string, std::string>& texts) {
  tree made;
  for (const auto& [key, value] : texts)
    made.with(key, free_text(value));
  return made.done();
}

node limits_tree(const contract::request_limits& l) {
  tree made;
  made.unless_zero("context-tokens", l.context_tokens)
    .unless_zero("input-tokens", l.input_tokens)
    .unless_zero("output-tokens", l.output_tokens);
  if (l.body_bytes != 0)
    made.with("body", plain(bytes_text(l.body_bytes)));
  return made.done();
}

node objectives_tree(const std::vector<contract::objective>& objectives) {
  node list;
  list.kind = node_kind::sequence;
  for (const auto& o : objectives) {
    tree made;
    made.with("metric", plain(o.metric == "inter_token" ? "inter-token" : o.metric));
    if (o.metric != "availability")
      made.with("limit", plain(duration_text(o.limit)));
    made.with("share", plain(share_text(o.share_ppm)));
    made.with("window", plain(duration_text(o.window)));
    list.items.push_back(made.done());
  }
  return list;
}

node contract_tree(const contract::service_contract& c) {
  tree safety;
  safety.unless_empty("policy", c.safety_policy).unless_empty("requires", c.safety_requires);
  tree made;
  made.with("task", plain(std::string{name(c.task)}))
    .with("streaming", plain(c.streaming))
    .with("cancellation", plain(c.cancellation))
    .unless_empty("features", c.features)
    .unless_empty("limits", limits_tree(c.limits))
    .with("data-class", free_text(c.data_class))
    .unless_empty("objectives", objectives_tree(c.objectives))
    .with("degraded", plain(std::string{name(c.degraded)}))
    .with("queue-keepalive", plain(c.queue_keepalive))
    .with("metadata", plain(c.expose_metadata))
    .unless_empty("safety", safety.done());
  return made.done();
}

node tree_of(const pool& p) {
  tree made;
  made.with("pool", free_text(p.name.value))
    .with("family", plain(std::string{name(p.family)}))
    .with("compatibility", plain(p.compatibility))
    .with("plaintext", plain(std::string{p.plaintext_accepted ? "accepted" : "refused"}))
    .unless_empty("data-classes", p.data_classes)
    .unless_empty("labels", table(p.labels));
  return made.done();
}

node tree_of(const model& m) {
  tree made;
  made.with("model", free_text(m.name))
    .with("version", plain(std::uint64_t{m.version}))
    .with("contract", contract_tree(m.promises))
    .unless_empty("evaluation-policy", m.evaluation_policy.value)
    .unless_empty("owner", m.owner);
  return made.done();
}

node tree_of(const artifact& a) {
  node files;
  files.kind = node_kind::sequence;
  for (const auto& file : a.files) {
    tree made;
    made.with("path", free_text(file.path)).with("sha256", plain(to_text(file.sha256)));
    if (file.bytes != 0)
      made.with("size", plain(bytes_text(file.bytes)));
    files.items.push_back(made.done());
  }
  tree made;
  made.with("artifact", free_text(a.id.value.substr(a.id.value.rfind('/') + 1)))
    .with("model", free_text(a.model.value))
    .with("kind", plain(std::string{name(a.kind)}))
    .unless_empty("location", a.location)
    .unless_empty("files", std::move(files))
    .unless_empty("profile", a.profile ? a.profile->value : std::string{})
    .unless_empty("licence", a.licence)
    .unless_empty("source", a.source);
  return made.done();
}

node tree_of(const implementation& i) {
  tree replicas;
  replicas.with("min", plain(std::uint64_t{i.replicas.min}))
    .with("max", plain(std::uint64_t{i.replicas.max}));
  tree made;
  made.with("implementation", free_text(i.id.value))
    .unless_empty("profile", i.profile ? i.profile->value : std::string{})
    .with("status", plain(std::string{name(i.wanted)}))
    .with("replicas", replicas.done())
    .with("devices", plain(std::uint64_t{i.devices}))
    .with("slots", plain(std::uint64_t{i.slots}))
    .unless_empty("limits", limits_tree(i.limits))
    .unless_empty("args", table(i.args));
  return made.done();
}

node text_tree(
  std::string_view kind, const std::string& name, const digest& sha256, const std::string& text
) {
  tree made;
  made.with(kind, free_text(name))
    .with("sha256", plain(to_text(sha256)))
    .with("text", free_text(text));
  return made.done();
}

node tree_of(const profile_document& d) {
  return text_tree("runtime-profile", d.name.value, d.sha256, d.text);
}

node tree_of(const suite_document& d) {
  return text_tree("suite", d.name.value, d.sha256, d.text);
}

node tree_of(const policy& p) {
  tree made;
  made.with("policy", free_text(p.name.value))
    .with("suite", free_text(p.suite.value))
    .with("score-at-least", plain(share_text(p.score_at_least_ppm)))
    .with("confidence", plain(share_text(p.confidence_ppm)))
    .with("items-at-least", plain(std::uint64_t{p.items_at_least}))
    .with("distinct-answers-at-least", plain(std::uint64_t{p.distinct_answers_at_least}))
    .with("valid-for", plain(duration_text(p.valid_for)));
  if (p.cost_ceiling_nano_per_unit)
    made.with("cost-ceiling", plain(money_text({*p.cost_ceiling_nano_per_unit, p.cost_currency})));
  made.with("suspend-on-drift", plain(p.suspend_on_drift))
    .with("approvals", plain(std::uint64_t{p.approvals}));
  return made.done();
}

node tree_of(const project& p) {
  tree made;
  made.with("project", free_text(p.name.value)).unless_empty("data-classes", p.data_classes);
  return made.done();
}

node tree_of(const key& k) {
  tree made;
  made.with("key", free_text(k.name.value))
    .with("project", free_text(k.project.value))
    .with("class", plain(std::string{name(k.traffic)}))
    .unless_empty("models", k.models);
  return made.done();
}

node tree_of(const declaration& d) {
  return std::visit([](const auto& value) { return tree_of(value); }, d);
}

// -- a tree to YAML ---------------------------------------------------------------------------

bool is_number_or_flag(std::string_view text) {
  const bool number = text.find_first_not_of("0123456789") == text.npos && !text.empty();
  return number || text == "true" || text == "false";
}

bool is_safe_start(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/'
         || c == '_' || c == '.';
}

/// True for what reads back as the same text without quotes, in a flow list too.
bool is_safe_plain(std::string_view text) {
  constexpr std::array nulls{"null", "Null", "NULL", "~", "..."};
  if (text.empty() || !is_safe_start(text.front()) || text.back() == ' ' || text.back() == ':')
    return false;
  if (std::ranges::find(nulls, text) != nulls.end())
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool colon = c == ':' && text[i + 1] != ' ';
    const bool hash = c == '#' && text[i - 1] != ' ';
    const bool other = c == ' ' || c == '-' || c == '@' || c == '%' || c == '+' || c == '=';
    if (!is_safe_start(c) && !colon && !hash && !other)
      return false;
  }
  return true;
}

std::string scalar_text(const node& n) {
  const bool confusing = n.quoted && is_number_or_flag(n.text);
  if (is_safe_plain(n.text) && !confusing)
    return n.text;
  return "\"" + json_escaped(n.text) + "\"";
}

std::string key_text(const std::string& key) {
  return is_safe_plain(key) ? key : "\"" + json_escaped(key) + "\"";
}

std::string flow_list(const node& n) {
  std::string text;
  for (const auto& item : n.items)
    text += (text.empty() ? "" : ", ") + scalar_text(item);
  return "[" + text + "]";
}

bool is_flow(const node& n) {
  const auto is_scalar = [](const node& item) { return item.kind == node_kind::scalar; };
  return n.kind == node_kind::sequence && std::ranges::all_of(n.items, is_scalar);
}

void write_yaml(const node& mapping, const std::string& indent, std::string& out);

void write_entry(const node_entry& entry, const std::string& indent, std::string& out) {
  out += key_text(entry.key) + ":";
  if (entry.value.kind == node_kind::scalar)
    out += " " + scalar_text(entry.value) + "\n";
  else if (is_flow(entry.value))
    out += " " + flow_list(entry.value) + "\n";
  else if (entry.value.kind == node_kind::mapping) {
    out += "\n";
    write_yaml(entry.value, indent + "  ", out);
  } else {
    out += "\n";
    for (const auto& item : entry.value.items) {
      // The first key of an entry stands behind the dash, at the same depth as the others.
      std::string lines;
      write_yaml(item, indent + "    ", lines);
      out += indent + "  - " + lines.substr(indent.size() + 4);
    }
  }
}

void write_yaml(const node& mapping, const std::string& indent, std::string& out) {
  for (const auto& entry : mapping.entries) {
    out += indent;
    write_entry(entry, indent, out);
  }
}

// -- a tree to JSON, and to fields ------------------------------------------------------------

void write_json(const node& n, std::string& out) {
  const auto join = [&](const auto& parts, char open, char close, const auto& write) {
    out += open;
    bool first = true;
    for (const auto& part : parts) {
      out += first ? "" : ",";
      first = false;
      write(part);
    }
    out += close;
  };
  const auto write_text = [&](std::string_view text) { out += '"' + json_escaped(text) + '"'; };
  if (n.kind == node_kind::mapping)
    return join(n.entries, '{', '}', [&](const node_entry& entry) {
      write_text(entry.key);
      out += ':';
      write_json(entry.value, out);
    });
  if (n.kind == node_kind::sequence)
    return join(n.items, '[', ']', [&](const node& item) { write_json(item, out); });
  if (!n.quoted && is_number_or_flag(n.text))
    out += n.text;
  else
    write_text(n.text);
}

void write_fields(const node& n, const std::string& name, std::vector<field>& out) {
  const auto below = [&](std::string_view key) {
    return name.empty() ? std::string{key} : name + "." + std::string{key};
  };
  if (n.kind == node_kind::mapping) {
    for (const auto& entry : n.entries)
      write_fields(entry.value, below(entry.key), out);
    return;
  }
  if (is_flow(n)) {
    out.push_back({name, flow_list(n)});
    return;
  }
  for (std::size_t i = 0; i < n.items.size(); ++i)
    write_fields(n.items[i], name + "[" + std::to_string(i) + "]", out);
  if (n.kind == node_kind::scalar)
    out.push_back({name, n.text});
}

std::vector<field> text_fields(const digest& sha256, const std::string& text) {
  return {{"sha256", to_text(sha256)}, {"bytes", std::to_string(text.size())}};
}

} // namespace

std::string to_yaml(const declaration& d) {
  const auto written = [&](const auto& value) {
    std::string text;
    write_yaml(tree_of(value), {}, text);
    return text;
  };
  return std::visit(
    overloaded{
      [](const profile_document& p) { return p.text; },
      [](const suite_document& s) { return s.text; },
      written,
    },
    d
  );
}

std::string to_json(const declaration& d) {
  std::string text;
  write_json(tree_of(d), text);
  return text;
}

std::vector<field> fields_of(const declaration& d) {
  if (const auto* p = std::get_if<profile_document>(&d))
    return text_fields(p->sha256, p->text);
  if (const auto* s = std::get_if<suite_document>(&d))
    return text_fields(s->sha256, s->text);
  auto tree = tree_of(d);
  tree.entries.erase(tree.entries.begin());
  std::vector<field> fields;
  write_fields(tree, {}, fields);
  return fields;
}

} // namespace assay::catalog
