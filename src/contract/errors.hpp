#pragma once
// The categories of failure that a caller can meet, and what each looks like on the wire.
//
// The table is the whole truth: status, type and code never appear anywhere else.
// Source: ../../docs/decisions/0003-error-table.md; shapes are OpenAI's
// `{"error":{message,type,param,code}}` and Anthropic's `{"type":"error","error":{type,message}}`.

#include "src/contract/operation.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::contract {

enum class failure : std::uint8_t {
  invalid_request,             ///< 400 malformed or missing fields
  bad_framing,                 ///< 400 and close: the head cannot be trusted to end where it says
  invalid_api_key,             ///< 401
  model_not_allowed,           ///< 403
  data_policy,                 ///< 403, gate 6
  model_not_found,             ///< 404
  unknown_path,                ///< 404
  method_not_allowed,          ///< 405
  request_timeout,             ///< 408 the client was too slow, and close
  request_too_large,           ///< 413 and close
  uri_too_long,                ///< 414 and close
  unsupported_encoding,        ///< 415
  expectation_failed,          ///< 417
  unsupported_feature,         ///< 400, gate 1
  context_length_exceeded,     ///< 400, gate 3
  output_limit_exceeded,       ///< 400, gate 3
  rate_limited,                ///< 429, gate 8: the caller's own share is used up
  upgrade_required,            ///< 426 and close: no WebSocket here, ask over plain HTTP
  head_too_large,              ///< 431 and close
  no_qualified_implementation, ///< 503, gates 2, 4 and 5
  cost_ceiling,                ///< 503, gate 7
  no_capacity,                 ///< 503, gate 8
  upstream_error,              ///< 502
  upstream_disconnected,       ///< 502, or an error event once a stream has begun
  upstream_timeout,            ///< 504
  internal_error,              ///< 500
};

struct failure_row {
  int status;
  std::string_view type;
  std::string_view code;
  bool may_retry; ///< false: the answer carries `x-should-retry: false`
  bool closes;    ///< the connection is closed after the answer
  std::string_view anthropic_type;
};

const failure_row& describe(failure f);

/// The row's, but for a full house: that is 529 to Anthropic's clients, which wait for it.
int status_of(failure f, api_family family);

/// `{"error":{"message":...,"type":...,"param":...,"code":...}}`; `param` null when empty.
std::string to_json(failure f, std::string_view message, std::string_view param = {});

/// `{"type":"error","error":{"type":...,"message":...},"request_id":...}`; without an id when
/// empty.
std::string
to_anthropic_json(failure f, std::string_view message, std::string_view request_id = {});

/// Appends a JSON string.
void append_string(std::string& json, std::string_view text);

} // namespace assay::contract
