#pragma once
// The answers that are ours: refusals by the error table and small JSON documents. Pure.

#include "src/contract/errors.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::http {

struct refusal {
  contract::failure failure = contract::failure::internal_error;
  std::string message;
  std::string param;
  std::uint32_t retry_after_seconds = 0; ///< 0: none, or a default where the status wants one.
  std::string_view allow;                ///< For 405: the methods.
};

struct reply_terms {
  std::string_view request_id; ///< Empty: none yet.
  bool keeps = true;           ///< The connection stays open.
  std::uint8_t minor = 1;      ///< Of the client.
  std::string_view decision{}; ///< For `assay explain`; empty: none was made, or it is not shown.
  contract::api_family family = contract::api_family::openai; ///< Whose words an error has.
};

/// Head and body of a refusal.
std::string write_refusal(const refusal& r, const reply_terms& terms);

/// Head and body of a 200 with JSON.
std::string write_document(std::string_view json, const reply_terms& terms);

std::string_view reason_phrase(int status);

/// Whether `write_refusal` of this must be followed by a close, whoever else wants to stay.
bool closes(const refusal& r);

/// The body of an error in the family's words.
std::string write_error_body(
  contract::failure failure,
  std::string_view message,
  std::string_view param,
  const reply_terms& terms
);

/// What an error event says beside its message, where the family has it.
struct event_terms {
  contract::api_family family = contract::api_family::openai;
  std::string_view request_id;
  std::string_view subject;   ///< Id of the response that failed.
  std::uint64_t sequence = 0; ///< Number of this event.
};

/// How a stream that was cut ends, its blank line included: `data: {"error":...}`, Anthropic's
/// event `error`, or for Responses `response.failed`.
std::string
write_error_event(contract::failure failure, std::string_view message, const event_terms& terms);

} // namespace assay::http
