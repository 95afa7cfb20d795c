#pragma once
// One pass over a request's JSON body: what routing needs to know, and where the model's name
// stands.
//
// The body is never rewritten from a parsed form: the original bytes are forwarded, and only the
// model's name is replaced when the replica knows the model by another one. Routing keys count at
// the top level only; a second one of the same name (also when it is spelled with escapes) is
// refused, because the engine might read the other one.

#include "src/base/result.hpp"
#include "src/contract/errors.hpp"
#include "src/contract/shape.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace assay::http {

struct scanned_body {
  std::string model;        ///< Decoded, as the caller wrote it: `NAME` or `NAME@VERSION`.
  std::size_t model_at = 0; ///< First byte of the model's value, its quote included.
  std::size_t model_size = 0;
  std::size_t prompt_at = 0; ///< The value of `messages`, `prompt` or `input`, brackets included.
  std::size_t prompt_size = 0;
  contract::shape shape;
  bool include_usage = false; ///< The caller asked for a usage event.
};

struct scan_refusal {
  contract::failure failure = contract::failure::invalid_request;
  std::string message;
  std::string param; ///< Name of the offending key; empty when the whole body is meant.
};

/// Keeps the parser's working memory between calls; one per thread.
class body_scanner {
public:
  /// Bytes that must be readable behind the body; their content does not matter.
  static constexpr std::size_t padding = 64;

  body_scanner();
  ~body_scanner();
  body_scanner(body_scanner&&) noexcept;
  body_scanner& operator=(body_scanner&&) noexcept;

  /// `capacity` counts the body's bytes and the readable ones behind it.
  result<scanned_body, scan_refusal>
  scan(contract::operation asked, std::string_view body, std::size_t capacity);

private:
  struct parser;
  std::unique_ptr<parser> parser_;
};

/// The parts of the body to send when the replica knows the model as `served`. `middle` is empty
/// and `head` is everything when the names agree.
struct spliced_body {
  std::string_view head;
  std::string middle;
  std::string_view tail;

  std::size_t size() const { return head.size() + middle.size() + tail.size(); }
};

spliced_body splice_model(std::string_view body, const scanned_body& scan, std::string_view served);

} // namespace assay::http
