#include "src/qualification/suite.hpp"

#include "src/base/limits.hpp"
#include "src/base/overloaded.hpp"
#include "src/catalog/pattern.hpp"
#include "src/catalog/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay::qualification {

namespace {

using catalog::complaints;
using catalog::key_row;
using catalog::key_table;
using catalog::mapping_reader;

constexpr auto millionth = std::int64_t{1'000'000};

// -- the keys -------------------------------------------------------------------------------------

constexpr key_row suite_rows[] = {
  {"suite", "a name", "required"},
  {"task", "`chat` or `completion`", "chat"},
  {"deadline", "a duration, for one answer", "60 s"},
  {"retries", "0 to 10, of an ask that was not answered", "3"},
  {"frees-within", "a duration: how soon a slot answers after a cancellation", "5 s"},
  {"filler", "text that is repeated to build a prompt of a wanted length", "` a`"},
  {"sampling", "a mapping, for every item that does not say else", "see sampling"},
  {"contract", "a list of contract checks, in order", "all of them"},
  {"items", "a list of scored items", "required"},
};
constexpr key_row sampling_rows[] = {
  {"temperature", "0 to 2", "0"},
  {"top-p", "above 0, up to 1", "not sent"},
  {"max-tokens", "1 to 4096", "16"},
  {"seed", "a count", "not sent"},
};
constexpr key_row item_rows[] = {
  {"id", "a name, unique in the suite", "required"},
  {"ask", "the user's message", "`messages`"},
  {"system", "a system message before it", "none"},
  {"messages", "a list of messages, instead of `ask`", "`ask`"},
  {"sampling", "a mapping, for this item", "the suite's"},
  {"expect", "a mapping with one scorer", "required"},
  {"points", "1 to 1000", "1"},
};
constexpr key_row message_rows[] = {
  {"role", "`system`, `user` or `assistant`", "required"},
  {"content", "text", "required"},
};
constexpr key_row expect_rows[] = {
  {"exact", "text", "-"},
  {"pattern", "an RE2 pattern", "-", "regex"},
  {"number", "a number", "-", "numeric"},
  {"tolerance", "a number, beside `number`", "0"},
  {"choice", "the right one of `among`", "-"},
  {"among", "a list of words, beside `choice`", "-"},
  {"contains", "a word or words", "-"},
  {"json", "a mapping of member names to types", "-"},
};

constexpr key_table suite_keys{"suite", suite_rows};
constexpr key_table sampling_keys{"suite.sampling", sampling_rows};
constexpr key_table item_keys{"suite.items", item_rows};
constexpr key_table message_keys{"suite.items.messages", message_rows};
constexpr key_table expect_keys{"suite.items.expect", expect_rows};

constexpr check_kind all_checks[] = {
  check_kind::unary_schema,
  check_kind::streaming_schema,
  check_kind::usage,
  check_kind::output_limit,
  check_kind::input_limit,
  check_kind::cancellation,
  check_kind::unknown_field,
  check_kind::error_shape,
};

constexpr std::string_view check_names[] = {
  "unary-schema",
  "streaming-schema",
  "usage",
  "output-limit",
  "input-limit",
  "cancellation",
  "unknown-field",
  "error-shape",
};
static_assert(std::size(all_checks) == std::size(check_names));

constexpr std::string_view scorer_words = "exact, pattern, number, choice, contains, json";
const std::vector<std::string_view> json_types = {
  "string", "number", "integer", "boolean", "array", "object", "null"};

// -- small readings -------------------------------------------------------------------------------

bool read_millionths(
  mapping_reader& in, std::string_view key, std::int64_t& into, double least, double most
) {
  double read = 0;
  if (!in.number(key, read))
    return false;
  if (read < least || read > most) {
    in.refuse(
      key, fmt::format("{} is out of range", read), fmt::format("write {} to {}", least, most)
    );
    return false;
  }
  into = static_cast<std::int64_t>(read * millionth + (read < 0 ? -0.5 : 0.5));
  return true;
}

/// A text that is sent or looked for: neither empty nor endless.
bool read_text(mapping_reader& in, std::string_view key, std::string& into) {
  std::string read;
  if (!in.text(key, read))
    return false;
  if (read.empty() || read.size() > limits::suite_text_bytes) {
    in.refuse(
      key,
      fmt::format("the text has {} bytes", read.size()),
      fmt::format("write 1 to {} bytes", limits::suite_text_bytes)
    );
    return false;
  }
  into = std::move(read);
  return true;
}

void read_sampling(mapping_reader& parent, sampling& into) {
  auto in = parent.mapping("sampling", sampling_keys);
  if (!in)
    return;
  read_millionths(*in, "temperature", into.temperature_millionths, 0, 2);
  std::int64_t top_p = 0;
  if (read_millionths(*in, "top-p", top_p, 0.000001, 1))
    into.top_p_millionths = top_p;
  in->count("max-tokens", into.max_tokens, 1, limits::suite_max_tokens);
  std::uint32_t seed = 0;
  if (in->count("seed", seed, 0, 0xffff'ffff))
    into.seed = seed;
}

void read_checks(mapping_reader& in, std::vector<check_kind>& into) {
  std::vector<std::string> words;
  if (!in.has("contract")) {
    into.assign(std::begin(all_checks), std::end(all_checks));
    return;
  }
  if (in.texts("contract", words) && words.empty())
    in.refuse(
      "contract",
      "the list names no check, so that a run would show no shape of request and cover none",
      "list at least one check, or leave the key out for all of them"
    );
  for (const auto& word : words) {
    const auto kind = parse_check_kind(catalog::canonical_key(word));
    if (!kind) {
      in.refuse_word(
        in.place_of("contract"),
        in.path_of("contract"),
        word,
        {std::begin(check_names), std::end(check_names)}
      );
    } else if (std::find(into.begin(), into.end(), *kind) != into.end()) {
      in.refuse("contract", fmt::format("{} is listed twice", word), "list each check once");
    } else {
      into.push_back(*kind);
    }
  }
}

// -- scorers --------------------------------------------------------------------------------------

std::optional<scorer> read_pattern(mapping_reader& in) {
  pattern_answer how;
  if (!read_text(in, "pattern", how.pattern))
    return std::nullopt;
  if (const auto ok = catalog::pattern::compile(how.pattern); !ok) {
    in.refuse(
      "pattern",
      "this is no RE2 pattern: " + ok.error(),
      "see RE2's syntax; there are no back-references"
    );
    return std::nullopt;
  }
  return how;
}

std::optional<scorer> read_number(mapping_reader& in) {
  numeric_answer how;
  if (!read_millionths(in, "number", how.value_millionths, -1e12, 1e12))
    return std::nullopt;
  read_millionths(in, "tolerance", how.tolerance_millionths, 0, 1e12);
  return how;
}

std::optional<scorer> read_choice(mapping_reader& in) {
  choice_answer how;
  if (!read_text(in, "choice", how.right))
    return std::nullopt;
  in.texts("among", how.among);
  if (std::find(how.among.begin(), how.among.end(), how.right) == how.among.end() || how.among.size() < 2) {
    in.refuse(
      in.has("among") ? "among" : "choice",
      "the choices do not hold the right one and another",
      "write `among:` as a list of two or more words, the right one with them"
    );
    return std::nullopt;
  }
  return how;
}

std::optional<scorer> read_json(mapping_reader& in) {
  json_answer how;
  std::map<std::string, std::string> members;
  if (!in.table("json", members))
    return std::nullopt;
  for (const auto& [name, type] : members) {
    if (std::find(json_types.begin(), json_types.end(), type) == json_types.end()) {
      in.refuse_word(in.place_of("json"), in.path_of("json") + "." + name, type, json_types);
      return std::nullopt;
    }
    how.required.push_back({name, type});
  }
  return how;
}

std::optional<scorer> read_expect(mapping_reader& item) {
  if (!item.require("expect", fmt::format("write `expect:` with one of {}", scorer_words)))
    return std::nullopt;
  auto in = item.mapping("expect", expect_keys);
  if (!in)
    return std::nullopt;
  std::string only;
  for (const std::string_view word : {"exact", "pattern", "number", "choice", "contains", "json"}) {
    if (!in->has(word))
      continue;
    if (!only.empty()) {
      in->refuse(word, fmt::format("there are two scorers, {} and {}", only, word), "keep one");
      return std::nullopt;
    }
    only = word;
  }
  if (only.empty()) {
    item.refuse("expect", "there is no scorer", fmt::format("write one of {}", scorer_words));
    return std::nullopt;
  }
  if (only == "pattern")
    return read_pattern(*in);
  if (only == "number")
    return read_number(*in);
  if (only == "choice")
    return read_choice(*in);
  if (only == "json")
    return read_json(*in);
  std::string text;
  if (!read_text(*in, only, text))
    return std::nullopt;
  return only == "exact" ? scorer{exact_answer{text}} : scorer{contains_answer{text}};
}

// -- items ----------------------------------------------------------------------------------------

void read_message(mapping_reader& in, std::vector<message>& into) {
  constexpr std::pair<std::string_view, int> roles[] = {
    {"system", 0}, {"user", 1}, {"assistant", 2}};
  message m;
  int role = 0;
  in.require("role", "write `role: user`");
  in.require("content", "write `content:` with the text");
  if (in.choice("role", role, std::span<const std::pair<std::string_view, int>>{roles}))
    m.role = roles[role].first;
  if (read_text(in, "content", m.content) && !m.role.empty())
    into.push_back(std::move(m));
}

void read_messages(mapping_reader& in, std::vector<message>& into) {
  if (in.has("ask") == in.has("messages")) {
    in.refuse(
      in.has("ask") ? "messages" : "ask",
      in.has("ask") ? "both `ask` and `messages` are there" : "there is no question",
      "write `ask:` with the user's message, or `messages:` with a list"
    );
    return;
  }
  std::string text;
  if (read_text(in, "system", text))
    into.push_back({"system", text});
  if (read_text(in, "ask", text))
    into.push_back({"user", text});
  for (auto& m : in.mappings("messages", message_keys))
    read_message(m, into);
}

void read_item(
  mapping_reader& in, const sampling& of_suite, std::set<std::string>& ids, suite& into
) {
  item read;
  read.sampling = of_suite;
  in.require("id", "write `id:` with a name of its own");
  if (in.name("id", read.id) && !ids.insert(read.id).second)
    in.refuse(
      "id",
      fmt::format("the id {} is used twice", catalog::in_quotes(read.id)),
      "give each item its own"
    );
  read_messages(in, read.messages);
  read_sampling(in, read.sampling);
  in.count("points", read.points, 1, 1'000);
  if (auto how = read_expect(in)) {
    read.scorer = std::move(*how);
    into.items.push_back(std::move(read));
  }
}

void read_items(mapping_reader& in, const sampling& of_suite, suite& into) {
  if (!in.require("items", "write `items:` with at least one scored item"))
    return;
  auto items = in.mappings("items", item_keys);
  if (items.empty() || items.size() > limits::suite_items) {
    in.refuse(
      "items",
      fmt::format("there are {} items", items.size()),
      fmt::format("write 1 to {}", limits::suite_items)
    );
    return;
  }
  std::set<std::string> ids;
  for (auto& one : items)
    read_item(one, of_suite, ids, into);
}

suite read_suite(mapping_reader& in) {
  constexpr std::pair<std::string_view, contract::task> tasks[] = {
    {"chat", contract::task::chat}, {"completion", contract::task::completion}};
  using namespace std::chrono_literals;
  suite read;
  in.require("suite", "write `suite: NAME` as the first key");
  in.name("suite", read.name);
  in.choice("task", read.task, std::span<const std::pair<std::string_view, contract::task>>{tasks});
  in.duration("deadline", read.deadline, 1s, 10min);
  in.count("retries", read.retries, 0, 10);
  in.duration("frees-within", read.frees_within, 100ms, 10min);
  read_text(in, "filler", read.filler);
  sampling of_suite;
  read_sampling(in, of_suite);
  read_checks(in, read.checks);
  read_items(in, of_suite, read);
  return read;
}

} // namespace

result<suite, std::vector<problem>> parse_suite(std::string_view file, std::string_view text) {
  complaints out;
  const std::string name{file};
  const auto documents = catalog::read_yaml({name, std::string{text}}, out);
  if (out.empty() && (documents.size() != 1 || documents[0].root.kind != catalog::node_kind::mapping))
    out.add(
      {name, 1, 1}, "", "this is not one `suite:` document", "write `suite: NAME` as its first key"
    );
  if (!out.empty())
    return unexpected{out.take()};
  mapping_reader in{documents[0].root, suite_keys, name, "", out};
  auto read = read_suite(in);
  if (!out.empty())
    return unexpected{out.take()};
  return read;
}

std::string_view name(check_kind k) {
  return check_names[static_cast<std::size_t>(k)];
}

std::optional<check_kind> parse_check_kind(std::string_view text) {
  for (auto k : all_checks)
    if (name(k) == text)
      return k;
  return std::nullopt;
}

std::string_view kind_of(const scorer& s) {
  constexpr std::string_view names[] = {"exact", "pattern", "number", "choice", "contains", "json"};
  static_assert(std::size(names) == std::variant_size_v<scorer>);
  return names[s.index()];
}

} // namespace assay::qualification
