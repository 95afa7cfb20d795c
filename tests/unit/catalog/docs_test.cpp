// docs/declarations.md shows the tables that the code reads by, and examples that work.

#include "src/catalog/keys.hpp"
#include "src/catalog/profile.hpp"
#include "src/catalog/slots.hpp"
#include "tests/unit/catalog/builders.hpp"

namespace assay::catalog {

using namespace testing;

namespace {

std::string table_in_markdown(const key_table& table) {
  std::string text =
    "Keys of `" + std::string{table.name} + "`:\n\n| key | value | default |\n|---|---|---|\n";
  for (const auto& row : table.rows) {
    text += "| `" + std::string{row.key} + "`";
    if (!row.alias.empty())
      text += " or `" + std::string{row.alias} + "`";
    text += " | " + std::string{row.takes} + " | " + std::string{row.fallback} + " |\n";
  }
  return text;
}

/// The fenced blocks of the manual that begin with this line.
std::vector<std::string> blocks(const std::string& manual, const std::string& fence) {
  std::vector<std::string> found;
  for (auto at = manual.find(fence + "\n"); at != manual.npos; at = manual.find(fence + "\n", at)) {
    at += fence.size() + 1;
    found.push_back(manual.substr(at, manual.find("```", at) - at));
  }
  return found;
}

} // namespace

TEST_CASE("the manual shows every table of keys as the parser has it") {
  const auto manual = source_text("docs/declarations.md");
  for (const auto* table : keys::all()) {
    const auto wanted = table_in_markdown(*table);
    INFO("docs/declarations.md lacks this table:\n" << wanted);
    CHECK(contains(manual, wanted));
  }
}

TEST_CASE("the manual's examples can be applied as they stand") {
  const auto manual = source_text("docs/declarations.md");
  const auto examples = blocks(manual, "```yaml");
  CHECK(examples.size() >= 9);
  for (const auto& example : examples) {
    INFO(example << problems_of(example));
    CHECK(parse_text(example).has_value());
  }
}

TEST_CASE("the manual's errors are those that the parser gives") {
  const auto manual = source_text("docs/declarations.md");
  const auto wrong = blocks(manual, "```yaml wrong");
  const auto said = blocks(manual, "```text said");
  REQUIRE_FALSE(wrong.empty());
  REQUIRE(wrong.size() == said.size());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const std::vector<source_file> files{{"catalog.yaml", wrong[i]}};
    const auto parsed = parse(files);
    REQUIRE_FALSE(parsed.has_value());
    std::string lines;
    for (const auto& p : parsed.error())
      lines += to_text(p) + "\n";
    CHECK(lines == said[i]);
  }
}

TEST_CASE("the manual names every slot that the agent fills and every signal") {
  const auto manual = source_text("docs/declarations.md");
  for (const auto slot : system_slots()) {
    INFO(slot);
    CHECK(contains(manual, "`" + std::string{slot} + "`"));
  }
  for (const auto signal : canonical_signals()) {
    INFO(signal);
    CHECK(contains(manual, "`" + std::string{signal} + "`"));
  }
}

} // namespace assay::catalog
