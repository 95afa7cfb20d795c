#include "src/base/text.hpp"
#include "src/base/uuid.hpp"
#include "src/cli/commands.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace assay::cli {

namespace {

constexpr int errors_told = 3;

result<std::string, problem> read_input(const std::string& file) {
  if (file == "-")
    return std::string{std::istreambuf_iterator<char>{std::cin}, {}};
  std::ifstream in{file, std::ios::binary};
  if (!in)
    return unexpected{problem{problem_kind::not_found, "cannot be opened", file, "does it exist?"}};
  return std::string{std::istreambuf_iterator<char>{in}, {}};
}

bool is_over(const json::object& job) {
  auto state = text_at(job, "state");
  return state == "finished" || state == "cancelled" || state == "failed" || state == "expired";
}

/// Its state, how much went wrong, and why it waits.
std::string standing_of(const json::object& job) {
  auto failed = number_at(job, "failed");
  auto why = text_at(job, "why");
  return text_at(job, "state") + (failed > 0 ? ", " + std::to_string(failed) + " failed" : "")
         + (why.empty() || why == "-" ? "" : ": " + why);
}

/// `custom-id: why` of a line of `jobs/ID/errors`.
std::string error_text(std::string_view line) {
  boost::system::error_code bad;
  auto parsed = json::parse(line, bad);
  if (bad || !parsed.is_object())
    return std::string{line};
  const auto* why = parsed.find_pointer("/error/message", bad);
  if (!why)
    why = parsed.find_pointer("/response/body/error/message", bad);
  auto text = why && why->is_string() ? std::string{why->get_string()} : std::string{line};
  return text_at(parsed.get_object(), "custom_id") + ": " + shortened(text);
}

/// Some of the items that failed, with their reasons, and where the others are.
void print_errors(const context& c, const std::string& job) {
  std::string lines;
  auto got = c.server.download("jobs/" + segment(job) + "/errors", [&](std::string_view piece) {
    lines += piece;
    return true;
  });
  if (!got) {
    complain(got.error());
    return;
  }
  std::size_t at = 0;
  for (int told = 0; told < errors_told && at < lines.size(); ++told) {
    auto end = std::min(lines.find('\n', at), lines.size());
    std::printf("  %s\n", error_text(std::string_view{lines}.substr(at, end - at)).c_str());
    at = end + 1;
  }
  if (at < lines.size())
    std::printf("all of them: %s job errors %s\n", c.self.c_str(), job.c_str());
}

int follow_job(const context& c, const std::string& job, std::chrono::seconds limit) {
  progress_line line{c.where};
  std::string told;
  auto seen = follow(c, "jobs/" + segment(job), limit, is_over, [&](const json::object& now) {
    auto why = text_at(now, "why");
    if (!c.where.is_tty && !why.empty() && why != std::exchange(told, why))
      std::printf("%s\n", standing_of(now).c_str()), std::fflush(stdout);
    line.show(
      static_cast<std::uint64_t>(number_at(now, "done")),
      static_cast<std::uint64_t>(number_at(now, "total")),
      standing_of(now)
    );
  });
  line.clear();
  if (!seen)
    return complain(seen.error());
  auto state = text_at(*seen, "state");
  auto why = text_at(*seen, "why");
  std::printf(
    "job %s: %s, %lld of %lld done, %lld of them failed%s\n",
    job.c_str(),
    state.c_str(),
    static_cast<long long>(number_at(*seen, "done")),
    static_cast<long long>(number_at(*seen, "total")),
    static_cast<long long>(number_at(*seen, "failed")),
    why.empty() ? "" : (": " + why).c_str()
  );
  if (number_at(*seen, "failed") > 0)
    print_errors(c, job);
  return state == "finished" ? 0 : 1;
}

/// To standard output, as it is.
int download(const context& c, const std::string& path) {
  auto done = c.server.download(path, [](std::string_view piece) {
    return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size();
  });
  return done ? 0 : complain(done.error());
}

} // namespace

int submit(const context& c, const submit_options& options) {
  auto input = read_input(options.file);
  if (!input)
    return complain(input.error());
  auto name =
    options.name.empty() ? std::filesystem::path{options.file}.stem().string() : options.name;
  // The id is made before the first try, so that a retry after a cut finds the first job.
  auto answer = c.server.post(
    "jobs",
    {{"name", name},
     {"model", options.model},
     {"input", std::move(*input)},
     {"priority", options.priority},
     {"record_id", to_text(new_uuid7())}}
  );
  if (!answer)
    return complain(answer.error());
  auto job = text_at(*answer, "job");
  std::printf(
    "job %s: %lld items\n", job.c_str(), static_cast<long long>(number_at(*answer, "items"))
  );
  if (options.wait.wait)
    return follow_job(c, job, options.wait.limit);
  std::printf("follow it with: %s job show %s\n", c.self.c_str(), job.c_str());
  return 0;
}

int queue(const context& c) {
  auto answer = c.server.get("jobs");
  if (!answer)
    return complain(answer.error());
  std::fputs(show_items(answer->at("items").as_array(), c.how, c.where).c_str(), stdout);
  return 0;
}

int job_show(const context& c, const std::string& job) {
  return describe(c, "jobs", job);
}

int job_download(const context& c, const std::string& job, const std::string& what) {
  return download(c, "jobs/" + segment(job) + "/" + what);
}

int ledger_blob(const context& c, const std::string& digest) {
  return download(c, "blobs/" + segment(digest));
}

int job_change(
  const context& c, const std::string& job, const std::string& verb, const std::string& reason
) {
  auto answer = c.server.post("jobs/" + segment(job) + "/" + verb, {{"reason", reason}});
  if (!answer)
    return complain(answer.error());
  std::printf("job %s: %s\n", job.c_str(), text_at(*answer, "state").c_str());
  return 0;
}

} // namespace assay::cli
