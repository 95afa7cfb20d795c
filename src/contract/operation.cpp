#include "src/contract/operation.hpp"

namespace assay::contract {

namespace {

using family = api_family;

constexpr std::array rows{
  operation_row{"chat-completions", "/v1/chat/completions", task::chat, family::openai},
  operation_row{"completions", "/v1/completions", task::completion, family::openai},
  operation_row{"embeddings", "/v1/embeddings", task::embedding, family::openai},
  operation_row{"responses", "/v1/responses", task::chat, family::responses},
  operation_row{"messages", "/v1/messages", task::chat, family::anthropic},
  operation_row{"count-tokens", "/v1/messages/count_tokens", task::chat, family::anthropic},
  operation_row{"rerank", "/v1/rerank", task::rerank, family::openai},
  operation_row{"score", "/v1/score", task::rerank, family::openai},
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
