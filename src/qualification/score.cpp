#include "src/qualification/score.hpp"

#include "src/base/overloaded.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <re2/re2.h>

#include <optional>

namespace assay::qualification {

namespace {

// ASCII only, whatever the locale: a mark must not depend on the machine.
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Bytes of other scripts count as letters, so that a word never begins inside one of theirs.
bool is_word(char c) {
  return is_digit(c) || c == '_' || (lower(c) >= 'a' && lower(c) <= 'z')
         || static_cast<unsigned char>(c) >= 0x80;
}

std::string lowered(std::string_view text) {
  std::string out{text};
  for (auto& c : out)
    c = lower(c);
  return out;
}

std::string seen(std::string_view answer) {
  constexpr std::size_t most = 80;
  if (answer.size() <= most)
    return "\"" + std::string{answer} + "\"";
  return "\"" + std::string{answer.substr(0, most)} + "...\"";
}

mark wrong(std::string why) {
  return {false, std::move(why)};
}

/// Where `word` stands as whole words, whatever the case.
std::optional<std::size_t> find_word(std::string_view answer, std::string_view word) {
  const auto text = lowered(answer);
  const auto wanted = lowered(word);
  for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
    const auto end = at + wanted.size();
    const bool starts = at == 0 || !is_word(text[at - 1]) || !is_word(wanted.front());
    const bool ends = end == text.size() || !is_word(text[end]) || !is_word(wanted.back());
    if (starts && ends)
      return at;
  }
  return std::nullopt;
}

struct found_number {
  std::int64_t millionths = 0;
  std::size_t end = 0;
};

/// The number at `at`, where a digit stands. Thousands may be set apart by commas. A number too
/// large to be scaled is no number.
std::optional<found_number> number_at(std::string_view text, std::size_t at) {
  constexpr std::int64_t most = 9'000'000'000'000;
  const bool negative = at > 0 && text[at - 1] == '-' && (at < 2 || !is_word(text[at - 2]));
  std::int64_t whole = 0;
  auto i = at;
  for (; i < text.size(); ++i) {
    const bool comma = text[i] == ',' && i + 3 < text.size() && is_digit(text[i + 1])
                       && is_digit(text[i + 2]) && is_digit(text[i + 3])
                       && (i + 4 == text.size() || !is_digit(text[i + 4]));
    if (comma)
      continue;
    if (!is_digit(text[i]))
      break;
    whole = whole * 10 + (text[i] - '0');
    if (whole > most)
      return std::nullopt;
  }
  std::int64_t fraction = 0;
  std::int64_t scale = 100'000;
  if (i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1]))
    for (++i; i < text.size() && is_digit(text[i]); ++i, scale /= 10)
      fraction += (text[i] - '0') * scale;
  const auto value = whole * 1'000'000 + fraction;
  return found_number{negative ? -value : value, i};
}

/// The last number of the text that does not belong to a word (`H2O` holds none).
std::optional<std::int64_t> last_number(std::string_view text) {
  std::optional<std::int64_t> last;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      ++i;
      continue;
    }
    const auto start = i;
    const auto found = number_at(text, start);
    if (found && (start == 0 || !is_word(text[start - 1])))
      last = found->millionths;
    i = found ? found->end : start + 1;
    while (i < text.size() && is_digit(text[i]))
      ++i;
  }
  return last;
}

std::string millionths_text(std::int64_t value) {
  const auto size = value < 0 ? -value : value;
  auto text = fmt::format("{}{}", value < 0 ? "-" : "", size / 1'000'000);
  if (size % 1'000'000 == 0)
    return text;
  auto fraction = fmt::format("{:06}", size % 1'000'000);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

/// Without a code fence around it, and without outer space.
std::string_view unfenced(std::string_view text) {
  const auto trim = [](std::string_view t) {
    while (!t.empty() && is_space(t.front()))
      t.remove_prefix(1);
    while (!t.empty() && is_space(t.back()))
      t.remove_suffix(1);
    return t;
  };
  text = trim(text);
  if (!text.starts_with("```") || !text.ends_with("```") || text.size() < 6)
    return text;
  const auto line_end = text.find('\n');
  if (line_end == std::string_view::npos)
    return text;
  return trim(text.substr(line_end + 1, text.size() - line_end - 4));
}

bool has_type(const boost::json::value& v, std::string_view type) {
  if (type == "string")
    return v.is_string();
  if (type == "number")
    return v.is_number();
  if (type == "integer")
    return v.is_int64() || v.is_uint64();
  if (type == "boolean")
    return v.is_bool();
  if (type == "array")
    return v.is_array();
  if (type == "object")
    return v.is_object();
  return type == "null" && v.is_null();
}

mark score_one(const exact_answer& how, std::string_view answer) {
  if (normalise(answer) == normalise(how.text))
    return {true, {}};
  return wrong(fmt::format("wanted exactly \"{}\", got {}", how.text, seen(answer)));
}

mark score_one(const pattern_answer& how, std::string_view answer) {
  const re2::RE2 pattern{how.pattern, re2::RE2::Quiet};
  if (re2::RE2::PartialMatch(re2::StringPiece{answer.data(), answer.size()}, pattern))
    return {true, {}};
  return wrong(fmt::format("wanted a match of `{}`, got {}", how.pattern, seen(answer)));
}

mark score_one(const numeric_answer& how, std::string_view answer) {
  const auto value = last_number(answer);
  const auto wanted = millionths_text(how.value_millionths);
  if (!value)
    return wrong(fmt::format("wanted the number {}, got none in {}", wanted, seen(answer)));
  const auto off =
    *value > how.value_millionths ? *value - how.value_millionths : how.value_millionths - *value;
  if (off <= how.tolerance_millionths)
    return {true, {}};
  return wrong(fmt::format("wanted {}, got {}", wanted, millionths_text(*value)));
}

mark score_one(const choice_answer& how, std::string_view answer) {
  std::optional<std::size_t> first;
  std::string_view chosen;
  for (const auto& choice : how.among) {
    const auto at = find_word(answer, choice);
    if (at && (!first || *at < *first)) {
      first = at;
      chosen = choice;
    }
  }
  if (chosen == how.right)
    return {true, {}};
  if (!first)
    return wrong(fmt::format("wanted {}, got none of the choices in {}", how.right, seen(answer)));
  return wrong(fmt::format("wanted {}, got {}", how.right, chosen));
}

mark score_one(const contains_answer& how, std::string_view answer) {
  if (find_word(answer, how.word))
    return {true, {}};
  return wrong(fmt::format("wanted the word \"{}\" in {}", how.word, seen(answer)));
}

mark score_one(const json_answer& how, std::string_view answer) {
  boost::system::error_code bad;
  const auto text = unfenced(answer);
  const auto value = boost::json::parse({text.data(), text.size()}, bad);
  if (bad || !value.is_object())
    return wrong(fmt::format("wanted a JSON object, got {}", seen(answer)));
  for (const auto& member : how.required) {
    const auto* found = value.as_object().if_contains(member.name);
    if (!found)
      return wrong(fmt::format("the object has no member \"{}\"", member.name));
    if (!has_type(*found, member.type))
      return wrong(fmt::format("the member \"{}\" is no {}", member.name, member.type));
  }
  return {true, {}};
}

} // namespace

mark score(const scorer& how, std::string_view answer) {
  return std::visit([&](const auto& one) { return score_one(one, answer); }, how);
}

std::string normalise(std::string_view answer) {
  std::string out;
  for (const char c : answer) {
    if (!is_space(c))
      out.push_back(lower(c));
    else if (!out.empty() && out.back() != ' ')
      out.push_back(' ');
  }
  if (!out.empty() && out.back() == ' ')
    out.pop_back();
  if (!out.empty() && out.back() == '.')
    out.pop_back();
  return out;
}

} // namespace assay::qualification
