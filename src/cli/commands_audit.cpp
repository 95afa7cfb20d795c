// What an auditor does with the ledger as a file: takes it, checks it, compares two. Only the first
// needs an assayd.

#include "src/cli/commands.hpp"
#include "src/cli/export_diff.hpp"
#include "src/cli/export_file.hpp"
#include "src/cli/export_source.hpp"
#include "src/wire/record_codec.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

namespace assay::cli {

namespace {

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

// -- export -------------------------------------------------------------------------------------

/// Where the export goes: a file that is whole or not there, or standard output.
class destination {
public:
  static result<destination, problem> open(const std::string& name) {
    if (name == "-")
      return destination{std::nullopt};
    auto file = export_file::open(name);
    if (!file)
      return unexpected{file.error()};
    return destination{std::optional{*std::move(file)}};
  }

  result<void, problem> add(std::string_view piece) {
    if (file_)
      return file_->add(piece);
    if (std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size())
      return unexpected{file_problem(errno, "standard output cannot be written", "-")};
    return {};
  }

  result<void, problem> finish() {
    if (file_)
      return file_->finish();
    if (std::fflush(stdout) != 0)
      return unexpected{file_problem(errno, "standard output cannot be written", "-")};
    return {};
  }

  /// For what is said about it: never into the export.
  std::FILE* says_to() const { return file_ ? stdout : stderr; }

private:
  explicit destination(std::optional<export_file> file) : file_{std::move(file)} {}

  std::optional<export_file> file_;
};

/// The connection ended in the middle: the server says why in its log, and can be asked.
problem ended_early(const problem& why, std::uint64_t bytes) {
  if (bytes == 0)
    return why;
  return {
    problem_kind::unavailable,
    "assayd ended the export after " + number(bytes) + " bytes; nothing was kept of it",
    why.where,
    "export again; if it ends again, assay ledger verify tells what is wrong with its store"};
}

problem no_head(const std::string& file) {
  return {
    problem_kind::unavailable,
    "the export has no signed head; nothing was kept of it",
    file,
    "export again"};
}

/// Fetches all of it; the head, which came last.
result<ledger::export_head, problem>
fetch(const context& c, destination& to, const std::string& file) {
  frame_follower frames;
  slow_progress progress;
  std::uint64_t bytes = 0;
  std::optional<problem> failed;
  auto got = c.server.download("ledger/export", [&](std::string_view piece) {
    frames.add(piece);
    bytes += piece.size();
    progress.show(bytes, 0, "exported");
    auto added = to.add(piece);
    if (!added)
      failed = added.error();
    return added.has_value();
  });
  progress.clear();
  if (failed)
    return unexpected{*std::move(failed)};
  if (!got)
    return unexpected{ended_early(got.error(), bytes)};
  auto head = frames.head();
  if (!head)
    return unexpected{no_head(file)};
  return *std::move(head);
}

// -- verify -------------------------------------------------------------------------------------

json::object verdict_of(const ledger::auditor& audited) {
  const auto& head = audited.state().head;
  return {
    {"records", head.seq},
    {"batches", audited.batches()},
    {"head", json::object{{"seq", head.seq}, {"chain", assay::to_text(head.chain)}}},
    {"problems", json::array{}},
    {"cluster", head.cluster ? assay::to_text(*head.cluster) : ""}};
}

// -- diff ---------------------------------------------------------------------------------------

json::array items_of(const side& s) {
  json::array items;
  for (const auto& line : s.beyond)
    items.push_back(json::object{
      {"seq", line.seq},
      {"stamped_at_ms", line.stamped_at.value},
      {"kind", line.kind},
      {"summary", line.summary},
      {"author", line.author}});
  return items;
}

json::object to_json(const comparison& c) {
  auto one = [&](const side& s) {
    return json::object{
      {"file", s.file},
      {"cluster", assay::to_text(s.cluster)},
      {"records", s.chains.size()},
      {"more", c.more(s)},
      {"beyond", items_of(s)}};
  };
  return {
    {"common", c.common},
    {"parts_at", c.parts() ? json::value(c.common + 1) : json::value()},
    {"a", one(c.a)},
    {"b", one(c.b)}};
}

void print_beyond(const context& c, const comparison& of, const side& s) {
  if (of.more(s) == 0)
    return;
  std::printf("%s has %s more:\n", s.file.c_str(), number(of.more(s)).c_str());
  std::fputs(show_items(items_of(s), c.how, c.where).c_str(), stdout);
  if (of.more(s) > s.beyond.size())
    std::printf("and %s after these\n", number(of.more(s) - s.beyond.size()).c_str());
}

void print_common(const comparison& c) {
  auto common = number(c.common);
  if (c.more(c.a) == 0 && c.more(c.b) == 0)
    std::printf("both hold the same %s records\n", common.c_str());
  else if (!c.parts())
    std::printf(
      "%s is a prefix of %s: %s records are common\n",
      (c.more(c.a) == 0 ? c.a : c.b).file.c_str(),
      (c.more(c.a) == 0 ? c.b : c.a).file.c_str(),
      common.c_str()
    );
}

} // namespace

int ledger_export(const context& c, const std::string& file) {
  auto to = destination::open(file);
  if (!to)
    return complain(to.error());
  auto head = fetch(c, *to, file);
  if (!head)
    return complain(head.error());
  if (auto done = to->finish(); !done)
    return complain(done.error());
  std::fprintf(
    to->says_to(),
    "%s records, signed by %s; check them with: assay ledger verify %s\n%s\n",
    number(head->seq).c_str(),
    head->signer.c_str(),
    file == "-" ? "FILE" : file.c_str(),
    assay::to_text(head->chain).c_str()
  );
  return 0;
}

int ledger_verify(const context& c, const std::string& file) {
  slow_progress progress;
  ledger::auditor auditor{wire::read_record};
  auto read = audit_file(file, auditor, [&](std::uint64_t done, std::uint64_t total) {
    progress.show(done, total, file);
  });
  progress.clear();
  if (!read)
    return complain(read.error());
  return show_verdict(c, verdict_of(auditor));
}

int ledger_diff(const context& c, const std::string& a, const std::string& b) {
  auto seen = compare_exports(a, b);
  if (!seen)
    return complain(seen.error());
  auto wrong = contradiction(*seen);
  if (c.how != format::table)
    std::fputs(show_object(to_json(*seen), c.how, c.where).c_str(), stdout);
  else if (seen->is_of_one_cluster()) {
    print_common(*seen);
    print_beyond(c, *seen, seen->a);
    print_beyond(c, *seen, seen->b);
  }
  std::fflush(stdout);
  return wrong ? complain(*wrong) : 0;
}

} // namespace assay::cli
