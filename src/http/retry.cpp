#include "src/http/retry.hpp"

#include <algorithm>

namespace assay::http {

attempt_end end_of_status(unsigned status) {
  switch (status) {
  case 429:
  case 502:
  case 503:
  case 504:
    return attempt_end::pushed_back;
  case 500:
    return attempt_end::broke;
  default:
    return attempt_end::answered;
  }
}

void retry_budget::earn() {
  hundredths_ = std::min(hundredths_ + limits::retry_percent, limits::retry_reserve * 100);
}

bool retry_budget::spend() {
  if (hundredths_ < 100)
    return false;
  hundredths_ -= 100;
  return true;
}

void retry_budget::give_back() {
  hundredths_ = std::min(hundredths_ + 100, limits::retry_reserve * 100);
}

retry_step next_step(attempt_end end, const retry_history& history, retry_budget& budget) {
  if (end == attempt_end::reused_closed)
    return history.replayed ? retry_step::give_up : retry_step::replay;
  if (history.attempts >= limits::route_attempts)
    return retry_step::give_up;
  switch (end) {
  case attempt_end::not_connected:
    return retry_step::elsewhere;
  case attempt_end::broke:
    if (history.broke)
      return retry_step::give_up;
    [[fallthrough]];
  case attempt_end::pushed_back:
    return budget.spend() ? retry_step::elsewhere : retry_step::give_up;
  default:
    return retry_step::give_up;
  }
}

} // namespace assay::http
