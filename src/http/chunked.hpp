#pragma once
// Takes the chunked transfer coding apart, strictly: sizes are bare hexadecimal digits, every line
// ends in CR LF, extensions and trailers are bounded and dropped. What has two readings is `bad`.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay::http {

class chunked_decoder {
public:
  enum class status : std::uint8_t { more, done, bad };

  struct step {
    std::size_t used = 0;     ///< Bytes taken from the front of the input.
    std::string_view payload; ///< Part of the input; may be empty.
    status now = status::more;
  };

  /// One step: takes framing up to the next piece of payload, and that piece. Call again with the
  /// rest until it is empty, `done` (what follows belongs to the next message) or `bad`.
  step next(std::string_view bytes);

  /// In the middle of nothing: all that was announced so far has arrived.
  bool between_chunks() const { return where_ == place::size_first; }

private:
  enum class place : std::uint8_t {
    size_first,
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_start,
    trailer,
    trailer_lf,
    end_lf,
    ended,
    broken,
  };

  bool take(char c);
  bool take_size(char c);

  std::uint64_t left_ = 0;
  std::uint32_t line_bytes_ = 0;
  place where_ = place::size_first;
};

} // namespace assay::http
