// Any bytes as a chat body: the scan never reads past them, and a splice changes the name alone.

#include "src/base/check.hpp"
#include "src/http/scan.hpp"

#include <string>

using namespace assay;
using namespace assay::http;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static body_scanner scanner;
  std::string text{reinterpret_cast<const char*>(data), size};
  text.append(body_scanner::padding, '\xff');
  auto body = std::string_view{text}.substr(0, size);
  auto found = scanner.scan_chat(body, text.size());
  if (!found) {
    check(!found.error().message.empty(), "a refusal says why");
    return 0;
  }
  check(found->model_at + found->model_size <= size, "the model lies inside the body");
  check(found->prompt_at + found->prompt_size <= size, "the prompt lies inside the body");
  check(found->shape.input.least <= found->shape.input.most, "an estimate is a range");
  auto spliced = splice_model(body, *found, "other-name");
  auto all = std::string{spliced.head} + spliced.middle + std::string{spliced.tail};
  all.append(body_scanner::padding, ' ');
  auto again = scanner.scan_chat(
    std::string_view{all}.substr(0, all.size() - body_scanner::padding), all.size()
  );
  check(again.has_value() && again->model == "other-name", "a spliced body names the other model");
  return 0;
}
