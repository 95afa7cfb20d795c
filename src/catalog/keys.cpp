#include "src/catalog/keys.hpp"

namespace assay::catalog::keys {

namespace {

constexpr key_row pool_rows[] = {
  {"pool", "name", "required"},
  {"family", "cpu, nvidia, amd, neuron, tpu, plugin", "required"},
  {"compatibility", "true, false", "false"},
  {"plaintext", "refused, accepted", "refused"},
  {"data-classes", "list of names", "any"},
  {"labels", "mapping of texts", "none"},
};
constexpr key_row model_rows[] = {
  {"model", "name", "required", "logical-model"},
  {"version", "1 to 1000000", "1"},
  {"contract", "mapping", "all defaults"},
  {"evaluation-policy", "name of a policy or suite", "none"},
  {"owner", "text", "none"},
  {"implementations", "list of mappings", "none", "qualified-implementations"},
};
constexpr key_row contract_rows[] = {
  {"task", "chat, completion, embedding, rerank, infer", "chat"},
  {"streaming", "true, false", "true"},
  {"cancellation", "true, false", "true"},
  {"features", "list of names", "all"},
  {"limits", "mapping", "none"},
  {"data-class", "name", "internal"},
  {"objectives", "list of mappings", "none"},
  {"degraded", "keep, shrink, stop", "keep"},
  {"queue-keepalive", "true, false", "false"},
  {"metadata", "true, false", "true"},
  {"safety", "mapping", "none"},
};
constexpr key_row limit_rows[] = {
  {"context-tokens", "number of tokens", "no limit"},
  {"input-tokens", "number of tokens", "no limit"},
  {"output-tokens", "number of tokens", "no limit"},
  {"body", "bytes with unit, at most 64 MiB", "no limit"},
};
constexpr key_row objective_rows[] = {
  {"metric", "ttft, inter-token, total, availability", "required"},
  {"limit", "duration with unit; not for availability", "required"},
  {"share", "percentage", "required"},
  {"window", "duration with unit, 1 min to 90 d", "required"},
};
constexpr key_row safety_rows[] = {
  {"policy", "text", "none"},
  {"requires", "list of names", "none"},
};
constexpr key_row entry_rows[] = {
  {"pool", "name of a pool", "required"},
  {"artifact", "name of an artifact of this model", "required"},
  {"profile", "name of a runtime profile", "the artifact's"},
  {"status", "draft, canary, production, batch-only, suspended, retired", "draft"},
  {"replicas", "number, or mapping", "1"},
  {"devices", "0 to 1024 per replica", "0"},
  {"slots", "1 to 65536 requests at a time per replica", "1"},
  {"limits", "mapping", "none"},
  {"args", "mapping of texts: a profile's slot or a flag", "none"},
};
constexpr key_row implementation_rows[] = {
  {"implementation", "MODEL[@VERSION]/POOL/ARTIFACT[#PROFILE]", "required"},
  {"profile", "name of a runtime profile", "the artifact's"},
  {"status", "draft, canary, production, batch-only, suspended, retired", "draft"},
  {"replicas", "number, or mapping", "1"},
  {"devices", "0 to 1024 per replica", "0"},
  {"slots", "1 to 65536 requests at a time per replica", "1"},
  {"limits", "mapping", "none"},
  {"args", "mapping of texts: a profile's slot or a flag", "none"},
};
constexpr key_row replica_rows[] = {
  {"min", "0 to 10000", "1"},
  {"max", "1 to 10000, not under min", "1"},
};
constexpr key_row artifact_rows[] = {
  {"artifact", "name", "required"},
  {"model", "NAME or NAME@VERSION", "required"},
  {"kind", "gguf, huggingface, onnx, engine, neff, stablehlo, repository, adopted", "required"},
  {"location", "absolute path of a directory", "required, except for adopted"},
  {"files", "list of mappings", "required, except for adopted"},
  {"profile", "name of a runtime profile", "none"},
  {"licence", "text", "none"},
  {"source", "text", "none"},
};
constexpr key_row file_rows[] = {
  {"path", "path under the location, without ..", "required"},
  {"sha256", "digest", "required"},
  {"size", "bytes with unit", "not stated"},
};
constexpr key_row policy_rows[] = {
  {"policy", "name", "required"},
  {"suite", "name of a suite", "required"},
  {"score-at-least", "percentage", "required"},
  {"confidence", "percentage, 50 % to 99.9999 %", "95 %"},
  {"items-at-least", "1 to 1000000", "20"},
  {"distinct-answers-at-least", "1 to 1000000, not over items-at-least", "2"},
  {"valid-for", "duration in whole seconds, 1 min to 3650 d", "90 d"},
  {"cost-ceiling", "price per accepted unit, like 0.002 EUR", "none"},
  {"suspend-on-drift", "true, false", "false"},
  {"approvals", "1 or 2 people", "1"},
};
constexpr key_row project_rows[] = {
  {"project", "name", "required"},
  {"data-classes", "list of names", "any"},
};
constexpr key_row key_rows[] = {
  {"key", "name", "required"},
  {"project", "name of a project", "required"},
  {"class", "interactive, batch", "interactive"},
  {"models", "list of names without version", "all"},
};

// -- runtime profiles -------------------------------------------------------------------------

constexpr key_row profile_rows[] = {
  {"runtime-profile", "name", "required"},
  {"revision", "1 to 1000000", "1"},
  {"applies", "mapping", "any"},
  {"identify", "list of mappings", "none"},
  {"launch", "mapping", "none: only adopted servers"},
  {"devices", "mapping of a family to a mapping", "none"},
  {"ports", "list of mappings", "one, http"},
  {"phases", "mapping", "required"},
  {"stop", "mapping", "all defaults"},
  {"exits", "list of mappings", "none"},
  {"logs", "list of mappings", "none"},
  {"metrics", "mapping", "none"},
  {"api", "mapping", "all defaults"},
  {"version", "mapping", "none"},
  {"artifact", "mapping", "any"},
};
constexpr key_row applies_rows[] = {
  {"runtime", "text", "none"},
  {"versions", "text", "none"},
  {"families", "list of families", "any"},
};
constexpr key_row question_rows[] = {
  {"get", "path", "required"},
  {"json", "path in the answer, like data.0.id", "required"},
  {"equals", "text", "any"},
};
constexpr key_row launch_rows[] = {
  {"argv", "list of texts", "required"},
  {"args", "list of mappings", "none"},
  {"env", "mapping of texts", "none"},
  {"secret-env", "mapping of a slot to a variable", "none"},
  {"refuse-operator-flags", "list of flags", "none"},
};
constexpr key_row arg_rows[] = {
  {"slot", "name of a slot", "this or fixed"},
  {"flag", "flag, like --port", "the value stands alone"},
  {"form", "separate, equals, list, repeat, toggle", "separate"},
  {"default", "text", "none: left out without a value"},
  {"required", "true, false", "false"},
  {"fixed", "list of texts", "this or slot"},
};
constexpr key_row device_rows[] = {
  {"env", "variable", "required"},
  {"id", "index, uuid, range", "index"},
  {"separator", "text", ","},
  {"unset", "list of variables", "none"},
};
constexpr key_row port_rows[] = {
  {"name", "name", "required"},
  {"slot", "name of a slot", "port for http, else NAME_port"},
};
constexpr key_row phases_rows[] = {
  {"loading", "list of mappings", "none"},
  {"ready", "mapping", "required"},
  {"ready-times", "1 to 100 in a row", "1"},
  {"live", "mapping", "ready"},
  {"deep", "mapping; a real generation", "required"},
  {"saturated", "list of mappings", "none"},
  {"stopping", "list of mappings", "none"},
  {"cold-start", "mapping", "all defaults"},
};
constexpr key_row observation_rows[] = {
  {"get", "path", "one of get, post, connect"},
  {"post", "path", "one of get, post, connect"},
  {"connect", "refused, accepted", "one of get, post, connect"},
  {"body", "JSON text; for post", "none"},
  {"status", "number, or list of numbers", "200"},
  {"json", "path in the answer, like data.0.id", "none"},
  {"equals", "text", "the path exists"},
  {"pattern", "RE2 pattern", "none"},
  {"timeout", "duration with unit, 1 ms to 10 min", "2 s"},
  {"failures", "1 to 1000 in a row", "1"},
};
constexpr key_row cold_start_rows[] = {
  {"typical", "list of two durations", "unknown"},
  {"limit", "duration with unit, 1 s to 1 d", "10 min"},
};
constexpr key_row stop_rows[] = {
  {"signal", "TERM, INT, QUIT", "TERM"},
  {"grace", "duration with unit, 0 ms to 1 h", "10 s"},
  {"group", "true, false", "true"},
};
constexpr key_row exit_rows[] = {
  {"code", "0 to 255", "this or signal"},
  {"signal", "ABRT, BUS, FPE, HUP, ILL, INT, KILL, PIPE, QUIT, SEGV, SYS, TERM", "this or code"},
  {"phase", "loading, serving, stopping", "any"},
  {"means", "word", "required"},
  {"act", "none, restart, backoff, never, quarantine-device, extend-start", "restart"},
  {"ambiguous", "true, false", "false"},
};
constexpr key_row log_rows[] = {
  {"re", "RE2 pattern", "required"},
  {"means", "word", "required"},
  {"act", "none, restart, backoff, never, quarantine-device, extend-start", "none"},
};
constexpr key_row metrics_rows[] = {
  {"path", "path", "none: the engine has no metrics"},
  {"every", "duration with unit, 100 ms to 10 min", "1 s"},
  {"off-status", "100 to 599", "none"},
  {"never-scrape", "list of paths", "none"},
  {"labels", "mapping of texts", "none"},
  {"signals", "mapping of a signal to none, a mapping, or a list of mappings", "none"},
};
constexpr key_row signal_rows[] = {
  {"name", "the engine's metric", "this or ratio"},
  {"ratio", "list of two metrics", "this or name"},
  {"match", "mapping of label to text", "none"},
  {"read-labels", "mapping of a word to a label that holds a number", "none"},
  {"type", "gauge, counter, histogram", "gauge"},
  {"scale", "decimal number", "1"},
  {"across", "sum, max, mean", "sum"},
  {"absent-value", "decimal number that means unknown", "none"},
};
constexpr key_row api_rows[] = {
  {"dialect", "openai, oip, anthropic", "openai"},
  {"auth", "none, bearer", "none"},
  {"offers",
   "list of chat-completions, completions, embeddings, responses, messages, count-tokens, rerank, "
   "score",
   "chat-completions, completions, embeddings"},
  {"errors",
   "list of openai-nested, openai-flat, error-text, error-and-type, detail, plain",
   "none"},
  {"codes", "mapping of the engine's error to ours", "none"},
  {"stream", "mapping", "all defaults"},
  {"usage", "never, on-request, always", "on-request"},
  {"finish", "mapping of the engine's reason to ours", "none"},
  {"ignores", "list of request fields", "none"},
  {"refuses", "list of request fields", "none"},
  {"cancels-on-disconnect", "true, false", "true"},
  {"restricted-paths", "list of paths", "none"},
};
constexpr key_row stream_rows[] = {
  {"end", "text", "[DONE]"},
  {"error", "cut, data-chunk, data-chunk-then-done, error-event", "cut"},
};
constexpr key_row profile_artifact_rows[] = {
  {"kinds", "list of artifact kinds", "any"},
};

} // namespace

const key_table pool{"pool", pool_rows};
const key_table model{"model", model_rows};
const key_table contract{"model: contract", contract_rows};
const key_table request_limits{"limits", limit_rows};
const key_table objective{"model: contract.objectives[]", objective_rows};
const key_table safety{"model: contract.safety", safety_rows};
const key_table implementation_entry{"model: implementations[]", entry_rows};
const key_table implementation{"implementation", implementation_rows};
const key_table replicas{"replicas", replica_rows};
const key_table artifact{"artifact", artifact_rows};
const key_table artifact_file{"artifact: files[]", file_rows};
const key_table policy{"policy", policy_rows};
const key_table project{"project", project_rows};
const key_table key{"key", key_rows};

const key_table profile{"runtime-profile", profile_rows};
const key_table profile_applies{"runtime-profile: applies", applies_rows};
const key_table profile_question{"runtime-profile: identify[], version", question_rows};
const key_table profile_launch{"runtime-profile: launch", launch_rows};
const key_table profile_arg{"runtime-profile: launch.args[]", arg_rows};
const key_table profile_device{"runtime-profile: devices.FAMILY", device_rows};
const key_table profile_port{"runtime-profile: ports[]", port_rows};
const key_table profile_phases{"runtime-profile: phases", phases_rows};
const key_table profile_observation{"runtime-profile: observations", observation_rows};
const key_table profile_cold_start{"runtime-profile: phases.cold-start", cold_start_rows};
const key_table profile_stop{"runtime-profile: stop", stop_rows};
const key_table profile_exit{"runtime-profile: exits[]", exit_rows};
const key_table profile_log{"runtime-profile: logs[]", log_rows};
const key_table profile_metrics{"runtime-profile: metrics", metrics_rows};
const key_table profile_signal{"runtime-profile: metrics.signals.NAME", signal_rows};
const key_table profile_api{"runtime-profile: api", api_rows};
const key_table profile_stream{"runtime-profile: api.stream", stream_rows};
const key_table profile_artifact{"runtime-profile: artifact", profile_artifact_rows};

std::span<const key_table* const> all() {
  static constexpr const key_table* tables[] = {
    &pool,
    &model,
    &contract,
    &request_limits,
    &objective,
    &safety,
    &implementation_entry,
    &implementation,
    &replicas,
    &artifact,
    &artifact_file,
    &policy,
    &project,
    &key,
    &profile,
    &profile_applies,
    &profile_question,
    &profile_launch,
    &profile_arg,
    &profile_device,
    &profile_port,
    &profile_phases,
    &profile_observation,
    &profile_cold_start,
    &profile_stop,
    &profile_exit,
    &profile_log,
    &profile_metrics,
    &profile_signal,
    &profile_api,
    &profile_stream,
    &profile_artifact,
  };
  return tables;
}

} // namespace assay::catalog::keys
