// What ingresses say that they served. It changes no table: whoever asks finds it by its subjects.

#include "src/ledger/changes.hpp"
#include "src/ledger/service.hpp"

namespace assay::ledger {

namespace {

ruling bad_hour(const change_set& c, const serving_summary& p) {
  if (p.hour.value < 0 || hour_of(p.hour) != p.hour)
    return refuse(
      "bad_hour",
      "an hour of service begins on the hour, and not at " + std::to_string(p.hour.value) + " ms"
    );
  if (p.hour > c.now)
    return refuse(
      "bad_hour",
      "the hour begins at " + std::to_string(p.hour.value) + " ms; it is "
        + std::to_string(c.now.value)
    );
  return {};
}

ruling bad_counts(const serving_summary& p) {
  auto by_class = p.interactive + p.batch;
  auto by_ending = p.served + p.refused + p.failed + p.client_gone;
  if (by_class == 0 || by_class != by_ending)
    return refuse(
      "bad_counts",
      "the classes add up to " + std::to_string(by_class) + " requests and the ways to end to "
        + std::to_string(by_ending) + "; both are all requests, and at least 1"
    );
  if (p.first_generation > p.last_generation || p.first_ended > p.last_ended)
    return refuse("bad_counts", "the first generation or time is later than the last");
  if (p.decisions == digest{})
    return refuse("bad_counts", "the digest of the decisions is missing");
  return {};
}

} // namespace

ruling change(change_set& c, const serving_summary& p) {
  if (auto why = bad_name("ingress", p.ingress))
    return why;
  if (auto why = bad_name("route", p.route.value))
    return why;
  if (!p.implementation.value.empty())
    if (auto why = bad_name("implementation", p.implementation.value))
      return why;
  if (auto why = bad_hour(c, p))
    return why;
  return bad_counts(p);
}

} // namespace assay::ledger
