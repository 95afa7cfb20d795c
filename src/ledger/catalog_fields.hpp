#pragma once
// The fields of what operators declare, listed once. Encoding (src/wire) and describing
// (describe.cpp) walk over these lists and know no field by themselves; one that is missing here is
// found by tests/schema, which compares the lists with schema/ledger.capnp in both directions.

#include "src/catalog/declarations.hpp"
#include "src/moves/vectors.hpp"
#include "src/qualification/envelope.hpp"

#include <concepts>
#include <string_view>
#include <type_traits>
#include <variant>

namespace assay::ledger {

/// T or const T.
template <class T, class Of>
concept either = std::same_as<std::remove_const_t<T>, Of>;

/// Names of a variant's alternatives, in its order; the union's members in the schema.
template <class Variant>
inline constexpr std::string_view alternatives[std::variant_size_v<Variant>] = {};

template <>
inline constexpr std::string_view alternatives<catalog::declaration>[] = {
  "pool",
  "model",
  "artifact",
  "implementation",
  "runtime_profile",
  "suite",
  "policy",
  "project",
  "key",
};
static_assert(std::size(alternatives<catalog::declaration>) == std::variant_size_v<catalog::declaration>);

// -- contract and catalog -----------------------------------------------------------------------

void fields(auto&& v, either<contract::request_limits> auto& x) {
  v("context_tokens", x.context_tokens);
  v("input_tokens", x.input_tokens);
  v("output_tokens", x.output_tokens);
  v("body_bytes", x.body_bytes);
}

void fields(auto&& v, either<contract::objective> auto& x) {
  v("metric", x.metric);
  v("limit", x.limit);
  v("share_ppm", x.share_ppm);
  v("window", x.window);
}

void fields(auto&& v, either<contract::service_contract> auto& x) {
  v("task", x.task);
  v("streaming", x.streaming);
  v("cancellation", x.cancellation);
  v("features", x.features);
  v("limits", x.limits);
  v("data_class", x.data_class);
  v("objectives", x.objectives);
  v("degraded", x.degraded);
  v("queue_keepalive", x.queue_keepalive);
  v("expose_metadata", x.expose_metadata);
  v("safety_policy", x.safety_policy);
  v("safety_requires", x.safety_requires);
}

void fields(auto&& v, either<catalog::pool> auto& x) {
  v("name", x.name);
  v("family", x.family);
  v("compatibility", x.compatibility);
  v("plaintext_accepted", x.plaintext_accepted);
  v("data_classes", x.data_classes);
  v("labels", x.labels);
}

void fields(auto&& v, either<catalog::artifact_file> auto& x) {
  v("path", x.path);
  v("bytes", x.bytes);
  v("sha256", x.sha256);
}

void fields(auto&& v, either<catalog::artifact> auto& x) {
  v("id", x.id);
  v("model", x.model);
  v("kind", x.kind);
  v("location", x.location);
  v("files", x.files);
  v("profile", x.profile);
  v("licence", x.licence);
  v("source", x.source);
}

void fields(auto&& v, either<catalog::replica_bounds> auto& x) {
  v("min", x.min);
  v("max", x.max);
}

void fields(auto&& v, either<catalog::implementation> auto& x) {
  v("id", x.id);
  v("model", x.model);
  v("pool", x.pool);
  v("artifact", x.artifact);
  v("profile", x.profile);
  v("replicas", x.replicas);
  v("devices", x.devices);
  v("slots", x.slots);
  v("limits", x.limits);
  v("args", x.args);
  v("wanted", x.wanted);
}

void fields(auto&& v, either<catalog::model> auto& x) {
  v("id", x.id);
  v("name", x.name);
  v("version", x.version);
  v("promises", x.promises);
  v("evaluation_policy", x.evaluation_policy);
  v("owner", x.owner);
}

void fields(auto&& v, either<catalog::profile_document> auto& x) {
  v("name", x.name);
  v("text", x.text);
  v("sha256", x.sha256);
}

void fields(auto&& v, either<catalog::suite_document> auto& x) {
  v("name", x.name);
  v("text", x.text);
  v("sha256", x.sha256);
}

void fields(auto&& v, either<catalog::policy> auto& x) {
  v("name", x.name);
  v("suite", x.suite);
  v("score_at_least_ppm", x.score_at_least_ppm);
  v("confidence_ppm", x.confidence_ppm);
  v("items_at_least", x.items_at_least);
  v("distinct_answers_at_least", x.distinct_answers_at_least);
  v("valid_for", x.valid_for);
  v("cost_ceiling_nano_per_unit", x.cost_ceiling_nano_per_unit);
  v("suspend_on_drift", x.suspend_on_drift);
  v("approvals", x.approvals);
}

void fields(auto&& v, either<catalog::project> auto& x) {
  v("name", x.name);
  v("data_classes", x.data_classes);
}

void fields(auto&& v, either<catalog::key> auto& x) {
  v("name", x.name);
  v("project", x.project);
  v("traffic", x.traffic);
  v("models", x.models);
}

// -- qualification and moves --------------------------------------------------------------------

void fields(auto&& v, either<qualification::envelope> auto& x) {
  v("task", x.task);
  v("input_tokens", x.input_tokens);
  v("output_tokens", x.output_tokens);
  v("unary", x.unary);
  v("streaming", x.streaming);
}

void fields(auto&& v, either<moves::share> auto& x) {
  v("implementation", x.implementation);
  v("standing", x.standing);
  v("floor", x.floor);
  v("ceiling", x.ceiling);
}

void fields(auto&& v, either<moves::vectors> auto& x) {
  v("interactive", x.interactive);
  v("batch", x.batch);
}

void fields(auto&& v, either<moves::route> auto& x) {
  v("model", x.model);
  v("generation", x.generation);
  v("carried", x.carried);
}

} // namespace assay::ledger
