#include "src/contract/operation.hpp"

namespace assay::contract {

namespace {

constexpr std::array rows{
  operation_row{"chat-completions", "/v1/chat/completions", task::chat, api_family::openai},
  operation_row{"completions", "/v1/completions", task::completion, api_family::openai},
  operation_row{"embeddings", "/v1/embeddings", task::embedding, api_family::openai},
};
static_assert(rows.size() == operation_count);

template <class Fits>
std::optional<operation> first(Fits fits) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (fits(rows[i]))
      return static_cast<operation>(i);
  return {};
}

} // namespace

const operation_row& describe(operation o) {
  return rows[static_cast<std::size_t>(o)];
}

std::optional<operation> find_operation(std::string_view path) {
  return first([path](const operation_row& row) { return row.path == path; });
}

std::optional<operation> parse_operation(std::string_view name) {
  return first([name](const operation_row& row) { return row.name == name; });
}

std::optional<operation> usual_operation(task t) {
  return first([t](const operation_row& row) { return row.task == t; });
}

} // namespace assay::contract
