#pragma once
// Builds the heads that leave: the request's for the replica, the answer's for the client.
//
// Rebuilt, not copied: credentials and cookies of the caller are consumed here, the replica's
// secret is added, hop-by-hop fields go no further, and what frames the body is always ours. Every
// other field passes as it came, because clients and engines add fields we have never heard of.
// Pure.

#include "src/http/framing.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::http {

struct upstream_terms {
  std::string_view address; ///< `IP:PORT` of the replica.
  std::string_view secret;  ///< Empty: the replica asks for none.
  std::string_view request_id;
  std::string_view client_address; ///< Appended to x-forwarded-for.
  std::uint64_t body_bytes = 0;
};

/// Appends the head of the request to send, blank line included.
void write_request_head(
  std::string& out, std::string_view bytes, const request_head& head, const upstream_terms& terms
);

/// `x-assay-*` of an answer; not written when the contract does not expose them.
struct answer_metadata {
  std::string_view implementation;
  std::string_view pool;
  std::string_view decision;
  std::uint64_t route_generation = 0;
};

struct answer_terms {
  std::string_view request_id;
  const answer_metadata* metadata = nullptr;
  std::uint64_t stale_seconds = 0;            ///< Since a coordinator's word ran out; 0: it holds.
  body_framing framing = body_framing::sized; ///< Towards the client.
  std::uint64_t content_length = 0;
  bool keeps = true;          ///< The client's connection stays open.
  std::uint8_t minor = 1;     ///< Of the client.
  bool event_stream = false;  ///< Adds what keeps caches and proxies from holding events.
  bool replaces_body = false; ///< Content type and coding are ours: application/json.
};

/// Appends the head of the answer to send, blank line included.
void write_answer_head(
  std::string& out, std::string_view bytes, const response_head& head, const answer_terms& terms
);

/// The first field of that kind, or empty.
std::string_view find_field(std::string_view bytes, const message_head& head, field_kind kind);

/// The first field of that (lower-case) name, or empty.
std::string_view
find_field(std::string_view bytes, const message_head& head, std::string_view name);

/// At most 128 visible ASCII characters.
bool is_sane_request_id(std::string_view text);

/// What the caller presents as its key: `Authorization: Bearer KEY` or `x-api-key: KEY`. Empty when
/// there is none, or two that differ.
std::string_view presented_key(std::string_view bytes, const request_head& head);

bool is_event_stream(std::string_view content_type);
bool is_json(std::string_view content_type);

} // namespace assay::http
