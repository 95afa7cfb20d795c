#include "src/cli/commands.hpp"

#include <cstdio>

namespace assay::cli {

namespace {

int print_status(const context& c, const json::object& answer) {
  std::fputs(show_object(answer, c.how, c.where).c_str(), stdout);
  return 0;
}

} // namespace

int status(const context& c, std::chrono::seconds wait) {
  auto until = std::chrono::steady_clock::now() + wait;
  progress_line line{c.where};
  while (true) {
    auto answer = c.server.get("status");
    if (answer || answer.error().kind != problem_kind::unavailable || std::chrono::steady_clock::now() >= until) {
      line.clear();
      return answer ? print_status(c, *answer) : complain(answer.error());
    }
    line.show(0, 0, "waiting for assayd");
    pause(std::chrono::milliseconds{100});
  }
}

int ledger_log(const context& c, std::int64_t limit, const std::string& subject) {
  auto path = "ledger?limit=" + std::to_string(limit)
              + (subject.empty() ? "" : "&subject=" + segment(subject));
  auto answer = c.server.get(path);
  if (!answer)
    return complain(answer.error());
  note_copy(*answer);
  std::fputs(show_items(answer->at("records").as_array(), c.how, c.where).c_str(), stdout);
  return 0;
}

int ledger_show(const context& c, const std::string& record) {
  auto answer = c.server.get("ledger/" + segment(record));
  if (!answer)
    return complain(answer.error());
  std::fputs(show_object(answer->at("record").as_object(), c.how, c.where).c_str(), stdout);
  return 0;
}

int ledger_verify(const context& c) {
  auto answer = c.server.post("ledger/verify", {}, file_patience);
  return answer ? show_verdict(c, *answer) : complain(answer.error());
}

int show_verdict(const context& c, const json::object& verdict) {
  if (c.how != format::table) {
    std::fputs(show_object(verdict, c.how, c.where).c_str(), stdout);
  } else {
    const auto& head = verdict.at("head").as_object();
    std::printf(
      "%lld records in %lld batches: chain, signatures and invariants hold up to %lld\n%s\n",
      static_cast<long long>(number_at(verdict, "records")),
      static_cast<long long>(number_at(verdict, "batches")),
      static_cast<long long>(number_at(head, "seq")),
      text_at(head, "chain").c_str()
    );
  }
  return 0;
}

int env(const context& c) {
  auto answer = c.server.get("env");
  if (!answer)
    return complain(answer.error());
  std::printf(
    "export OPENAI_BASE_URL=%s\nexport OPENAI_API_KEY=%s\n",
    text_at(*answer, "base_url").c_str(),
    text_at(*answer, "key").c_str()
  );
  return 0;
}

} // namespace assay::cli
