#include "src/contract/errors.hpp"

#include "src/base/text.hpp"

#include <array>

namespace assay::contract {

namespace {

constexpr std::array rows{
  failure_row{
    400, "invalid_request_error", "invalid_request", false, false, "invalid_request_error"},
  failure_row{
    400, "invalid_request_error", "invalid_request", false, true, "invalid_request_error"},
  failure_row{401, "authentication_error", "invalid_api_key", false, false, "authentication_error"},
  failure_row{403, "permission_error", "model_not_allowed", false, false, "permission_error"},
  failure_row{403, "permission_error", "data_policy", false, false, "permission_error"},
  failure_row{404, "invalid_request_error", "model_not_found", false, false, "not_found_error"},
  failure_row{404, "invalid_request_error", "unknown_path", false, false, "not_found_error"},
  failure_row{
    405, "invalid_request_error", "method_not_allowed", false, false, "invalid_request_error"},
  failure_row{408, "invalid_request_error", "request_timeout", true, true, "invalid_request_error"},
  failure_row{413, "invalid_request_error", "request_too_large", false, true, "request_too_large"},
  failure_row{414, "invalid_request_error", "uri_too_long", false, true, "invalid_request_error"},
  failure_row{
    415, "invalid_request_error", "unsupported_encoding", false, false, "invalid_request_error"},
  failure_row{
    417, "invalid_request_error", "expectation_failed", false, false, "invalid_request_error"},
  failure_row{
    400, "invalid_request_error", "unsupported_feature", false, false, "invalid_request_error"},
  failure_row{
    400, "invalid_request_error", "context_length_exceeded", false, false, "invalid_request_error"},
  failure_row{
    400, "invalid_request_error", "output_limit_exceeded", false, false, "invalid_request_error"},
  failure_row{429, "rate_limit_error", "rate_limit_exceeded", true, false, "rate_limit_error"},
  failure_row{
    426, "invalid_request_error", "upgrade_required", false, true, "invalid_request_error"},
  failure_row{431, "invalid_request_error", "head_too_large", false, true, "invalid_request_error"},
  failure_row{
    503, "service_unavailable_error", "no_qualified_implementation", true, false, "api_error"},
  failure_row{503, "service_unavailable_error", "cost_ceiling", true, false, "api_error"},
  failure_row{503, "service_unavailable_error", "no_capacity", true, false, "overloaded_error"},
  failure_row{502, "server_error", "upstream_error", true, false, "api_error"},
  failure_row{502, "server_error", "upstream_disconnected", true, false, "api_error"},
  failure_row{504, "timeout_error", "upstream_timeout", true, false, "api_error"},
  failure_row{500, "server_error", "internal_error", true, false, "api_error"},
};
static_assert(rows.size() == static_cast<std::size_t>(failure::internal_error) + 1);

} // namespace

void append_string(std::string& json, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  json += '"';
  for (auto c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      json += '\\';
    if (byte >= 0x20) {
      json += c;
      continue;
    }
    json += "\\u00";
    json += digits[byte >> 4];
    json += digits[byte & 15];
  }
  json += '"';
}

const failure_row& describe(failure f) {
  return rows[static_cast<std::size_t>(f)];
}

int status_of(failure f, api_family family) {
  constexpr int overloaded = 529;
  auto full = f == failure::no_capacity && family == api_family::anthropic;
  return full ? overloaded : describe(f).status;
}

std::string to_json(failure f, std::string_view message, std::string_view param) {
  const auto& row = describe(f);
  std::string json = R"({"error":{"message":)";
  append_string(json, shortened(message));
  json += R"(,"type":)";
  append_string(json, row.type);
  json += R"(,"param":)";
  if (param.empty())
    json += "null";
  else
    append_string(json, param);
  json += R"(,"code":)";
  append_string(json, row.code);
  json += "}}";
  return json;
}

std::string to_anthropic_json(failure f, std::string_view message, std::string_view request_id) {
  std::string json = R"({"type":"error","error":{"type":)";
  append_string(json, describe(f).anthropic_type);
  json += R"(,"message":)";
  append_string(json, shortened(message));
  json += '}';
  if (!request_id.empty()) {
    json += R"(,"request_id":)";
    append_string(json, request_id);
  }
  json += '}';
  return json;
}

} // namespace assay::contract
