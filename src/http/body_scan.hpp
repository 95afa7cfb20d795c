#pragma once
// The pass behind src/http/scan.hpp, split over three sources: scan.cpp reads the keys that routing
// knows, scan_prompt.cpp walks conversations and all the rest and estimates, scan_inputs.cpp reads
// lists of prompts. Only these include it.

#include "src/base/limits.hpp"
#include "src/http/scan.hpp"
#include "src/http/scan_keys.hpp"

#include <simdjson.h>

#include <limits>
#include <optional>

namespace assay::http::detail {

namespace json = simdjson::ondemand;

inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint32_t>::max();

/// A string's or number's own bytes: the parser's token runs on over white space.
std::string_view token_of(json::value& v);

/// Bytes that the decoded text of a string surely has, of the string as it is written.
std::size_t decoded_bytes(std::string_view token);
/// The longest run of bytes that the known vocabularies hold as one token (a run of spaces).
inline constexpr std::uint64_t longest_token_bytes = 128;

/// One pass over one body. Each step returns false once a refusal is written.
class body_scan {
public:
  body_scan(contract::operation asked, std::string_view body, json::document& document);

  result<scanned_body, scan_refusal> run();

private:
  bool refuse(std::string message, std::string_view param = {});
  bool refuse_json(simdjson::error_code why);
  bool take(std::string_view name, json::value v);
  bool take_known(key k, std::string_view name, json::value v);
  bool take_model(json::value v);
  bool take_bool(std::string_view name, json::value v, bool& into);
  bool take_count(std::string_view name, json::value v, std::uint32_t least);
  bool take_output_limit(std::string_view name, json::value v);
  bool take_wish(std::string_view name, json::value v);
  bool take_counted_wish(std::string_view name, json::value v, std::uint32_t least);
  bool take_affinity(std::string_view name, json::value v);
  bool take_messages(json::value v);
  bool take_stream_options(json::value v);
  bool take_response_format(json::value v);
  bool take_format(json::value v, std::size_t depth);
  bool take_tools(json::value v);
  bool take_system(json::value v);
  bool take_metadata(json::value v);
  bool take_text_format(json::value v);
  bool take_block_type(json::value v);
  bool refuse_state(std::string_view name, json::value v, bool is_harmless);
  bool take_suffix(json::value v);

  bool take_prompts(json::value v, std::string_view name);
  bool take_query(json::value v, std::string_view name);
  bool take_prompt_list(json::value v, std::string_view name);
  /// The next element of a list, and what it is.
  template <class Entry>
  bool open(Entry entry, json::value& element, json::json_type& type);
  bool take_token(json::value v, std::string_view name, std::uint64_t& tokens);
  bool take_token_list(json::value v, std::string_view name);
  void add_text(std::string_view token);
  void add_prompt(std::uint64_t least, std::uint64_t most);

  template <class Field>
  bool each_field(json::value v, std::size_t depth, Field field);
  template <class Field>
  bool fields_of(json::object& object, Field field);
  bool walk(json::value v, std::size_t depth);
  bool walk_prompt(json::value v, std::size_t depth, std::string_view name);
  bool is_null(json::value v);
  std::size_t measure(const char* from);
  void feature(std::string_view name);
  void estimate();
  void estimate_prompts();

  std::string_view body_;
  json::document& document_;
  bool has_blocks_ = false; ///< Content says in its `type` what it is.
  scanned_body found_;
  scan_refusal refusal_;
  std::uint32_t seen_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t text_bytes_ = 0;  ///< Surely no more than the decoded text has.
  std::uint64_t extra_bytes_ = 0; ///< Tools and schemas, which templates print too.
  bool media_ = false;
  bool truncates_ = false; ///< The engine cuts what is too long; then nothing is.

  // Of lists of prompts, in tokens.
  std::uint64_t prompts_ = 0;
  std::uint64_t largest_least_ = 0;
  std::uint64_t largest_most_ = 0;
  std::uint64_t all_least_ = 0;
  std::uint64_t all_most_ = 0;
  std::uint64_t query_least_ = 0; ///< Stands before each of them.
  std::uint64_t query_most_ = 0;
};

template <class Field>
bool body_scan::each_field(json::value v, std::size_t depth, Field take_field) {
  json::object object;
  if (depth > limits::json_depth)
    return refuse_json(simdjson::DEPTH_ERROR);
  if (auto error = v.get_object().get(object); error)
    return error == simdjson::INCORRECT_TYPE ? walk(v, depth) : refuse_json(error);
  return fields_of(object, take_field);
}

template <class Field>
bool body_scan::fields_of(json::object& object, Field take_field) {
  for (auto entry : object) {
    json::field field;
    std::string_view name;
    auto error = std::move(entry).get(field);
    if (!error)
      error = field.unescaped_key().get(name);
    if (error)
      return refuse_json(error);
    if (!take_field(name, field.value()))
      return false;
  }
  return true;
}

template <class Entry>
bool body_scan::open(Entry entry, json::value& element, json::json_type& type) {
  auto error = std::move(entry).get(element);
  if (!error)
    error = element.type().get(type);
  return !error || refuse_json(error);
}

} // namespace assay::http::detail
