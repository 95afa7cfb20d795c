#include "src/http/reply.hpp"

#include "src/base/text.hpp"

namespace assay::http {

namespace {

void write_common(std::string& out, std::size_t body_bytes, const reply_terms& terms) {
  out += "content-type: application/json\r\ncontent-length: ";
  out += std::to_string(body_bytes);
  out += "\r\n";
  if (!terms.request_id.empty()) {
    out += "x-request-id: ";
    out += terms.request_id;
    out += "\r\n";
  }
  if (!terms.decision.empty()) {
    out += "x-assay-decision: ";
    out += terms.decision;
    out += "\r\n";
  }
  if (!terms.keeps)
    out += "connection: close\r\n";
  else if (terms.minor == 0)
    out += "connection: keep-alive\r\n";
}

/// `{"type":"response.failed","sequence_number":N,"response":{...}}`
std::string
failed_response(contract::failure failure, std::string_view message, const event_terms& terms) {
  std::string json = R"({"type":"response.failed","sequence_number":)";
  json += std::to_string(terms.sequence);
  json += R"(,"response":{"id":)";
  contract::append_string(json, terms.subject);
  json += R"(,"object":"response","status":"failed","output":[],"error":{"code":)";
  contract::append_string(json, contract::describe(failure).code);
  json += R"(,"message":)";
  contract::append_string(json, shortened(message));
  return json + "}}}";
}

} // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
  case 200:
    return "OK";
  case 400:
    return "Bad Request";
  case 401:
    return "Unauthorized";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 408:
    return "Request Timeout";
  case 413:
    return "Content Too Large";
  case 414:
    return "URI Too Long";
  case 415:
    return "Unsupported Media Type";
  case 417:
    return "Expectation Failed";
  case 426:
    return "Upgrade Required";
  case 429:
    return "Too Many Requests";
  case 431:
    return "Request Header Fields Too Large";
  case 500:
    return "Internal Server Error";
  case 502:
    return "Bad Gateway";
  case 503:
    return "Service Unavailable";
  case 504:
    return "Gateway Timeout";
  case 529:
    return "Overloaded";
  default:
    return "";
  }
}

bool closes(const refusal& r) {
  return contract::describe(r.failure).closes;
}

std::string write_refusal(const refusal& r, const reply_terms& terms) {
  const auto& row = contract::describe(r.failure);
  auto status = contract::status_of(r.failure, terms.family);
  auto body = write_error_body(r.failure, r.message, r.param, terms);
  auto all = terms;
  all.keeps = terms.keeps && !row.closes;
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out += reason_phrase(status);
  out += "\r\n";
  write_common(out, body.size(), all);
  if (!row.may_retry)
    out += "x-should-retry: false\r\n";
  if (row.status == 401)
    out += "www-authenticate: Bearer\r\n";
  if (row.status == 426)
    out += "upgrade: HTTP/1.1\r\n";
  if (row.status == 405) {
    out += "allow: ";
    out += r.allow;
    out += "\r\n";
  }
  if (status == 429 || row.status == 503) {
    out += "retry-after: ";
    out += std::to_string(r.retry_after_seconds > 0 ? r.retry_after_seconds : 1);
    out += "\r\n";
  }
  return out + "\r\n" + body;
}

std::string write_document(std::string_view json, const reply_terms& terms) {
  std::string out = "HTTP/1.1 200 OK\r\n";
  write_common(out, json.size(), terms);
  out += "\r\n";
  out += json;
  return out;
}

std::string write_error_body(
  contract::failure failure,
  std::string_view message,
  std::string_view param,
  const reply_terms& terms
) {
  if (terms.family == contract::api_family::anthropic)
    return contract::to_anthropic_json(failure, message, terms.request_id);
  return contract::to_json(failure, message, param);
}

std::string
write_error_event(contract::failure failure, std::string_view message, const event_terms& terms) {
  switch (terms.family) {
  case contract::api_family::openai:
    break;
  case contract::api_family::anthropic:
    return "event: error\ndata: " + contract::to_anthropic_json(failure, message, terms.request_id)
           + "\n\n";
  case contract::api_family::responses:
    return "event: response.failed\ndata: " + failed_response(failure, message, terms) + "\n\n";
  }
  return "data: " + contract::to_json(failure, message) + "\n\n";
}

} // namespace assay::http
