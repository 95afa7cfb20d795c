#include "src/catalog/pattern.hpp"

#include "src/base/limits.hpp"

#include <re2/re2.h>

namespace assay::catalog {

namespace {

re2::RE2::Options options() {
  re2::RE2::Options chosen{re2::RE2::Quiet};
  chosen.set_max_mem(static_cast<std::int64_t>(limits::pattern_memory_bytes));
  return chosen;
}

} // namespace

pattern::pattern(std::string text, std::shared_ptr<const re2::RE2> program)
  : text_{std::move(text)}, program_{std::move(program)} {}

result<pattern, std::string> pattern::compile(std::string_view text) {
  if (text.empty())
    return unexpected{std::string{"an empty pattern fits everything"}};
  if (text.size() > limits::pattern_bytes)
    return unexpected{"it is longer than " + std::to_string(limits::pattern_bytes) + " bytes"};
  auto program =
    std::make_shared<const re2::RE2>(re2::StringPiece{text.data(), text.size()}, options());
  if (!program->ok())
    return unexpected{program->error()};
  return pattern{std::string{text}, std::move(program)};
}

bool pattern::found_in(std::string_view line) const {
  return re2::RE2::PartialMatch(re2::StringPiece{line.data(), line.size()}, *program_);
}

} // namespace assay::catalog
