#pragma once
// Collects everything that is wrong with an apply, so that a person mends it in one go.

#include "src/base/problem.hpp"
#include "src/catalog/parse.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::catalog {

class complaints {
public:
  /// `key` is the path of the key, `replicas.max`; empty when the document as a whole is meant.
  void add(const source_place& at, std::string_view key, std::string what, std::string next);

  bool empty() const { return told_.empty(); }
  std::size_t count() const { return told_.size(); }

  /// In the order of files and lines; after `limits::problems` of them the rest is only counted.
  std::vector<problem> take();

private:
  struct entry {
    std::size_t file = 0;
    source_place at;
    problem what;
  };

  std::size_t order_of(const std::string& file);

  std::vector<std::string> files_;
  std::vector<entry> told_;
  std::size_t untold_ = 0;
};

/// The candidate that a person most likely meant; empty when none is near.
std::string nearest(std::string_view seen, const std::vector<std::string_view>& candidates);

/// `a, b, c`
std::string listed(const std::vector<std::string_view>& words);

/// What was seen, shortened and without control characters, in backquotes.
std::string in_quotes(std::string_view seen);

} // namespace assay::catalog
