#include "src/base/uuid.hpp"
#include "src/cli/commands.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace assay::cli {

namespace {

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

int follow_job(const context& c, const std::string& job, std::chrono::seconds limit) {
  progress_line line{c.where};
  auto seen = follow(c, "jobs/" + segment(job), limit, is_over, [&](const json::object& now) {
    line.show(
      static_cast<std::uint64_t>(number_at(now, "done")),
      static_cast<std::uint64_t>(number_at(now, "total")),
      text_at(now, "state")
    );
  });
  line.clear();
  if (!seen)
    return complain(seen.error());
  auto state = text_at(*seen, "state");
  std::printf(
    "job %s: %s, %lld of %lld done, %lld of them failed\n",
    job.c_str(),
    state.c_str(),
    static_cast<long long>(number_at(*seen, "done")),
    static_cast<long long>(number_at(*seen, "total")),
    static_cast<long long>(number_at(*seen, "failed"))
  );
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
  return options.wait.wait ? follow_job(c, job, options.wait.limit) : 0;
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
