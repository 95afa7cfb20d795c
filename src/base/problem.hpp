#pragma once
// What a person is told when something could not be done: what happened, where, and what to do
// next.

#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// Sorts problems by what the asker can do about them; `assay` turns them into exit codes and the
/// admin API into statuses (table in src/base/problem.cpp).
enum class problem_kind {
  invalid,     ///< The input is wrong; change it.           exit 1, 400
  not_found,   ///< No such thing.                           exit 3, 404
  refused,     ///< Understood, but a rule forbids it.       exit 4, 409
  forbidden,   ///< The asker may not.                       exit 4, 403
  unavailable, ///< Not now; the same request may pass later. exit 5, 503
  exhausted,   ///< A disk, a table or a budget is full.     exit 5, 507
};

struct problem {
  problem_kind kind = problem_kind::invalid;
  std::string what;  ///< One sentence: what happened, with the value that was seen.
  std::string where; ///< `file:line: key`, a path, an address; empty when there is no place.
  std::string next;  ///< What is allowed, and what to do now; empty only when `what` says it.
};

/// `where: what; next` on one line, each `shortened`.
std::string to_text(const problem& p);

int exit_code(problem_kind kind);
int http_status(problem_kind kind);
/// The kind that has this status; nothing for any other.
std::optional<problem_kind> kind_of_status(int http_status);
std::string_view name(problem_kind kind);

} // namespace assay
