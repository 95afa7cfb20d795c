// Any bytes as the body of any operation: the scan never reads past them, and a splice changes the
// name alone.

#include "src/base/check.hpp"
#include "src/http/scan.hpp"

#include <string>

using namespace assay;
using namespace assay::http;

namespace {

void scan_as(contract::operation asked, std::string_view body, std::size_t capacity) {
  static body_scanner scanner;
  auto found = scanner.scan(asked, body, capacity);
  if (!found) {
    check(!found.error().message.empty(), "a refusal says why");
    return;
  }
  const auto& shape = found->shape;
  check(found->model_at + found->model_size <= body.size(), "the model lies inside the body");
  check(found->prompt_at + found->prompt_size <= body.size(), "the prompt lies inside the body");
  check(shape.input.least <= shape.input.most, "an estimate is a range");
  check(shape.more_input.least <= shape.more_input.most, "the others' estimate is a range");
  check(shape.prompts > 0 && shape.choices > 0, "something is asked for");
  auto spliced = splice_model(body, *found, "other-name");
  auto all = std::string{spliced.head} + spliced.middle + std::string{spliced.tail};
  all.append(body_scanner::padding, ' ');
  auto again = scanner.scan(
    asked, std::string_view{all}.substr(0, all.size() - body_scanner::padding), all.size()
  );
  check(again.has_value() && again->model == "other-name", "a spliced body names the other model");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string text{reinterpret_cast<const char*>(data), size};
  text.append(body_scanner::padding, '\xff');
  for (std::size_t i = 0; i < contract::operation_count; ++i)
    scan_as(
      static_cast<contract::operation>(i), std::string_view{text}.substr(0, size), text.size()
    );
  return 0;
}
