#include "src/catalog/render_tree.hpp"

#include "src/catalog/units.hpp"

namespace assay::catalog {

namespace {

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

} // namespace

node tree_of(const declaration& d) {
  return std::visit([](const auto& value) { return tree_of(value); }, d);
}

} // namespace assay::catalog
