#include "src/base/problem.hpp"

#include "src/base/text.hpp"

#include <algorithm>
#include <iterator>

namespace assay {

namespace {

struct row {
  problem_kind kind;
  std::string_view name;
  int exit_code;
  int http_status;
};

constexpr row rows[] = {
  {problem_kind::invalid, "invalid", 1, 400},
  {problem_kind::not_found, "not_found", 3, 404},
  {problem_kind::refused, "refused", 4, 409},
  {problem_kind::forbidden, "forbidden", 4, 403},
  {problem_kind::unavailable, "unavailable", 5, 503},
  {problem_kind::exhausted, "exhausted", 5, 507},
};

const row& find(problem_kind kind) {
  return rows[static_cast<std::size_t>(kind)];
}

} // namespace

std::string to_text(const problem& p) {
  auto text = p.where.empty() ? std::string{} : shortened(p.where) + ": ";
  text += shortened(p.what);
  if (!p.next.empty())
    text += "; " + shortened(p.next);
  return text;
}

int exit_code(problem_kind kind) {
  return find(kind).exit_code;
}

int http_status(problem_kind kind) {
  return find(kind).http_status;
}

std::optional<problem_kind> kind_of_status(int http_status) {
  auto at = std::ranges::find(rows, http_status, &row::http_status);
  return at == std::end(rows) ? std::nullopt : std::optional{at->kind};
}

std::string_view name(problem_kind kind) {
  return find(kind).name;
}

} // namespace assay
