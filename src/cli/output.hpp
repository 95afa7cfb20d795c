#pragma once
// How an answer is shown: as a table for people, or whole as JSON or YAML for programs, or names
// only.

#include "src/base/problem.hpp"
#include "src/cli/terminal.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <string>

namespace assay::cli {

namespace json = boost::json;

enum class format { table, json, yaml, name };

/// One value as a table shows it: `_ms` fields as dates, lists joined by commas, `-` for nothing.
std::string cell(std::string_view key, const json::value& value);

/// A list of flat objects with equal keys; the keys are the head.
std::string show_items(const json::array& items, format how, const terminal& where);

/// One object; as a table, `name: value` lines.
std::string show_object(const json::object& object, format how, const terminal& where);

std::string to_yaml(const json::value& value);
std::string to_pretty_json(const json::value& value);

/// Says on standard error when an answer is a member's own copy because no leader could be asked;
/// what is printed on standard output stays the same.
void note_copy(const json::object& answer);

/// Prints `assay: ...` to standard error and returns the exit code of its kind.
int complain(const problem& p);

/// The same for a word that no command line has: exit code 2, like every other usage error.
int misuse(const problem& p);

} // namespace assay::cli
