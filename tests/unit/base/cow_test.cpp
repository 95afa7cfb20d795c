#include "src/base/cow.hpp"

#include <catch2/catch_test_macros.hpp>

#include <vector>

namespace assay {

TEST_CASE("a published version does not change when the owner writes") {
  cow<std::vector<int>> numbers{{1}};
  auto published = numbers.share();
  numbers.write().push_back(2);
  CHECK(published->size() == 1);
  CHECK(numbers->size() == 2);
}

TEST_CASE("writing without a reader copies nothing") {
  cow<std::vector<int>> numbers{{1}};
  const auto* before = &*numbers;
  numbers.write().push_back(2);
  CHECK(&*numbers == before);
}

} // namespace assay
