#pragma once
// One ask and its answer, as values: the body to send, and what an OpenAI-shaped answer says.
//
// Reads what an engine may really send (`content: null`, several events per chunk, a usage event
// without choices) and says plainly when it is not what the contract promises.

#include "src/base/result.hpp"
#include "src/contract/contract.hpp"
#include "src/qualification/suite.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::qualification {

struct ask {
  std::uint64_t number = 0; ///< Unique in its run.
  std::string path;         ///< `/v1/chat/completions` or `/v1/completions`
  std::string body;         ///< JSON, to be sent as it is.
  bool streaming = false;
  bool leave_at_first_content =
    false; ///< Close the connection once an event with content came; that is the answer.
  bool silence_is_answer = false; ///< No answer within the deadline is evidence, not bad luck.
  std::chrono::milliseconds deadline{};
  std::uint32_t max_tokens = 0; ///< As the body asks.
  std::uint32_t words = 0;      ///< Fillers in the prompt, where its length is being built.
  std::string purpose;          ///< `contract/usage` or `item/ID`, for the evidence.
};

/// Milliseconds since the ask was sent.
struct answer_times {
  std::uint32_t first_byte_ms = 0;
  std::uint32_t first_content_ms = 0; ///< Of the first event with text; 0 when there was none.
  std::uint32_t total_ms = 0;
};

struct answer {
  int status = 0;    ///< 0: there was no answer, and that is one (`silence_is_answer`).
  std::string body;  ///< Unary body, or all bytes of the event stream as they came.
  bool left = false; ///< We left on purpose, as asked.
  answer_times times;
};

struct exchange {
  qualification::ask ask;
  qualification::answer answer;
};

struct token_usage {
  std::uint32_t prompt = 0;
  std::uint32_t completion = 0;
  std::uint32_t total = 0;
};

/// What an answer means.
struct reading {
  std::string text;
  std::string finish_reason;
  std::optional<token_usage> usage;
};

/// Reads a whole answer of status 200; the error is a sentence about what is not as promised.
result<reading, std::string> read_unary(contract::task task, std::string_view body);
result<reading, std::string> read_stream(contract::task task, std::string_view events);
result<reading, std::string> read(contract::task task, const exchange& e);

/// `error.message` of an OpenAI-shaped error body; the error says what is wrong with the shape.
result<std::string, std::string> read_error(std::string_view body);

/// The status says that nobody answered: 408, 429, 502, 503 or 504.
bool is_unavailable(int status);

std::string_view path_of(contract::task task);

/// A request body; `extra` is written as further members, already JSON (`"stream":true`).
std::string compose_body(
  contract::task task,
  std::string_view model,
  const std::vector<message>& messages,
  const sampling& how,
  std::string_view extra = {}
);

} // namespace assay::qualification
