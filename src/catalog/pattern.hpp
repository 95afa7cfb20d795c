#pragma once
// A bounded RE2 pattern: linear time whatever the text, no back-references, a limit on its program.

#include "src/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace assay::catalog {

class pattern {
public:
  /// The error is RE2's own sentence.
  static result<pattern, std::string> compile(std::string_view text);

  /// True when the pattern is found anywhere in `line`.
  bool found_in(std::string_view line) const;
  const std::string& text() const { return text_; }

  friend bool operator==(const pattern& a, const pattern& b) { return a.text_ == b.text_; }

private:
  pattern(std::string text, std::shared_ptr<const re2::RE2> program);

  std::string text_;
  std::shared_ptr<const re2::RE2> program_;
};

} // namespace assay::catalog
