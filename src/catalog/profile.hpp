#pragma once
// A runtime profile: everything that is special about one engine, as data (deploy/runtimes/*.yaml).
//
// Nothing in a profile is executed as code: no shell, no script, only `${slot}` templates and RE2
// patterns. A profile classifies what is seen; whatever it does not classify is suspect, never
// ready. The keys are described in docs/declarations.md, the reasons in docs/decisions.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/catalog/declarations.hpp"
#include "src/catalog/pattern.hpp"
#include "src/contract/operation.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::catalog {

// -- launch -----------------------------------------------------------------------------------

/// How a flag and its value stand in argv: `--flag v`, `--flag=v`, `--flag a b` (the value is a
/// list separated by commas), `--flag a --flag b`, or `--flag` alone when the value is `true`.
enum class arg_form : std::uint8_t { separate, equals, list, repeat, toggle };

/// Either a slot with its flag, or fixed words.
struct launch_arg {
  std::string slot; ///< Empty for fixed words.
  std::string flag; ///< Empty: the value stands alone.
  arg_form form = arg_form::separate;
  bool required = false;               ///< Without a value the launch is refused.
  std::optional<std::string> fallback; ///< `default:`; a template.
  std::vector<std::string> fixed;      ///< Templates.

  friend bool operator==(const launch_arg&, const launch_arg&) = default;
};

struct launch_plan {
  std::vector<std::string> argv; ///< Templates; argv[0] is searched in PATH.
  std::vector<launch_arg> args;
  std::map<std::string, std::string> env;        ///< Variable -> template.
  std::map<std::string, std::string> secret_env; ///< Slot -> variable.
  std::vector<std::string> refuse_operator_flags;

  friend bool operator==(const launch_plan&, const launch_plan&) = default;
};

/// How one family's devices are named to the engine.
struct device_binding {
  std::string env;        ///< CUDA_VISIBLE_DEVICES
  std::string identifier; ///< `index`, `uuid` or `range`
  std::string separator = ",";
  std::vector<std::string> unset; ///< Variables that must not be inherited.

  friend bool operator==(const device_binding&, const device_binding&) = default;
};

struct port_plan {
  std::string name; ///< `http` is the one that serves; its slot is `port`.
  std::string slot; ///< `port` for http, else `NAME_port`.

  friend bool operator==(const port_plan&, const port_plan&) = default;
};

// -- observations -----------------------------------------------------------------------------

enum class probe_method : std::uint8_t { connect, get, post };

/// One question to the engine and the answer that counts as yes.
struct observation {
  probe_method method = probe_method::get;
  std::string path;        ///< Template; empty for `connect`.
  std::string body;        ///< JSON template for `post`.
  bool refused = false;    ///< `connect: refused`: yes means that nobody listens.
  std::vector<int> status; ///< Any of these; empty only for `connect`.
  std::string json;        ///< Path into the body, `data.0.id`; empty: the body is not read.
  std::optional<std::string> equals;       ///< Template. With `json` alone, the path has to exist.
  std::optional<catalog::pattern> pattern; ///< Of the value at `json`, or of the body.
  std::chrono::milliseconds timeout{2'000};
  std::uint32_t failures = 1; ///< So many in a row before a `no` counts.

  friend bool operator==(const observation&, const observation&) = default;
};

/// What the prober saw.
struct sighting {
  enum class outcome : std::uint8_t { answered, refused, reset, timed_out };
  outcome what = outcome::answered;
  int status = 0;        ///< 0 for a bare connect.
  std::string_view body; ///< What was read of it.
};

struct cold_start {
  std::chrono::milliseconds typical_min{};
  std::chrono::milliseconds typical_max{};
  std::chrono::milliseconds limit{std::chrono::minutes{10}};

  friend bool operator==(const cold_start&, const cold_start&) = default;
};

struct phase_rules {
  std::vector<observation> loading; ///< Any yes: still loading.
  observation ready;
  std::uint32_t ready_times = 1;   ///< Observations in a row before the proof is tried.
  std::optional<observation> live; ///< Without one, `ready` is asked.
  observation deep;                ///< The proof: one real generation.
  std::vector<observation> saturated;
  std::vector<observation> stopping;
  catalog::cold_start cold_start;

  friend bool operator==(const phase_rules&, const phase_rules&) = default;
};

// -- ends -------------------------------------------------------------------------------------

enum class stop_signal : std::uint8_t { term, interrupt, quit };

struct stop_plan {
  stop_signal signal = stop_signal::term;
  std::chrono::milliseconds grace{10'000}; ///< Then the whole group is killed.
  bool group = true;                       ///< The signal goes to the process group.

  friend bool operator==(const stop_plan&, const stop_plan&) = default;
};

enum class run_phase : std::uint8_t { loading, serving, stopping };

/// What the agent does about it.
enum class remedy : std::uint8_t {
  none,
  restart,
  backoff,           ///< Restart with growing pauses.
  never,             ///< The configuration is wrong: unchanged it will not work.
  quarantine_device, ///< The device is sick.
  extend_start       ///< Slow but moving: allow the long limit.
};

struct exit_rule {
  std::optional<int> code;        ///< Exactly one of code and signal is set.
  std::string signal;             ///< `KILL`, `ABRT`, ...
  std::optional<run_phase> phase; ///< Empty: any.
  std::string means;
  catalog::remedy remedy = remedy::restart;
  bool ambiguous = false; ///< The same exit has other causes: look in the log.

  friend bool operator==(const exit_rule&, const exit_rule&) = default;
};

struct exit_status {
  std::optional<int> code;
  std::optional<int> signal; ///< The number.
};

struct exit_meaning {
  std::string means;
  catalog::remedy remedy = remedy::restart;
  bool ambiguous = false;
  bool failure = true; ///< Any exit that was not asked for, whatever its code.

  friend bool operator==(const exit_meaning&, const exit_meaning&) = default;
};

struct log_rule {
  catalog::pattern pattern;
  std::string means; ///< `ready_hint`, `fatal`, `device_oom`, ...: shown, never decisive alone.
  catalog::remedy remedy = remedy::none;

  friend bool operator==(const log_rule&, const log_rule&) = default;
};

// -- metrics ----------------------------------------------------------------------------------

enum class signal_type : std::uint8_t { gauge, counter, histogram };
enum class across_rule : std::uint8_t { sum, max, mean };

/// One way to get a signal from a scrape. Exactly one of `name`, `ratio`, `read_labels` with a
/// name.
struct signal_source {
  std::string name;
  std::vector<std::string> ratio;                 ///< Two names: the first divided by the second.
  std::map<std::string, std::string> match;       ///< Labels that a sample must have.
  std::map<std::string, std::string> read_labels; ///< Result name -> label whose text is a number.
  signal_type type = signal_type::gauge;
  double scale = 1;
  across_rule across = across_rule::sum;
  std::optional<double> absent_value; ///< This number means "not known".

  friend bool operator==(const signal_source&, const signal_source&) = default;
};

struct metrics_plan {
  std::string path; ///< Empty: the engine has none.
  std::chrono::milliseconds every{1'000};
  std::optional<int> off_status; ///< The answer when metrics are switched off.
  std::vector<std::string> never_scrape;
  std::map<std::string, std::string> labels; ///< `model`, `rank`, `adapter` -> label name.
  std::map<std::string, std::vector<signal_source>>
    signals; ///< The first source seen in the scrape wins; an empty list is `none`.

  friend bool operator==(const metrics_plan&, const metrics_plan&) = default;
};

/// Missing is a state, not zero.
struct signal_reading {
  enum class state : std::uint8_t {
    value,
    absent, ///< The profile names it, the scrape has not got it.
    none,   ///< The engine does not have it.
  };
  state what = state::absent;
  signal_type type = signal_type::gauge;
  double value = 0;                    ///< Of a histogram: the sum.
  double count = 0;                    ///< Of a histogram only.
  std::map<std::string, double> parts; ///< Of `read_labels`.
  std::string source;                  ///< The engine's own name.
};

// -- protocol ---------------------------------------------------------------------------------

enum class dialect : std::uint8_t { openai, oip, anthropic };
enum class replica_auth : std::uint8_t { none, bearer };
enum class error_shape : std::uint8_t {
  openai_nested,  ///< {"error":{"message","type","code"}}; code text or number
  openai_flat,    ///< {"object":"error","message","type","code"}
  error_text,     ///< {"error":"text"}
  error_and_type, ///< {"error":"text","error_type":"..."}
  detail,         ///< {"detail":...}
  plain           ///< not JSON
};
/// How a stream that began with 200 says that it failed.
enum class stream_error : std::uint8_t { cut, data_chunk, data_chunk_then_done, error_event };
enum class usage_mode : std::uint8_t { never, on_request, always };

struct api_plan {
  catalog::dialect dialect = dialect::openai;
  replica_auth auth = replica_auth::none;
  std::vector<contract::operation> offers{
    contract::operation::chat_completions,
    contract::operation::completions,
    contract::operation::embeddings}; ///< What callers may ask of it.
  std::vector<error_shape> errors;
  std::map<std::string, std::string> codes; ///< Engine's error type or code -> our failure code.
  std::string stream_end = "[DONE]";        ///< Empty: the end of the body.
  catalog::stream_error stream_failure = stream_error::cut;
  usage_mode usage = usage_mode::on_request;
  std::map<std::string, std::string> finish; ///< Engine's finish reason -> ours.
  std::vector<std::string> ignores;          ///< Request fields without effect.
  std::vector<std::string> refuses;
  bool cancels_on_disconnect = true;
  std::vector<std::string> restricted_paths; ///< Never reached through the router.

  friend bool operator==(const api_plan&, const api_plan&) = default;
};

/// Where an answer names something: `get` a path, read `json` from it.
struct question {
  std::string get;
  std::string json;
  std::optional<std::string> equals;

  friend bool operator==(const question&, const question&) = default;
};

// -- the whole --------------------------------------------------------------------------------

struct runtime_profile {
  profile_id id;
  std::uint32_t revision = 1;
  std::string runtime;                   ///< `applies.runtime`: llama.cpp, vllm, ...
  std::string versions;                  ///< `applies.versions`, for people.
  std::vector<catalog::family> families; ///< Empty: any.
  std::vector<question> identify;        ///< All yes: it is this engine, not somebody else's port.
  std::optional<launch_plan> launch;     ///< Empty: only adopted servers.
  std::map<catalog::family, device_binding> devices;
  std::vector<port_plan> ports;
  phase_rules phases;
  stop_plan stop;
  std::vector<exit_rule> exits;
  std::vector<log_rule> logs;
  metrics_plan metrics;
  api_plan api;
  std::optional<question> version;
  std::vector<artifact_kind> artifact_kinds; ///< Empty: any.

  friend bool operator==(const runtime_profile&, const runtime_profile&) = default;
};

/// Reads one `runtime-profile:` document; `file` is the name that problems use.
result<runtime_profile, std::vector<problem>>
parse_profile(std::string_view file, std::string_view text);

// -- pure functions for the agent -------------------------------------------------------------

/// Slots that the agent fills, never the operator: `artifact_dir`, `artifact_file`, `host`, `port`,
/// `served_name`, `slots`, `context_tokens`, `output_tokens`, `cache_dir`, `devices`, the ports'
/// slots and the secrets.
struct slot_values {
  std::map<std::string, std::string> system;
  std::map<std::string, std::string>
    args; ///< `implementation::args`: by slot name, or a raw flag `--flag` with its value.
};

struct command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> secret_env; ///< Variable -> slot; the caller puts the secret
                                                 ///< in. No secret stands in argv or env.

  friend bool operator==(const command&, const command&) = default;
};

/// Refused: a profile without launch, an empty required slot, an arg that is neither slot nor flag,
/// an arg for a system slot, a flag that the profile refuses or that belongs to a slot.
result<command, problem> compose_command(const runtime_profile& p, const slot_values& slots);

/// `${slot}` replaced in a path or body. With `json` set, values are escaped for a JSON string.
result<std::string, problem> fill_template(
  std::string_view text, const std::map<std::string, std::string>& slots, bool json = false
);

/// Does the sighting answer the observation with yes? `slots` fill `equals`.
bool matches(
  const observation& o, const sighting& seen, const std::map<std::string, std::string>& slots = {}
);

/// The answer of `identify` or `version`: the text at its JSON path, if there is one.
std::optional<std::string> read_answer(const question& q, std::string_view body);

/// The first rule that fits; without one a plain failure (or a clean end when stopping).
exit_meaning classify_exit(const runtime_profile& p, run_phase phase, const exit_status& how);

/// The first rule whose pattern is in the line; null when none is. Long lines are cut first.
const log_rule* match_log(const runtime_profile& p, std::string_view line);

/// One reading per signal that the profile names, from Prometheus text.
std::map<std::string, signal_reading>
extract_signals(const runtime_profile& p, std::string_view prometheus_text);

/// The closed list of signals that a profile may name.
std::vector<std::string_view> canonical_signals();

/// SIGTERM and kin, as the number for kill(2).
int signal_number(stop_signal s);

std::string_view name(remedy r);
std::string_view name(run_phase p);
std::string_view name(error_shape s);
std::string_view name(dialect d);

} // namespace assay::catalog
