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
constexpr std::size_t narrowest = 8; ///< Of a column, unless it has to be
constexpr std::size_t least = 3;     ///< for the table to fit.
constexpr std::chrono::seconds line_every{10};

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

/// The byte at which character number `count` begins.
std::size_t byte_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at)
    if (starts_character(text[at]) && seen++ == count)
      break;
  return at;
}

/// At most `most` characters; what is cut out is shown by `…`. A sentence loses its end; a name its
/// middle, because names of one kind differ at their ends.
std::string fit(const std::string& text, std::size_t most) {
  auto all = width(text);
  if (all <= most)
    return text;
  if (most == 0)
    return {};
  auto behind = text.find(' ') == std::string::npos ? (most - 1) / 2 : 0;
  return text.substr(0, byte_of(text, most - 1 - behind)) + "…"
         + text.substr(byte_of(text, all - behind));
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

/// `2026-12-01T22:10:09Z` says nothing when it is cut.
bool is_time(std::string_view cell) {
  return cell.size() == sizeof "2026-12-01T22:10:09Z" - 1 && cell[10] == 'T' && cell.back() == 'Z';
}

/// Makes the widest of the columns from `first` on narrower, as far as their floors let.
void shrink_to(
  std::vector<std::size_t>& widths,
  const std::vector<std::size_t>& floors,
  std::size_t first,
  std::size_t columns
) {
  while (total(widths) > columns) {
    auto widest = widths.size();
    for (auto i = first; i < widths.size(); ++i)
      if (widths[i] > floors[i] && (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == widths.size())
      return;
    --widths[widest];
  }
}

/// The first column is what people type again, so it is cut last; before it heads and times.
void shrink(std::vector<std::size_t>& widths, const std::vector<row>& rows, std::size_t columns) {
  std::vector<std::size_t> floors(widths.size(), narrowest);
  for (std::size_t i = 0; i < rows.front().size(); ++i)
    floors[i] = std::max(narrowest, width(rows.front()[i]));
  for (const auto& line : rows)
    for (std::size_t i = 0; i < line.size(); ++i)
      if (is_time(line[i]))
        floors[i] = std::max(floors[i], line[i].size());
  shrink_to(widths, floors, 1, columns);
  shrink_to(widths, std::vector(widths.size(), narrowest), 1, columns);
  shrink_to(widths, std::vector(widths.size(), narrowest), 0, columns);
  shrink_to(widths, std::vector(widths.size(), least), 0, columns);
}

/// Where a line of at most `most` characters ends: behind a space when there is one.
std::size_t line_end(std::string_view text, std::size_t most) {
  if (width(text) <= most)
    return text.size();
  auto end = byte_of(text, most);
  auto space = text.substr(0, end + 1).rfind(' ');
  return space == std::string_view::npos || space == 0 ? end : space + 1;
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
    shrink(widths, rows, columns);
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

std::string draw_fields(const std::vector<row>& rows, std::size_t columns) {
  std::size_t names = 0;
  for (const auto& line : rows)
    names = std::max(names, width(line[0]));
  auto begin = names + gap;
  auto room = columns > begin + narrowest ? columns - begin : std::string::npos;
  std::string text;
  for (const auto& line : rows) {
    auto head = line[0] + std::string(begin - width(line[0]), ' ');
    for (std::string_view left = line[1]; !left.empty() || !head.empty(); head.clear()) {
      auto end = line_end(left, room);
      text += head.empty() ? std::string(begin, ' ') : head;
      text += left.substr(0, end);
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
      left.remove_prefix(end);
    }
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
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

} // namespace assay::cli
