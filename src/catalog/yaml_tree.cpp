#include "src/catalog/yaml_tree.hpp"

#include "src/base/limits.hpp"

#include <optional>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace assay::catalog {

namespace {

// -- text before YAML -------------------------------------------------------------------------

/// Length of the UTF-8 character at the front, 0 when it is none (overlong, surrogate, too large).
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto lead = byte(0);
  if (lead < 0x80)
    return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || s.size() < length)
    return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool outside = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f);
  return overlong || outside ? 0 : length;
}

bool is_control(unsigned char c) {
  return (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
}

/// Bytes that YAML would not take or, worse, would take as something else.
bool has_bad_bytes(const source_file& file, complaints& out) {
  source_place at{file.name, 1, 1};
  std::string_view rest{file.text};
  while (!rest.empty()) {
    const auto length = utf8_length(rest);
    if (length == 0) {
      out.add(at, {}, "this byte is not UTF-8", "save the file as UTF-8");
      return true;
    }
    if (is_control(static_cast<unsigned char>(rest.front()))) {
      out.add(at, {}, "a control character stands here", "remove it; only line breaks are allowed");
      return true;
    }
    at.column = rest.front() == '\n' ? 1 : at.column + 1;
    at.line += rest.front() == '\n' ? 1 : 0;
    rest.remove_prefix(length);
  }
  return false;
}

struct chunk {
  std::size_t first_line = 1; ///< Of `text`, counted from one.
  std::string_view text;      ///< From its `---` line on, if it has one.
  std::string_view content;   ///< Without it.
};

std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  const auto line = rest.substr(0, end == rest.npos ? rest.size() : end + 1);
  rest.remove_prefix(line.size());
  return line;
}

bool is_marker(std::string_view line, std::string_view marker) {
  if (!line.starts_with(marker))
    return false;
  line.remove_prefix(marker.size());
  return line.empty() || line.front() == ' ' || line.front() == '\t' || line.front() == '\n'
         || line.front() == '\r';
}

/// Markers stand in the first column, where no content of a document can be taken for one.
std::vector<chunk> split(std::string_view text) {
  std::vector<chunk> chunks{{1, text.substr(0, 0), text.substr(0, 0)}};
  std::size_t number = 0;
  const auto extend = [](std::string_view s, std::string_view line) {
    return std::string_view{s.data(), static_cast<std::size_t>(line.end() - s.data())};
  };
  for (auto rest = text; !rest.empty();) {
    const auto line = take_line(rest);
    ++number;
    if (is_marker(line, "---")) {
      const auto word = line.find_first_not_of(" \t\r\n", 3);
      const bool bare = word == line.npos || line[word] == '#';
      chunks.push_back({number, line, bare ? rest.substr(0, 0) : line});
    } else if (is_marker(line, "...")) {
      chunks.push_back({number + 1, rest.substr(0, 0), rest.substr(0, 0)});
    } else {
      auto& last = chunks.back();
      last.text = extend(last.text, line);
      last.content = extend(last.content, line);
    }
  }
  return chunks;
}

/// Only blank lines, comments and `%` directives.
bool is_blank(std::string_view text) {
  while (!text.empty()) {
    auto line = take_line(text);
    const bool directive = line.starts_with('%');
    const auto first = line.find_first_not_of(" \t\r\n");
    if (first != line.npos && line[first] != '#' && !directive)
      return false;
  }
  return true;
}

bool has_indenting_tab(const source_file& file, const chunk& part, complaints& out) {
  bool found = false;
  auto number = part.first_line;
  for (auto rest = part.text; !rest.empty(); ++number) {
    const auto line = take_line(rest);
    const auto word = line.find_first_not_of(" \t\r\n");
    const auto tab = line.find('\t');
    if (word == line.npos || line[word] == '#' || tab > word)
      continue;
    found = true;
    out.add({file.name, number, tab + 1}, {}, "a tab indents this line", "indent with spaces only");
  }
  return found;
}

std::string trimmed(std::string_view content) {
  while (!content.empty()) {
    auto rest = content;
    if (take_line(rest).find_first_not_of(" \t\r\n") != std::string_view::npos)
      break;
    content = rest;
  }
  const auto last = content.find_last_not_of(" \t\r\n");
  if (last == content.npos)
    return {};
  return std::string{content.substr(0, last + 1)} + "\n";
}

// -- events to a tree -------------------------------------------------------------------------

class tree_builder final : public YAML::EventHandler {
public:
  tree_builder(std::string file, std::size_t first_line, complaints& out)
    : file_{std::move(file)}, first_line_{first_line}, out_{out} {}

  bool failed() const { return failed_; }
  std::optional<node> root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (admits(mark, {}, anchor))
      put(node_at(node_kind::null, mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "an alias (`*name`) stands here", "write the value out; aliases are not used here");
  }

  void OnScalar(
    const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value
  ) override {
    if (!admits(mark, tag, anchor))
      return;
    auto scalar = node_at(node_kind::scalar, mark);
    scalar.text = value;
    scalar.quoted = tag == "!";
    put(std::move(scalar));
  }

  void OnSequenceStart(
    const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value
  ) override {
    open(node_kind::sequence, mark, tag, anchor);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(
    const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value
  ) override {
    open(node_kind::mapping, mark, tag, anchor);
  }

  void OnMapEnd() override { close(); }

private:
  struct frame {
    node self;
    std::optional<node> key; ///< Of a mapping: read, and waiting for its value.
  };

  node node_at(node_kind kind, const YAML::Mark& mark) const {
    node n;
    n.kind = kind;
    n.line = first_line_ + static_cast<std::size_t>(std::max(mark.line, 0));
    n.column = 1 + static_cast<std::size_t>(std::max(mark.column, 0));
    return n;
  }

  void fail(const YAML::Mark& mark, std::string what, std::string next) {
    if (!failed_) {
      const auto n = node_at(node_kind::null, mark);
      out_.add({file_, n.line, n.column}, {}, std::move(what), std::move(next));
    }
    failed_ = true;
  }

  bool admits(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) {
    if (failed_)
      return false;
    if (anchor != YAML::NullAnchor)
      fail(mark, "an anchor (`&name`) stands here", "remove it; anchors are not used here");
    else if (!tag.empty() && tag != "?" && tag != "!")
      fail(mark, "the tag " + in_quotes(tag) + " stands here", "remove it; tags are not used here");
    else if (++nodes_ > limits::yaml_nodes)
      fail(
        mark,
        "the file has more than " + std::to_string(limits::yaml_nodes) + " values",
        "apply it in several files"
      );
    return !failed_;
  }

  void open(node_kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (!admits(mark, tag, anchor))
      return;
    if (frames_.size() >= limits::yaml_depth)
      return fail(
        mark,
        "this is nested deeper than " + std::to_string(limits::yaml_depth) + " levels",
        "no declaration needs so many; look for a bracket that is not closed"
      );
    frames_.push_back({node_at(kind, mark), {}});
  }

  void close() {
    if (failed_)
      return;
    auto done = std::move(frames_.back().self);
    frames_.pop_back();
    put(std::move(done));
  }

  void put(node n) {
    if (frames_.empty()) {
      root_ = std::move(n);
      return;
    }
    auto& top = frames_.back();
    if (top.self.kind == node_kind::sequence) {
      top.self.items.push_back(std::move(n));
      return;
    }
    if (top.key) {
      node_entry entry{std::move(top.key->text), top.key->line, top.key->column, std::move(n)};
      top.self.entries.push_back(std::move(entry));
      top.key.reset();
      return;
    }
    if (n.kind != node_kind::scalar || n.text.empty()) {
      YAML::Mark mark;
      mark.line = static_cast<int>(n.line - first_line_);
      mark.column = static_cast<int>(n.column - 1);
      return fail(mark, "a key is empty or not a word", "write `key: value`");
    }
    top.key = std::move(n);
  }

  std::string file_;
  std::size_t first_line_;
  complaints& out_;
  bool failed_ = false;
  std::size_t nodes_ = 0;
  std::vector<frame> frames_;
  std::optional<node> root_;
};

std::optional<node> parse_chunk(const std::string& file, const chunk& part, complaints& out) {
  tree_builder builder{file, part.first_line, out};
  try {
    std::istringstream in{std::string{part.text}};
    YAML::Parser parser{in};
    parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& e) {
    if (builder.failed())
      return {};
    const auto line = part.first_line + static_cast<std::size_t>(std::max(e.mark.line, 0));
    const auto column = 1 + static_cast<std::size_t>(std::max(e.mark.column, 0));
    out.add(
      {file, line, column},
      {},
      "this is not YAML: " + e.msg,
      "look at this line and the one before: indentation, a missing colon, an open quote or bracket"
    );
    return {};
  }
  if (builder.failed())
    return {};
  return builder.root();
}

} // namespace

std::vector<yaml_document> read_yaml(const source_file& file, complaints& out) {
  const source_place start{file.name, 1, 1};
  if (file.text.size() > limits::document_bytes) {
    out.add(
      start,
      {},
      "the file has " + std::to_string(file.text.size()) + " bytes",
      "a file holds at most " + std::to_string(limits::document_bytes) + "; split it"
    );
    return {};
  }
  if (has_bad_bytes(file, out))
    return {};
  std::string_view text{file.text};
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3);
  std::vector<yaml_document> documents;
  const auto before = out.count();
  for (const auto& part : split(text)) {
    if (is_blank(part.content) || has_indenting_tab(file, part, out))
      continue;
    if (auto root = parse_chunk(file.name, part, out))
      documents.push_back({file.name, trimmed(part.content), std::move(*root)});
  }
  if (documents.empty() && out.count() == before)
    out.add(
      start, {}, "the file holds no document", "a document begins with its kind, like `pool: NAME`"
    );
  return documents;
}

} // namespace assay::catalog
