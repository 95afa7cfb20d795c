#include "src/http/head.hpp"

#include <algorithm>
#include <charconv>

namespace assay::http {

namespace {

void add(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

void add(std::string& out, std::string_view name, std::uint64_t value) {
  char digits[20];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  add(out, name, std::string_view{digits, static_cast<std::size_t>(end - digits)});
}

/// Whether a Connection field asks for this name to be dropped. Nearly all say only `close` or
/// `keep-alive`, which no field is called.
bool is_named_by_connection(
  std::string_view bytes, const message_head& head, std::string_view name
) {
  std::string lower{name};
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return std::any_of(head.fields.begin(), head.fields.end(), [&](const field& f) {
    return f.kind == field_kind::connection && list_has(f.value.of(bytes), lower);
  });
}

bool names_fields(std::string_view bytes, const message_head& head) {
  return std::any_of(head.fields.begin(), head.fields.end(), [&](const field& f) {
    auto value = f.value.of(bytes);
    return f.kind == field_kind::connection && !same_ignoring_case(value, "close")
           && !same_ignoring_case(value, "keep-alive");
  });
}

bool passes_to_replica(field_kind kind) {
  switch (kind) {
  case field_kind::other:
  case field_kind::content_type:
  case field_kind::content_encoding:
  case field_kind::cache_control:
  case field_kind::server:
  case field_kind::set_cookie:
  case field_kind::retry_after:
    return true;
  default:
    return false;
  }
}

bool passes_to_client(field_kind kind, const answer_terms& terms) {
  switch (kind) {
  case field_kind::content_type:
  case field_kind::content_encoding:
    return !terms.replaces_body;
  case field_kind::cache_control:
    return !terms.event_stream;
  case field_kind::other:
  case field_kind::retry_after:
    return true;
  default:
    return false;
  }
}

void pass_fields(std::string& out, std::string_view bytes, const message_head& head, auto passes) {
  auto any_named = names_fields(bytes, head);
  for (const auto& f : head.fields) {
    if (!passes(f.kind))
      continue;
    auto name = f.name.of(bytes);
    if (any_named && is_named_by_connection(bytes, head, name))
      continue;
    add(out, name, f.value.of(bytes));
  }
}

std::string_view bearer_of(std::string_view value) {
  constexpr std::string_view scheme = "bearer ";
  if (value.size() <= scheme.size() || !same_ignoring_case(value.substr(0, scheme.size()), scheme))
    return {};
  value.remove_prefix(scheme.size());
  while (!value.empty() && value.front() == ' ')
    value.remove_prefix(1);
  return value;
}

bool media_type_is(std::string_view content_type, std::string_view wanted) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ')
    type.remove_suffix(1);
  return same_ignoring_case(type, wanted);
}

} // namespace

void write_request_head(
  std::string& out, std::string_view bytes, const request_head& head, const upstream_terms& terms
) {
  out += head.method.of(bytes);
  out += ' ';
  out += head.target.of(bytes);
  out += " HTTP/1.1\r\n";
  add(out, "host", terms.address);
  pass_fields(out, bytes, head, passes_to_replica);
  add(out, "content-length", terms.body_bytes);
  add(out, "accept-encoding", "identity");
  add(out, "x-request-id", terms.request_id);
  if (!terms.secret.empty()) {
    out += "authorization: Bearer ";
    out += terms.secret;
    out += "\r\n";
  }
  out += "x-forwarded-for: ";
  for (const auto& f : head.fields)
    if (f.kind == field_kind::forwarded_for) {
      out += f.value.of(bytes);
      out += ", ";
    }
  out += terms.client_address;
  out += "\r\n\r\n";
}

void write_answer_head(
  std::string& out, std::string_view bytes, const response_head& head, const answer_terms& terms
) {
  constexpr std::size_t added_bytes = 384; // What is added below, in most answers.
  out.reserve(head.bytes + added_bytes);
  char status[4];
  std::to_chars(status, status + 3, head.status);
  out += "HTTP/1.1 ";
  out.append(status, 3);
  out += ' ';
  out += head.reason.of(bytes);
  out += "\r\n";
  pass_fields(out, bytes, head, [&](field_kind kind) { return passes_to_client(kind, terms); });
  if (terms.replaces_body)
    add(out, "content-type", "application/json");
  if (terms.framing == body_framing::sized)
    add(out, "content-length", terms.content_length);
  if (terms.framing == body_framing::chunked)
    add(out, "transfer-encoding", "chunked");
  if (terms.event_stream)
    out += "cache-control: no-cache\r\nx-accel-buffering: no\r\n";
  add(out, "x-request-id", terms.request_id);
  if (terms.metadata) {
    add(out, "x-assay-implementation", terms.metadata->implementation);
    add(out, "x-assay-pool", terms.metadata->pool);
    add(out, "x-assay-route-generation", terms.metadata->route_generation);
    add(out, "x-assay-decision", terms.metadata->decision);
  }
  if (terms.stale_seconds > 0)
    add(out, "x-assay-stale-seconds", terms.stale_seconds);
  if (!terms.keeps)
    add(out, "connection", "close");
  else if (terms.minor == 0)
    add(out, "connection", "keep-alive");
  out += "\r\n";
}

std::string_view find_field(std::string_view bytes, const message_head& head, field_kind kind) {
  for (const auto& f : head.fields)
    if (f.kind == kind)
      return f.value.of(bytes);
  return {};
}

std::string_view
find_field(std::string_view bytes, const message_head& head, std::string_view name) {
  for (const auto& f : head.fields)
    if (same_ignoring_case(f.name.of(bytes), name))
      return f.value.of(bytes);
  return {};
}

bool is_sane_request_id(std::string_view text) {
  return !text.empty() && text.size() <= 128
         && std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string_view presented_key(std::string_view bytes, const request_head& head) {
  std::string_view key;
  for (const auto& f : head.fields) {
    if (f.kind != field_kind::credential)
      continue;
    auto name = f.name.of(bytes);
    auto value = f.value.of(bytes);
    if (same_ignoring_case(name, "authorization"))
      value = bearer_of(value);
    else if (!same_ignoring_case(name, "x-api-key"))
      continue;
    if (!key.empty() && key != value)
      return {};
    key = value;
  }
  return key;
}

bool is_event_stream(std::string_view content_type) {
  return media_type_is(content_type, "text/event-stream");
}

bool is_json(std::string_view content_type) {
  return media_type_is(content_type, "application/json")
         || media_type_is(content_type, "application/problem+json");
}

} // namespace assay::http
