#pragma once
// Whether a request that a replica did not serve may be sent again, and where.
//
// Only while nothing of an answer has left towards the client, never twice to the same endpoint but
// for one case: a kept connection that the replica had closed already answers nothing at all, and
// is replayed once on a fresh one. Repeats of what a replica refused come out of a budget, so that
// a saturated pool is not asked more often for being saturated. Pure.

#include "src/base/limits.hpp"

#include <cstdint>

namespace assay::http {

/// How an attempt ended.
enum class attempt_end : std::uint8_t {
  answered,      ///< A status that is the client's to see.
  not_connected, ///< Phase A: no byte of the request was taken.
  reused_closed, ///< Phase B: a kept connection closed without one byte of answer.
  pushed_back,   ///< Phase C: 429, 502, 503 or 504 before a body.
  broke,         ///< Phase C: 500 before a body.
  lost,          ///< Anything else: it may have worked on the request.
  late,          ///< A limit passed.
};

attempt_end end_of_status(unsigned status);

enum class retry_step : std::uint8_t { give_up, replay, elsewhere };

/// Retries in proportion to requests, with a small reserve. One per thread.
class retry_budget {
public:
  void earn();      ///< Once per request.
  bool spend();     ///< False: the budget is used up.
  void give_back(); ///< What was spent found no other endpoint.

private:
  std::uint32_t hundredths_ = limits::retry_reserve * 100;
};

struct retry_history {
  unsigned attempts = 0; ///< Made so far, the last one included.
  bool replayed = false;
  bool broke = false; ///< A 500 was retried before.
};

/// The next step after `end`; takes from the budget only when it says `elsewhere` for a refusal.
retry_step next_step(attempt_end end, const retry_history& history, retry_budget& budget);

} // namespace assay::http
