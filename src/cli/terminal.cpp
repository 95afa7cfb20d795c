#include "src/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>

namespace assay::cli {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest = 8;
constexpr std::chrono::seconds line_every{10};

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

/// At most `most` characters; what is cut off is shown by `…`.
std::string fit(const std::string& text, std::size_t most) {
  if (width(text) <= most)
    return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if (starts_character(text[end]) && ++seen == most)
      break;
  return text.substr(0, end) + "…";
}

std::vector<std::size_t> natural_widths(const std::vector<row>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& line : rows) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], width(line[i]));
  }
  return widths;
}

std::size_t total(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + gap * (widths.size() - 1);
}

/// The first column is what people type again: it is cut only when nothing else is left to cut.
void shrink(std::vector<std::size_t>& widths, const row& head, std::size_t columns) {
  for (std::size_t first = 1; total(widths) > columns;) {
    auto widest = widths.end();
    for (auto it = widths.begin() + static_cast<std::ptrdiff_t>(first); it < widths.end(); ++it) {
      auto index = static_cast<std::size_t>(it - widths.begin());
      auto floor = std::max(narrowest, index < head.size() ? width(head[index]) : 0);
      if (*it > floor && (widest == widths.end() || *it > *widest))
        widest = it;
    }
    if (widest == widths.end() && first == 0)
      return;
    if (widest == widths.end())
      first = 0;
    else
      --*widest;
  }
}

} // namespace

terminal look_at_terminal() {
  terminal result;
  result.is_tty = ::isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (result.is_tty && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    result.columns = size.ws_col;
  if (const auto* columns = std::getenv("COLUMNS"))
    result.columns = static_cast<std::size_t>(std::strtoul(columns, nullptr, 10));
  return result;
}

std::size_t width(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(utf8, starts_character));
}

std::string draw_table(const std::vector<row>& rows, std::size_t columns) {
  if (rows.empty())
    return {};
  auto widths = natural_widths(rows);
  if (columns > 0)
    shrink(widths, rows.front(), columns);
  std::string text;
  for (const auto& line : rows) {
    std::string drawn;
    for (std::size_t i = 0; i < line.size(); ++i) {
      auto cell = fit(line[i], widths[i]);
      drawn += cell;
      if (i + 1 < line.size())
        drawn.append(widths[i] - width(cell) + gap, ' ');
    }
    drawn.erase(drawn.find_last_not_of(' ') + 1);
    text += drawn + '\n';
  }
  return text;
}

void progress_line::show(std::uint64_t done, std::uint64_t total, std::string_view what) {
  if (!where_.is_tty)
    return tell(done, total, what);
  constexpr std::uint64_t cells = 24;
  auto filled = total == 0 ? 0 : std::min(cells, cells * done / total);
  auto bar = std::string(filled, '#') + std::string(cells - filled, ' ');
  auto line = total == 0 ? std::string{what}
                         : "[" + bar + "]  " + std::to_string(done) + " of " + std::to_string(total)
                             + "  " + std::string{what};
  std::fprintf(
    stdout, "\r\033[K%s", fit(line, where_.columns > 1 ? where_.columns - 1 : 79).c_str()
  );
  std::fflush(stdout);
  is_drawn_ = true;
}

void progress_line::tell(std::uint64_t done, std::uint64_t total, std::string_view what) {
  auto now = std::chrono::steady_clock::now();
  if (total == 0 || now - told_ < line_every)
    return;
  told_ = now;
  std::printf(
    "  %s of %s  %s\n",
    std::to_string(done).c_str(),
    std::to_string(total).c_str(),
    std::string{what}.c_str()
  );
  std::fflush(stdout);
}

void progress_line::clear() {
  if (!is_drawn_)
    return;
  std::fputs("\r\033[K", stdout);
  std::fflush(stdout);
  is_drawn_ = false;
}

std::string date_text(std::int64_t unix_ms) {
  auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

} // namespace assay::cli
