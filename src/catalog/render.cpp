#include "src/catalog/render.hpp"

#include "src/catalog/json_path.hpp"
#include "src/catalog/render_tree.hpp"

#include <algorithm>
#include <array>

namespace assay::catalog {

namespace {

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
  if (const auto* p = std::get_if<profile_document>(&d))
    return p->text;
  if (const auto* s = std::get_if<suite_document>(&d))
    return s->text;
  std::string text;
  write_yaml(tree_of(d), {}, text);
  return text;
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
