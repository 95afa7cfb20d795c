#include "src/qualification/envelope.hpp"

namespace assay::qualification {

outside where(const envelope& e, const contract::shape& s) {
  if (s.task != e.task)
    return outside::wrong_task;
  if (s.stream && !e.streaming)
    return outside::no_streaming;
  if (!s.stream && !e.unary)
    return outside::no_unary;
  if (s.input.least > e.input_tokens)
    return outside::input;
  if (s.output_tokens && *s.output_tokens > e.output_tokens)
    return outside::output;
  return outside::no;
}

} // namespace assay::qualification
