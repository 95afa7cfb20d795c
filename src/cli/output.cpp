#include "src/cli/output.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <yaml-cpp/yaml.h>

namespace assay::cli {

namespace {

/// `stamped_at_ms` -> `STAMPED AT`
std::string head(std::string_view key) {
  if (key.ends_with("_ms"))
    key.remove_suffix(3);
  std::string text{key};
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '_' ? ' ' : static_cast<char>(std::toupper(c));
  });
  return text;
}

/// `stamped_at_ms` -> `stamped at`; names that are not ours (native metrics, dotted fields) stay as
/// they are.
std::string label(std::string_view key) {
  if (key.ends_with("_ms"))
    key.remove_suffix(3);
  std::string text{key};
  if (key.find_first_of(".:/ ") == std::string_view::npos)
    std::ranges::replace(text, '_', ' ');
  return text;
}

/// Six digits are enough for eyes; whole numbers are written as such.
std::string number_text(double number) {
  char text[32];
  auto is_whole = number == std::floor(number) && std::abs(number) < 1e15;
  std::snprintf(text, sizeof text, is_whole ? "%.0f" : "%.6g", number);
  return text;
}

void emit(YAML::Emitter& out, const json::value& value) {
  switch (value.kind()) {
  case json::kind::object:
    out << YAML::BeginMap;
    for (const auto& [key, inner] : value.get_object()) {
      out << YAML::Key << std::string{key} << YAML::Value;
      emit(out, inner);
    }
    out << YAML::EndMap;
    return;
  case json::kind::array:
    out << YAML::BeginSeq;
    for (const auto& inner : value.get_array())
      emit(out, inner);
    out << YAML::EndSeq;
    return;
  case json::kind::string:
    out << std::string{value.get_string()};
    return;
  // Written by their own types: the emitter would put quotes around text that reads as one.
  case json::kind::null:
    out << YAML::Null;
    return;
  case json::kind::bool_:
    out << value.get_bool();
    return;
  default:
    out << json::serialize(value);
  }
}

void append_pretty(std::string& text, const json::value& value, std::size_t depth) {
  auto indent = [&](std::size_t levels) { text += '\n' + std::string(2 * levels, ' '); };
  auto separated = [&](auto& items, char open, char close, auto&& each) {
    text += open;
    bool first = true;
    for (auto& item : items) {
      text += first ? "" : ",";
      first = false;
      indent(depth + 1);
      each(item);
    }
    if (!first)
      indent(depth);
    text += close;
  };
  if (const auto* object = value.if_object())
    return separated(*object, '{', '}', [&](const auto& pair) {
      text += json::serialize(json::string{pair.key()}) + ": ";
      append_pretty(text, pair.value(), depth + 1);
    });
  if (const auto* array = value.if_array())
    return separated(*array, '[', ']', [&](const auto& item) {
      append_pretty(text, item, depth + 1);
    });
  text += json::serialize(value);
}

std::string names(const json::array& items) {
  std::string text;
  for (const auto& item : items)
    if (item.is_object() && !item.get_object().empty())
      text += cell("name", item.get_object().begin()->value()) + '\n';
  return text;
}

std::string table_of(const json::array& items, const terminal& where) {
  if (items.empty())
    return "nothing there\n";
  std::vector<row> rows(1);
  for (const auto& [key, value] : items.front().as_object())
    rows.front().push_back(head(key));
  for (const auto& item : items) {
    row line;
    for (const auto& [key, value] : item.as_object())
      line.push_back(cell(key, value));
    rows.push_back(std::move(line));
  }
  return draw_table(rows, where.columns);
}

/// Somebody's text must not move the cursor of whoever reads it.
std::string printable(std::string_view text) {
  std::string shown;
  for (auto c : text)
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return shown;
}

} // namespace

std::string cell(std::string_view key, const json::value& value) {
  if (value.is_null())
    return "-";
  if (value.is_string())
    return value.get_string().empty() ? "-" : printable(value.get_string());
  if (value.is_int64() && key.ends_with("_ms"))
    return date_text(value.get_int64());
  if (value.is_bool())
    return value.get_bool() ? "yes" : "no";
  if (value.is_double())
    return number_text(value.get_double());
  if (const auto* list = value.if_array()) {
    std::string text;
    for (const auto& item : *list)
      text += (text.empty() ? "" : ", ") + cell({}, item);
    return text.empty() ? "-" : text;
  }
  return json::serialize(value);
}

std::string to_yaml(const json::value& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string{out.c_str()} + '\n';
}

std::string to_pretty_json(const json::value& value) {
  std::string text;
  append_pretty(text, value, 0);
  return text + '\n';
}

std::string show_items(const json::array& items, format how, const terminal& where) {
  switch (how) {
  case format::json:
    return to_pretty_json(items);
  case format::yaml:
    return to_yaml(items);
  case format::name:
    return names(items);
  case format::table:
    break;
  }
  return table_of(items, where);
}

std::string show_object(const json::object& object, format how, const terminal& where) {
  if (how == format::json)
    return to_pretty_json(object);
  if (how == format::yaml)
    return to_yaml(object);
  std::vector<row> rows;
  for (const auto& [key, value] : object)
    rows.push_back({label(key), cell(key, value)});
  return draw_fields(rows, where.columns);
}

int complain(const problem& p) {
  std::fprintf(stderr, "assay: %s\n", to_text(p).c_str());
  return exit_code(p.kind);
}

int misuse(const problem& p) {
  complain(p);
  return 2;
}

void note_copy(const json::object& answer) {
  const auto* freshness = answer.if_contains("freshness");
  if (!freshness || *freshness != "bounded")
    return;
  std::fprintf(
    stderr,
    "assay: no leader could be asked; this is the copy of the member that was, as of %s\n",
    date_text(answer.at("as_of_ms").as_int64()).c_str()
  );
}

} // namespace assay::cli
