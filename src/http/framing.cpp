#include "src/http/framing.hpp"

#include "src/base/limits.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace assay::http {

namespace {

using contract::failure;

constexpr std::size_t method_bytes = 32;
constexpr std::size_t usual_fields = 12; ///< Room for them is taken at once.

constexpr auto make_token_table() {
  std::array<bool, 256> table{};
  for (unsigned c = '0'; c <= '9'; ++c)
    table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c)
    table[c] = table[c - 'a' + 'A'] = true;
  for (char c : {'!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~'})
    table[static_cast<unsigned char>(c)] = true;
  return table;
}

constexpr auto token_table = make_token_table();

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return token_table[static_cast<unsigned char>(c)];
  });
}

/// No control bytes but tab, and so no NUL and no bare CR.
bool is_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

bool is_target(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7f && c != '#';
  });
}

bool is_host(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7f && c != ',' && c != '/' && c != '@' && c != '\\' && c != '"';
  });
}

bool is_digits(std::string_view text) {
  return !text.empty()
         && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

slice slice_of(std::string_view bytes, std::string_view part) {
  return {
    static_cast<std::uint32_t>(part.data() - bytes.data()),
    static_cast<std::uint32_t>(part.size())};
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

struct known_field {
  std::string_view name;
  field_kind kind;
};

constexpr std::array known_fields{
  known_field{"te", field_kind::hop_by_hop},
  known_field{"host", field_kind::host},
  known_field{"cookie", field_kind::cookie},
  known_field{"expect", field_kind::expect},
  known_field{"server", field_kind::server},
  known_field{"trailer", field_kind::hop_by_hop},
  known_field{"upgrade", field_kind::upgrade},
  known_field{"x-api-key", field_kind::credential},
  known_field{"api-key", field_kind::credential},
  known_field{"connection", field_kind::connection},
  known_field{"keep-alive", field_kind::hop_by_hop},
  known_field{"set-cookie", field_kind::set_cookie},
  known_field{"retry-after", field_kind::retry_after},
  known_field{"content-type", field_kind::content_type},
  known_field{"x-request-id", field_kind::request_id},
  known_field{"authorization", field_kind::credential},
  known_field{"cache-control", field_kind::cache_control},
  known_field{"content-length", field_kind::content_length},
  known_field{"accept-encoding", field_kind::accept_encoding},
  known_field{"x-forwarded-for", field_kind::forwarded_for},
  known_field{"content-encoding", field_kind::content_encoding},
  known_field{"proxy-connection", field_kind::hop_by_hop},
  known_field{"transfer-encoding", field_kind::transfer_encoding},
  known_field{"proxy-authenticate", field_kind::hop_by_hop},
  known_field{"proxy-authorization", field_kind::credential},
};

field_kind kind_of(std::string_view name) {
  if (name.size() > 8 && same_ignoring_case(name.substr(0, 8), "x-assay-"))
    return field_kind::assay;
  for (const auto& known : known_fields)
    if (known.name.size() == name.size() && same_ignoring_case(name, known.name))
      return known.kind;
  return field_kind::other;
}

} // namespace

bool same_ignoring_case(std::string_view a, std::string_view lower_case) {
  return a.size() == lower_case.size()
         && std::equal(a.begin(), a.end(), lower_case.begin(), [](char x, char y) {
              return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x) == y;
            });
}

bool list_has(std::string_view list, std::string_view lower_case_word) {
  while (!list.empty()) {
    auto comma = std::min(list.find(','), list.size());
    if (same_ignoring_case(trim(list.substr(0, comma)), lower_case_word))
      return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

reading head_lines::fail(contract::failure failure, std::string_view why) {
  failure_ = failure;
  why_ = why;
  return reading::failed;
}

void head_lines::restart() {
  at_ = searched_ = 0;
  lengths_ = encodings_ = hosts_ = 0;
  why_ = {};
}

reading head_lines::next_line(std::string_view bytes, std::string_view& line) {
  auto end = bytes.find('\n', searched_);
  if (end == bytes.npos) {
    searched_ = static_cast<std::uint32_t>(bytes.size());
    if (bytes.size() >= limits::head_bytes)
      return fail(failure::head_too_large, "the head is longer than 65536 bytes");
    return reading::incomplete;
  }
  if (end >= limits::head_bytes)
    return fail(failure::head_too_large, "the head is longer than 65536 bytes");
  if (end == at_ || bytes[end - 1] != '\r')
    return fail(failure::bad_framing, "a head line ends in LF without CR; lines end in CR LF");
  line = bytes.substr(at_, end - 1 - at_);
  at_ = searched_ = static_cast<std::uint32_t>(end + 1);
  return reading::complete;
}

reading head_lines::take_field(std::string_view bytes, std::string_view line, message_head& head) {
  if (line.front() == ' ' || line.front() == '\t')
    return fail(failure::bad_framing, "a folded header line; send each header on one line");
  if (head.fields.size() == limits::headers)
    return fail(failure::head_too_large, "more than 128 header fields");
  auto colon = line.find(':');
  if (colon == line.npos)
    return fail(failure::bad_framing, "a header line without a colon");
  auto name = line.substr(0, colon);
  if (!is_token(name))
    return fail(
      failure::bad_framing,
      "a header name that is empty or holds a space or a control byte (no space before the colon)"
    );
  auto value = trim(line.substr(colon + 1));
  if (!is_value(value))
    return fail(failure::bad_framing, "a header value holds a control byte (NUL or bare CR)");
  head.fields.push_back({slice_of(bytes, name), slice_of(bytes, value), kind_of(name)});
  return take_known(bytes, head.fields.back(), head);
}

reading head_lines::take_known(std::string_view bytes, const field& f, message_head& head) {
  auto value = f.value.of(bytes);
  switch (f.kind) {
  case field_kind::content_length:
    if (++lengths_ > 1)
      return fail(failure::bad_framing, "more than one Content-Length");
    if (!is_digits(value) || value.size() > 18)
      return fail(failure::bad_framing, "Content-Length is not a plain decimal number");
    for (auto digit : value)
      head.content_length = head.content_length * 10 + static_cast<std::uint64_t>(digit - '0');
    head.framing = body_framing::sized;
    return reading::complete;
  case field_kind::transfer_encoding:
    if (++encodings_ > 1 || value != "chunked")
      return fail(failure::bad_framing, "Transfer-Encoding may only be exactly: chunked");
    if (head.minor == 0)
      return fail(failure::bad_framing, "Transfer-Encoding on HTTP/1.0");
    head.framing = body_framing::chunked;
    return reading::complete;
  case field_kind::host:
    if (++hosts_ > 1)
      return fail(failure::bad_framing, "more than one Host");
    if (!is_host(value))
      return fail(failure::bad_framing, "Host is empty or holds a byte that no host name has");
    return reading::complete;
  case field_kind::connection:
    if (list_has(value, "close"))
      head.keep_alive = false;
    if (head.minor == 0 && list_has(value, "keep-alive"))
      head.keep_alive = true;
    return reading::complete;
  default:
    return reading::complete;
  }
}

void request_reader::reset() {
  restart();
  started_ = false;
  auto fields = std::move(head_.fields);
  fields.clear();
  fields.reserve(usual_fields);
  head_ = {};
  head_.fields = std::move(fields);
}

reading request_reader::read(std::string_view bytes) {
  // A TLS hello or other noise is refused at its first byte instead of at a timeout.
  if (!started_ && !bytes.empty() && !token_table[static_cast<unsigned char>(bytes.front())])
    return fail(failure::bad_framing, "this does not begin like an HTTP/1.1 request");
  for (;;) {
    std::string_view line;
    auto got = next_line(bytes, line);
    if (!started_ && got == reading::incomplete && bytes.size() > limits::uri_bytes + 64)
      return fail(failure::uri_too_long, "the request target is longer than 8192 bytes");
    if (got != reading::complete)
      return got;
    if (started_ && line.empty())
      return finish();
    got = started_ ? read_header(bytes, line) : read_start(bytes, line);
    if (got != reading::complete)
      return got;
    started_ = true;
  }
}

reading request_reader::read_start(std::string_view bytes, std::string_view line) {
  auto first = line.find(' ');
  auto last = line.rfind(' ');
  if (first == line.npos || first == last)
    return fail(failure::bad_framing, "the request line is not: METHOD TARGET HTTP/1.1");
  auto method = line.substr(0, first);
  auto target = line.substr(first + 1, last - first - 1);
  auto version = line.substr(last + 1);
  if (!is_token(method) || method.size() > method_bytes)
    return fail(failure::bad_framing, "the method is not a token");
  if (target.size() > limits::uri_bytes)
    return fail(failure::uri_too_long, "the request target is longer than 8192 bytes");
  if (!is_target(target) || (target.front() != '/' && target != "*"))
    return fail(failure::bad_framing, "the request target is not a path that begins with /");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return fail(failure::bad_framing, "the version is not HTTP/1.1 or HTTP/1.0");
  head_.method = slice_of(bytes, method);
  head_.target = slice_of(bytes, target);
  head_.path = slice_of(bytes, target.substr(0, target.find('?')));
  head_.minor = version.back() == '1' ? 1 : 0;
  head_.keep_alive = head_.minor == 1;
  return reading::complete;
}

reading request_reader::read_header(std::string_view bytes, std::string_view line) {
  auto got = take_field(bytes, line, head_);
  if (got != reading::complete)
    return got;
  const auto& f = head_.fields.back();
  if (f.kind == field_kind::upgrade)
    head_.upgrades = true;
  if (f.kind == field_kind::expect && head_.minor == 1) {
    auto known = same_ignoring_case(f.value.of(bytes), "100-continue");
    head_.expects_continue |= known;
    head_.expects_other |= !known;
  }
  return reading::complete;
}

reading request_reader::finish() {
  if (hosts_ != 1)
    return fail(failure::bad_framing, "no Host header");
  if (lengths_ > 0 && encodings_ > 0)
    return fail(failure::bad_framing, "both Content-Length and Transfer-Encoding");
  head_.bytes = at_;
  return reading::complete;
}

void response_reader::reset() {
  restart();
  started_ = false;
  auto fields = std::move(head_.fields);
  fields.clear();
  fields.reserve(usual_fields);
  head_ = {};
  head_.fields = std::move(fields);
}

reading response_reader::read(std::string_view bytes) {
  for (;;) {
    std::string_view line;
    auto got = next_line(bytes, line);
    if (got != reading::complete)
      return got;
    if (started_ && line.empty())
      return finish();
    got = started_ ? take_field(bytes, line, head_) : read_start(bytes, line);
    if (got != reading::complete)
      return got;
    started_ = true;
  }
}

reading response_reader::read_start(std::string_view bytes, std::string_view line) {
  if (line.size() < 12 || (line.substr(0, 9) != "HTTP/1.1 " && line.substr(0, 9) != "HTTP/1.0 "))
    return fail(failure::upstream_error, "the replica's answer does not begin with HTTP/1.1");
  auto digits = line.substr(9, 3);
  if (!is_digits(digits) || digits.front() == '0' || (line.size() > 12 && line[12] != ' '))
    return fail(failure::upstream_error, "the replica's status is not three digits");
  if (!is_value(line))
    return fail(failure::upstream_error, "the replica's status line holds a control byte");
  for (auto digit : digits)
    head_.status = static_cast<std::uint16_t>(head_.status * 10 + (digit - '0'));
  head_.minor = line[7] == '1' ? 1 : 0;
  head_.keep_alive = head_.minor == 1;
  head_.reason = slice_of(bytes, line.substr(std::min<std::size_t>(13, line.size())));
  return reading::complete;
}

reading response_reader::finish() {
  if (lengths_ > 0 && encodings_ > 0)
    return fail(failure::upstream_error, "the replica sent Content-Length and Transfer-Encoding");
  head_.bytes = at_;
  if (head_.status < 200 || head_.status == 204 || head_.status == 304) {
    head_.framing = body_framing::none;
    return reading::complete;
  }
  if (head_.framing == body_framing::none) {
    head_.framing = body_framing::until_close;
    head_.keep_alive = false;
  }
  return reading::complete;
}

} // namespace assay::http
