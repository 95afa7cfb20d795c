#include "src/qualification/evidence.hpp"

#include "src/base/limits.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace assay::qualification {

namespace {

namespace json = boost::json;

std::string line(const json::object& o) {
  return json::serialize(o) + "\n";
}

void add_body(json::object& into, std::string_view key, std::string_view body) {
  if (body.size() > limits::evidence_body_bytes)
    into[std::string{key} + "_cut_from_bytes"] = body.size();
  into[key] = body.substr(0, limits::evidence_body_bytes);
}

} // namespace

std::string evidence_head(const run_state& run) {
  return line({
    {"evidence", 1},
    {"suite", run.suite.name.value},
    {"policy", run.policy.name.value},
    {"implementation", run.subject.implementation.value},
    {"model", run.subject.model},
  });
}

std::string evidence_line(const exchange& e) {
  json::object o{
    {"ask", e.ask.number},
    {"purpose", e.ask.purpose},
    {"streaming", e.ask.streaming},
    {"left", e.answer.left},
    {"status", e.answer.status},
    {"first_byte_ms", e.answer.times.first_byte_ms},
    {"first_content_ms", e.answer.times.first_content_ms},
    {"total_ms", e.answer.times.total_ms},
  };
  add_body(o, "sent", e.ask.body);
  add_body(o, "received", e.answer.body);
  return line(o);
}

std::string evidence_silence(const ask& what, std::string_view why) {
  return line({{"ask", what.number}, {"purpose", what.purpose}, {"not_answered", why}});
}

std::string evidence_check(const check_result& r) {
  return line({{"check", name(r.kind)}, {"outcome", name(r.outcome)}, {"why", r.why}});
}

std::string evidence_item(const item_result& r) {
  return line({
    {"item", r.id},
    {"right", r.right},
    {"points", r.points},
    {"answer", r.answer},
    {"why", r.why},
  });
}

std::string evidence_verdict(const verdict& v, const envelope& e) {
  json::array reasons;
  for (const auto& reason : v.reasons)
    reasons.push_back(json::string{reason});
  return line({
    {"verdict", name(v.outcome)},
    {"right", v.counts.right},
    {"answered", v.counts.answered},
    {"distinct_answers", v.counts.distinct_answers},
    {"score_ppm", v.score_ppm},
    {"lower_bound_ppm", v.lower_bound_ppm},
    {"envelope",
     json::object{
       {"task", contract::name(e.task)},
       {"input_tokens", e.input_tokens},
       {"output_tokens", e.output_tokens},
       {"unary", e.unary},
       {"streaming", e.streaming},
     }},
    {"reasons", std::move(reasons)},
  });
}

} // namespace assay::qualification
