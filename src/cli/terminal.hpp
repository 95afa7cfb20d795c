#pragma once
// What the command line knows of the terminal it writes to, and the two things it draws there.
//
// Tables fit the width; progress is drawn only on a terminal and never into a pipe or a log.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

struct terminal {
  bool is_tty = false;     ///< Standard output is a terminal.
  std::size_t columns = 0; ///< 0: as wide as needed.
};

terminal look_at_terminal();

using row = std::vector<std::string>;

/// Columns padded with two spaces between them; the first row is the head. When the lines would be
/// longer than `columns`, the widest columns are cut with `…`: first those that are no name, no
/// time and wider than their head, then what has to be.
std::string draw_table(const std::vector<row>& rows, std::size_t columns);

/// `name  value` lines. Values are whole: one that is too wide goes on below itself.
std::string draw_fields(const std::vector<row>& rows, std::size_t columns);

/// Characters as a terminal counts them: UTF-8 code points (wide glyphs count as one).
std::size_t width(std::string_view utf8);

/// `12 of 20  [########      ]  what` on one line that is drawn over. Not on a terminal it is a
/// line now and then, so that whoever reads a log sees that something goes on.
class progress_line {
public:
  explicit progress_line(terminal where) : where_{where} {}
  ~progress_line() { clear(); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void show(std::uint64_t done, std::uint64_t total, std::string_view what);
  void clear();

private:
  void tell(std::uint64_t done, std::uint64_t total, std::string_view what);

  terminal where_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

/// `2026-12-01T22:10:09Z`, as RFC 3339 has it and --at takes it: every time that people are shown.
std::string date_text(std::int64_t unix_ms);

} // namespace assay::cli
