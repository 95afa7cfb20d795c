#include "src/cli/commands.hpp"

#include <array>
#include <cstdio>

namespace assay::cli {

namespace {

template <std::size_t Count>
bool is_one_of(const std::string& text, const std::array<std::string_view, Count>& all) {
  for (auto one : all)
    if (text == one)
      return true;
  return false;
}

/// A suspended one that is shown anew stays suspended until the run is over, so the state alone
/// does not tell.
bool is_over(const json::object& qualification) {
  const auto* running = qualification.if_contains("running");
  return !running || !running->is_bool() || !running->get_bool();
}

bool is_settled(const json::object& move) {
  constexpr std::array<std::string_view, 5> settled{
    "committed", "denied", "cancelled", "reverted", "revert_failed"};
  return is_one_of(text_at(move, "state"), settled);
}

int follow_move(const context& c, const json::object& answer, wait_options wait) {
  auto move = text_at(answer, "move");
  if (!wait.wait) {
    std::printf(
      "move %s is %s; follow it with: %s describe move %s\n",
      move.c_str(),
      text_at(answer, "state").c_str(),
      c.self.c_str(),
      move.c_str()
    );
    return 0;
  }
  progress_line line{c.where};
  auto seen =
    follow(c, "moves/" + segment(move), wait.limit, is_settled, [&](const json::object& now) {
      auto why = text_at(now, "why");
      line.show(
        0,
        0,
        "move " + move + ": " + text_at(now, "state")
          + (why.empty() || why == "-" ? "" : ": " + why)
      );
    });
  line.clear();
  if (!seen)
    return complain(seen.error());
  auto state = text_at(*seen, "state");
  auto detail = text_at(*seen, "detail");
  std::printf(
    "move %s: %s%s\n",
    move.c_str(),
    state.c_str(),
    state == "committed" ? (", undo with: " + c.self + " reverse " + move).c_str()
    : detail.empty()     ? ""
                         : (": " + detail).c_str()
  );
  return state == "committed" ? 0 : exit_code(problem_kind::refused);
}

/// A replica that is still loading is no reason to give up when the caller waits anyway.
result<json::object, problem> begin_run(
  const context& c, const std::string& implementation, const std::string& reason, wait_options wait
) {
  auto until = std::chrono::steady_clock::now() + wait.limit;
  progress_line line{c.where};
  std::string told;
  while (true) {
    auto answer =
      c.server.post("qualify", {{"implementation", implementation}, {"reason", reason}});
    auto is_late = std::chrono::steady_clock::now() >= until;
    if (answer || !wait.wait || answer.error().kind != problem_kind::unavailable || is_late)
      return answer;
    if (!c.where.is_tty && told != answer.error().what)
      std::printf("%s; waiting\n", answer.error().what.c_str());
    told = answer.error().what;
    line.show(0, 0, "waiting: " + answer.error().next);
    pause(std::chrono::milliseconds{250});
  }
}

int print_receipt(const result<json::object, problem>& answer, const char* what) {
  if (!answer)
    return complain(answer.error());
  const auto& receipt = answer->at("receipt").as_object();
  std::printf("%s, record %lld\n", what, static_cast<long long>(number_at(receipt, "seq")));
  return 0;
}

} // namespace

int qualify(
  const context& c, const std::string& implementation, const std::string& reason, wait_options wait
) {
  auto answer = begin_run(c, implementation, reason, wait);
  if (!answer)
    return complain(answer.error());
  auto id = text_at(*answer, "qualification");
  if (!wait.wait) {
    std::printf(
      "qualification %s has begun; follow it with: %s describe qualification %s\n",
      id.c_str(),
      c.self.c_str(),
      id.c_str()
    );
    return 0;
  }
  progress_line line{c.where};
  std::string stage;
  auto seen =
    follow(c, "qualifications/" + segment(id), wait.limit, is_over, [&](const json::object& now) {
      auto at = text_at(now, "stage");
      if (at != stage && !at.empty() && !c.where.is_tty)
        std::printf("%s ...\n", at.c_str()), std::fflush(stdout);
      stage = at;
      line.show(
        static_cast<std::uint64_t>(number_at(now, "done")),
        static_cast<std::uint64_t>(number_at(now, "total")),
        at
      );
    });
  line.clear();
  if (!seen)
    return complain(seen.error());
  // The look that saw the run over may have read the ledger a moment before the verdict was there.
  auto last = c.server.get("qualifications/" + segment(id));
  if (!last)
    return complain(last.error());
  const auto& verdict = last->at("item").as_object();
  auto state = text_at(verdict, "state");
  std::printf("%s: %s\n", implementation.c_str(), state.c_str());
  if (const auto* reasons = verdict.if_contains("reasons"); reasons && reasons->is_array())
    for (const auto& one : reasons->get_array())
      std::printf("  %s\n", cell({}, one).c_str());
  return state == "qualified" ? 0 : exit_code(problem_kind::refused);
}

int promote(
  const context& c,
  const std::string& implementation,
  const promote_options& how,
  const std::string& reason,
  wait_options wait
) {
  json::object wanted{
    {"implementation", implementation}, {"status", how.status}, {"reason", reason}};
  for (auto [key, value] :
       {std::pair{"share", &how.share}, std::pair{"hold", &how.hold}, std::pair{"bake", &how.bake}})
    if (!value->empty())
      wanted[key] = *value;
  auto answer = c.server.post("promote", wanted);
  if (!answer)
    return complain(answer.error());
  return follow_move(c, *answer, wait);
}

int reverse(
  const context& c, const std::string& move, const std::string& reason, wait_options wait
) {
  auto answer = c.server.post("reverse", {{"move", move}, {"reason", reason}});
  if (!answer)
    return complain(answer.error());
  return follow_move(c, *answer, wait);
}

int waive(
  const context& c,
  const std::string& implementation,
  const std::vector<int>& gates,
  int hours,
  const std::string& reason
) {
  json::array numbers(gates.begin(), gates.end());
  return print_receipt(
    c.server.post(
      "waive",
      {{"implementation", implementation},
       {"gates", std::move(numbers)},
       {"hours", hours},
       {"reason", reason}}
    ),
    "waived"
  );
}

int revoke(
  const context& c, const std::string& kind, const std::string& name, const std::string& reason
) {
  return print_receipt(
    c.server.post("revoke", {{"kind", kind}, {"name", name}, {"reason", reason}}), "revoked"
  );
}

int approve(const context& c, const std::string& artifact, const std::string& reason) {
  return print_receipt(
    c.server.post("approve", {{"artifact", artifact}, {"reason", reason}}), "approved"
  );
}

int explain(const context& c, const explain_options& options) {
  auto answer = options.decision.empty() ? c.server.post(
                  "explain",
                  {{"model", options.model},
                   {"key", options.key},
                   {"input_tokens", options.input_tokens},
                   {"output_tokens", options.output_tokens},
                   {"stream", options.stream}}
                )
                                         : c.server.get("decisions/" + segment(options.decision));
  if (!answer)
    return complain(answer.error());
  if (c.how != format::table) {
    std::fputs(show_object(*answer, c.how, c.where).c_str(), stdout);
    return 0;
  }
  for (const auto& line : answer->at("lines").as_array())
    std::printf("%s\n", cell({}, line).c_str());
  return 0;
}

} // namespace assay::cli
