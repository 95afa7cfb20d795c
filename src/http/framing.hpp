#pragma once
// Where a message begins and ends, decided by us before anything else looks at the bytes.
//
// Two programs that disagree on where a request ends let one caller's bytes become the next
// caller's request. So whatever has two readings is refused: only one Host, one Content-Length of
// digits or a Transfer-Encoding that is exactly `chunked` on HTTP/1.1, CRLF line ends, no folded
// line, no space before a colon. Pure over bytes; it keeps offsets, never pointers, so the buffer
// may move.

#include "src/contract/errors.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace assay::http {

/// A range of the buffer that was read, counted from the message's first byte.
struct slice {
  std::uint32_t at = 0;
  std::uint32_t size = 0;

  std::string_view of(std::string_view bytes) const { return bytes.substr(at, size); }
};

/// Fields that the relay treats specially; everything else passes as it came.
enum class field_kind : std::uint8_t {
  other,
  host,
  content_length,
  transfer_encoding,
  connection,
  hop_by_hop, ///< keep-alive, proxy-*, te, trailer, upgrade: never forwarded.
  upgrade,
  credential, ///< authorization, x-api-key: consumed here.
  cookie,
  expect,
  accept_encoding,
  content_encoding,
  content_type,
  request_id,
  forwarded_for,
  assay, ///< x-assay-*: ours in both directions, never passed through.
  set_cookie,
  server,
  retry_after,
  cache_control,
};

struct field {
  slice name;
  slice value; ///< Without surrounding white space.
  field_kind kind = field_kind::other;
};

enum class body_framing : std::uint8_t {
  none,
  sized,
  chunked,
  until_close, ///< Answers only: the body ends with the connection.
};

struct message_head {
  std::vector<field> fields;
  std::uint64_t content_length = 0;
  std::uint32_t bytes = 0; ///< Of the head, with its blank line.
  std::uint8_t minor = 1;  ///< HTTP/1.0 or 1.1.
  body_framing framing = body_framing::none;
  bool keep_alive = true;
};

struct request_head : message_head {
  slice method;
  slice target; ///< As sent, origin form.
  slice path;   ///< `target` without its query.
  bool expects_continue = false;
  bool expects_other = false; ///< An expectation we do not know: 417.
  bool upgrades = false;
};

struct response_head : message_head {
  std::uint16_t status = 0;
  slice reason;
};

enum class reading : std::uint8_t { incomplete, complete, failed };

/// Shared by both readers: takes lines and fields, and remembers why it failed.
class head_lines {
public:
  contract::failure failure() const { return failure_; }
  std::string_view why() const { return why_; }

protected:
  /// The next line without its CRLF; incomplete while there is none.
  reading next_line(std::string_view bytes, std::string_view& line);
  reading take_field(std::string_view bytes, std::string_view line, message_head& head);
  reading take_known(std::string_view bytes, const field& f, message_head& head);
  reading fail(contract::failure failure, std::string_view why);
  void restart();

  std::uint32_t at_ = 0;       ///< First byte of the line that is not read yet.
  std::uint32_t searched_ = 0; ///< No line end before this byte: a slow sender costs no rescans.
  int lengths_ = 0;
  int encodings_ = 0;
  int hosts_ = 0;

private:
  contract::failure failure_ = contract::failure::bad_framing;
  std::string_view why_;
};

/// Reads one request head. `read` is called with all bytes since the request's first one, as often
/// as more arrive; after `complete` or `failed` call `reset`.
class request_reader : head_lines {
public:
  using head_lines::failure;
  using head_lines::why;

  reading read(std::string_view bytes);
  const request_head& head() const { return head_; }
  void reset();

private:
  reading read_start(std::string_view bytes, std::string_view line);
  reading read_header(std::string_view bytes, std::string_view line);
  reading finish();

  request_head head_;
  bool started_ = false;
};

/// Reads one answer's head from a replica, by the same rules; what breaks them is the replica's
/// failure (502), never guessed at. `for_head_request` and 1xx, 204, 304 have no body.
class response_reader : head_lines {
public:
  using head_lines::why;

  reading read(std::string_view bytes);
  const response_head& head() const { return head_; }
  void reset();

private:
  reading read_start(std::string_view bytes, std::string_view line);
  reading finish();

  response_head head_;
  bool started_ = false;
};

/// ASCII only, as HTTP wants it.
bool same_ignoring_case(std::string_view a, std::string_view lower_case);

/// Whether a comma-separated list holds the word, in any case.
bool list_has(std::string_view list, std::string_view lower_case_word);

} // namespace assay::http
