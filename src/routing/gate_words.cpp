// Gates in words: names, sentences and the category on the wire.

#include "src/routing/gates.hpp"
#include "src/routing/words.hpp"

#include <array>

namespace assay::routing {

namespace {

constexpr std::array<std::string_view, 5> answer_names{
  "pass", "refuse", "skip", "unsure", "waived"};

/// `%s` stands for the number seen, `%a` for the number allowed.
struct reason_row {
  std::string_view name;
  std::string_view text;
};

constexpr std::array<reason_row, 36> rows{{
  {"fine", "fine"},
  {"other_task", "it serves another task"},
  {"not_offered", "its runtime profile does not offer this operation"},
  {"streaming_unsupported", "it does not stream"},
  {"feature_unsupported", "it does not offer a feature that the request uses"},
  {"artifact_unverified", "its artifact is not verified on any connected host"},
  {"class_not_admitted", "its status does not admit this class of traffic"},
  {"other_projects_only", "it serves only the project that adopted it"},
  {"input_too_long", "input of %s tokens, allowed %a"},
  {"output_too_long", "%s output tokens asked for, allowed %a"},
  {"context_too_long", "input and output of %s tokens, allowed %a"},
  {"body_too_large", "a body of %s bytes, allowed %a"},
  {"no_envelope", "no evidence says which shapes it can serve"},
  {"input_past_evidence", "input of %s tokens, evidence reaches %a"},
  {"output_past_evidence", "%s output tokens asked for, evidence reaches %a"},
  {"context_past_evidence", "input and output of %s tokens, evidence reaches %a"},
  {"streaming_unproven", "no evidence for streamed answers"},
  {"unary_unproven", "no evidence for answers in one piece"},
  {"never_evaluated", "it was never qualified"},
  {"evaluation_expired", "its qualification has expired"},
  {"evaluation_suspended", "its qualification is suspended"},
  {"evaluation_revoked", "its qualification was revoked"},
  {"no_qualified_host", "none of its %s running replicas is on a stack that was qualified"},
  {"pool_data_class", "its pool may not hold this model's data class"},
  {"project_data_class", "the caller's project may not use this model's data class"},
  {"cost_unknown", "its cost is not known, and the policy sets a ceiling of %a nano per unit"},
  {"cost_stale", "its cost figure of %s nano per unit is out of date, ceiling %a"},
  {"cost_too_high", "it costs %s nano per unit, ceiling %a"},
  {"no_ceiling", "the policy sets no cost ceiling"},
  {"no_replica", "no replica of it can be reached"},
  {"no_credit", "all its replicas are busy: %s in flight, %a credits"},
  {"queue_first", "others have waited longer for its free credit"},
  {"all_tried", "each of its replicas was tried already"},
  {"other_host",
   "its %s running replicas are on other hosts, where this ingress may not send in clear text or "
   "finds them on loopback only; assay explain says which"},
  {"all_left_out",
   "each of its %s running replicas fails, hangs or is full just now; assay explain says which"},
  {"wait_too_long", "its queue is expected to take %s ms, and a request waits %a ms at most"},
}};
static_assert(rows.size() == static_cast<std::size_t>(reason::wait_too_long) + 1);

const reason_row& row(reason r) {
  return rows[static_cast<std::size_t>(r)];
}

} // namespace

std::string_view name(answer a) {
  return answer_names[static_cast<std::size_t>(a)];
}

std::string_view name(reason r) {
  return row(r).name;
}

std::string with_thousands(std::uint64_t number) {
  auto text = std::to_string(number);
  for (auto i = text.size(); i > 3; i -= 3)
    text.insert(i - 3, 1, ',');
  return text;
}

std::string to_text(const verdict& v) {
  if (v.answer == answer::skip)
    return "not asked of evaluation traffic";
  if (v.gate == gate::has_capacity && v.answer == answer::pass)
    return with_thousands(v.seen) + " in flight, " + with_thousands(v.allowed) + " allowed";
  std::string text;
  const auto& pattern = row(v.reason).text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      text += pattern[i];
      continue;
    }
    text += with_thousands(pattern[++i] == 's' ? v.seen : v.allowed);
  }
  if (v.answer == answer::unsure)
    text = "perhaps " + text + "; the engine decides";
  return text;
}

contract::failure failure_of(const verdict& v) {
  using contract::failure;
  switch (v.gate) {
  case gate::serves_task:
    return failure::unsupported_feature;
  case gate::within_limits:
    if (v.reason == reason::body_too_large)
      return failure::request_too_large;
    return v.reason == reason::output_too_long ? failure::output_limit_exceeded
                                               : failure::context_length_exceeded;
  case gate::artifact_approved:
  case gate::within_evidence:
  case gate::evaluation_current:
    return failure::no_qualified_implementation;
  case gate::data_allowed:
    return failure::data_policy;
  case gate::economics_acceptable:
    return failure::cost_ceiling;
  case gate::has_capacity:
    return failure::no_capacity;
  }
  return failure::internal_error;
}

} // namespace assay::routing
