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
};

/// Head and body of a refusal.
std::string write_refusal(const refusal& r, const reply_terms& terms);

/// Head and body of a 200 with JSON.
std::string write_document(std::string_view json, const reply_terms& terms);

std::string_view reason_phrase(int status);

/// Whether `write_refusal` of this must be followed by a close, whoever else wants to stay.
bool closes(const refusal& r);

/// `data: {"error":...}` and a blank line: how a stream that was cut ends.
std::string write_error_event(contract::failure failure, std::string_view message);

} // namespace assay::http
