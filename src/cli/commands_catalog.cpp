#include "src/base/text.hpp"
#include "src/cli/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace assay::cli {

namespace {

struct kind_row {
  std::string_view path;
  std::string_view singular;
  std::string_view shorthand;
};

constexpr kind_row kinds[] = {
  {"pools", "pool", ""},
  {"models", "model", ""},
  {"artifacts", "artifact", ""},
  {"runtime-profiles", "runtime-profile", "profiles"},
  {"implementations", "implementation", "impl"},
  {"suites", "suite", ""},
  {"policies", "policy", ""},
  {"projects", "project", ""},
  {"keys", "key", ""},
  {"hosts", "host", ""},
  {"replicas", "replica", ""},
  {"qualifications", "qualification", "qual"},
  {"routes", "route", ""},
  {"moves", "move", ""},
  {"waivers", "waiver", ""},
  {"jobs", "job", ""},
};

using files = std::vector<std::pair<std::string, std::string>>;

result<std::string, problem> read_stream(std::istream& in, const std::string& name) {
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (in.bad())
    return unexpected{
      problem{problem_kind::invalid, "cannot be read", name, "check its permissions"}};
  return text;
}

result<void, problem> add_file(files& all, const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    return unexpected{
      problem{problem_kind::not_found, "cannot be opened", path.string(), "does it exist?"}};
  auto text = read_stream(in, path.string());
  if (!text)
    return unexpected{text.error()};
  all.emplace_back(path.string(), std::move(*text));
  return {};
}

result<void, problem> add_directory(files& all, const std::filesystem::path& path) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator{path})
    if (entry.path().extension() == ".yaml" || entry.path().extension() == ".yml")
      found.push_back(entry.path());
  if (found.empty())
    return unexpected{problem{
      problem_kind::not_found,
      "holds no .yaml file",
      path.string(),
      "name a file or another directory"}};
  std::ranges::sort(found);
  for (const auto& file : found)
    if (auto added = add_file(all, file); !added)
      return added;
  return {};
}

result<files, problem> collect(const std::vector<std::string>& paths) {
  files all;
  for (const auto& path : paths) {
    if (path == "-") {
      auto text = read_stream(std::cin, "standard input");
      if (!text)
        return unexpected{text.error()};
      all.emplace_back("standard input", std::move(*text));
      continue;
    }
    std::error_code ignored; // What cannot be looked at is reported when it is opened.
    auto added =
      std::filesystem::is_directory(path, ignored) ? add_directory(all, path) : add_file(all, path);
    if (!added)
      return unexpected{added.error()};
  }
  return all;
}

void print_changes(const json::object& answer, bool dry_run) {
  std::size_t changed = 0;
  for (const auto& one : answer.at("changes").as_array()) {
    const auto& change = one.as_object();
    auto action = text_at(change, "action");
    changed += action != "unchanged";
    std::printf(
      "%-9s %s %s\n",
      action.c_str(),
      text_at(change, "kind").c_str(),
      text_at(change, "name").c_str()
    );
    if (action != "changed")
      continue;
    for (const auto& field : change.at("fields").as_array()) {
      const auto& f = field.as_object();
      std::printf(
        "            %s: %s -> %s\n",
        text_at(f, "name").c_str(),
        text_at(f, "old").c_str(),
        text_at(f, "new").c_str()
      );
    }
  }
  std::printf(
    "%zu to change%s\n",
    changed,
    dry_run   ? " (dry run: nothing was)"
    : changed ? ", done"
              : ""
  );
}

void print_missing(const json::object& answer) {
  for (const auto& one : answer.at("missing").as_array()) {
    const auto& missing = one.as_object();
    std::printf(
      "missing   %s %s: %s\n",
      text_at(missing, "kind").c_str(),
      text_at(missing, "name").c_str(),
      cell("what", missing.at("what")).c_str()
    );
  }
}

void print_keys(const json::object& answer) {
  for (const auto& one : answer.at("keys").as_array())
    std::printf(
      "key       %s: %s   (shown once; keep it)\n",
      text_at(one.as_object(), "name").c_str(),
      text_at(one.as_object(), "secret").c_str()
    );
}

void print_history(const json::object& answer, const terminal& where) {
  const auto* history = answer.if_contains("history");
  if (!history || !history->is_array() || history->get_array().empty())
    return;
  std::printf("\nHISTORY\n%s", show_items(history->get_array(), format::table, where).c_str());
}

} // namespace

std::string kind_names() {
  std::string all;
  for (const auto& kind : kinds)
    all += (all.empty() ? "" : " ") + std::string{kind.path};
  return all;
}

result<std::string, problem> kind_path(const std::string& word) {
  for (const auto& kind : kinds)
    if (word == kind.path || word == kind.singular || (!word.empty() && word == kind.shorthand))
      return std::string{kind.path};
  return unexpected{
    problem{problem_kind::invalid, "unknown kind '" + word + "'", {}, "allowed: " + kind_names()}};
}

int apply(const context& c, const apply_options& options) {
  auto sources = collect(options.paths);
  if (!sources)
    return complain(sources.error());
  json::array all;
  for (const auto& [name, text] : *sources)
    if (!is_utf8(text))
      return complain(
        {problem_kind::invalid,
         "is not UTF-8 text",
         name,
         "declarations are UTF-8; convert the file"}
      );
  for (const auto& [name, text] : *sources)
    all.push_back(json::object{{"name", name}, {"text", text}});
  auto answer = c.server.post("apply", {{"files", std::move(all)}, {"dry_run", options.dry_run}});
  if (!answer)
    return complain(answer.error());
  if (c.how != format::table) {
    std::fputs(show_object(*answer, c.how, c.where).c_str(), stdout);
    return 0;
  }
  print_changes(*answer, options.dry_run);
  print_missing(*answer);
  print_keys(*answer);
  return 0;
}

int get(const context& c, const std::string& kind) {
  auto path = kind_path(kind);
  if (!path)
    return misuse(path.error());
  auto answer = c.server.get(*path);
  if (!answer)
    return complain(answer.error());
  note_copy(*answer);
  std::fputs(show_items(answer->at("items").as_array(), c.how, c.where).c_str(), stdout);
  return 0;
}

int describe(const context& c, const std::string& kind, const std::string& name) {
  auto path = kind_path(kind);
  if (!path)
    return misuse(path.error());
  auto answer = c.server.get(*path + "/" + segment(name));
  if (!answer)
    return complain(answer.error());
  note_copy(*answer);
  if (c.how == format::yaml && answer->contains("yaml") && !text_at(*answer, "yaml").empty()) {
    std::fputs(text_at(*answer, "yaml").c_str(), stdout);
    return 0;
  }
  std::fputs(
    show_object(c.how == format::json ? *answer : answer->at("item").as_object(), c.how, c.where)
      .c_str(),
    stdout
  );
  if (c.how == format::table)
    print_history(*answer, c.where);
  return 0;
}

int matrix(const context& c, const std::string& model) {
  auto answer = c.server.get("models/" + segment(model) + "/matrix");
  if (!answer)
    return complain(answer.error());
  note_copy(*answer);
  std::fputs(show_items(answer->at("items").as_array(), c.how, c.where).c_str(), stdout);
  return 0;
}

int remove(
  const context& c, const std::string& kind, const std::string& name, const std::string& reason
) {
  auto path = kind_path(kind);
  if (!path)
    return misuse(path.error());
  auto answer = c.server.remove(*path + "/" + segment(name) + "?reason=" + segment(reason));
  if (!answer)
    return complain(answer.error());
  std::printf("deleted %s %s\n", kind.c_str(), name.c_str());
  return 0;
}

} // namespace assay::cli
