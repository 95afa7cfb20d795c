#include "src/http/chunked.hpp"

#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::http {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

bool is_text(char c) {
  auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7f) || c == '\t';
}

} // namespace

chunked_decoder::step chunked_decoder::next(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && where_ != place::ended && where_ != place::broken) {
    if (where_ == place::data) {
      auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - at));
      left_ -= size;
      if (left_ == 0)
        where_ = place::data_cr;
      return {at + size, bytes.substr(at, size), status::more};
    }
    if (!take(bytes[at]))
      where_ = place::broken;
    ++at;
  }
  if (where_ == place::broken)
    return {at, {}, status::bad};
  return {at, {}, where_ == place::ended ? status::done : status::more};
}

bool chunked_decoder::take_size(char c) {
  auto digit = hex_value(c);
  if (digit >= 0) {
    // Fifteen digits are far above any limit and far below an overflow.
    where_ = place::size;
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    return ++line_bytes_ <= 15;
  }
  if (where_ == place::size_first)
    return false;
  if (c == ';') {
    where_ = place::extension;
    return true;
  }
  where_ = place::size_lf;
  return c == '\r';
}

bool chunked_decoder::take(char c) {
  switch (where_) {
  case place::size_first:
    left_ = 0;
    line_bytes_ = 0;
    return take_size(c);
  case place::size:
    return take_size(c);
  case place::extension:
    if (c == '\r') {
      where_ = place::size_lf;
      return true;
    }
    return is_text(c) && ++line_bytes_ <= limits::chunk_line_bytes;
  case place::size_lf:
    where_ = left_ == 0 ? place::trailer_start : place::data;
    line_bytes_ = 0;
    return c == '\n';
  case place::data_cr:
    where_ = place::data_lf;
    return c == '\r';
  case place::data_lf:
    where_ = place::size_first;
    return c == '\n';
  case place::trailer_start:
    where_ = c == '\r' ? place::end_lf : place::trailer;
    return c == '\r' || (is_text(c) && ++line_bytes_ <= limits::trailer_bytes);
  case place::trailer:
    if (c == '\r') {
      where_ = place::trailer_lf;
      return true;
    }
    return is_text(c) && ++line_bytes_ <= limits::trailer_bytes;
  case place::trailer_lf:
    where_ = place::trailer_start;
    return c == '\n';
  case place::end_lf:
    where_ = place::ended;
    return c == '\n';
  default:
    return false;
  }
}

} // namespace assay::http
