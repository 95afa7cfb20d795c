#include "src/catalog/profile_words.hpp"

#include "src/contract/errors.hpp"

#include <algorithm>
#include <csignal>

namespace assay::catalog::words {

namespace {

template <class Enum>
using row = std::pair<std::string_view, Enum>;

constexpr row<arg_form> form_rows[] = {
  {"separate", arg_form::separate},
  {"equals", arg_form::equals},
  {"list", arg_form::list},
  {"repeat", arg_form::repeat},
  {"toggle", arg_form::toggle},
};
constexpr row<std::string_view> id_rows[] = {
  {"index", "index"}, {"uuid", "uuid"}, {"range", "range"}};
constexpr row<bool> connect_rows[] = {{"refused", true}, {"accepted", false}};
constexpr row<stop_signal> stop_rows[] = {
  {"TERM", stop_signal::term}, {"INT", stop_signal::interrupt}, {"QUIT", stop_signal::quit}};
constexpr row<int> exit_rows[] = {
  {"ABRT", SIGABRT},
  {"BUS", SIGBUS},
  {"FPE", SIGFPE},
  {"HUP", SIGHUP},
  {"ILL", SIGILL},
  {"INT", SIGINT},
  {"KILL", SIGKILL},
  {"PIPE", SIGPIPE},
  {"QUIT", SIGQUIT},
  {"SEGV", SIGSEGV},
  {"SYS", SIGSYS},
  {"TERM", SIGTERM},
};
constexpr row<run_phase> phase_rows[] = {
  {"loading", run_phase::loading},
  {"serving", run_phase::serving},
  {"stopping", run_phase::stopping},
};
constexpr row<remedy> remedy_rows[] = {
  {"none", remedy::none},
  {"restart", remedy::restart},
  {"backoff", remedy::backoff},
  {"never", remedy::never},
  {"quarantine-device", remedy::quarantine_device},
  {"extend-start", remedy::extend_start},
};
constexpr row<signal_type> type_rows[] = {
  {"gauge", signal_type::gauge},
  {"counter", signal_type::counter},
  {"histogram", signal_type::histogram},
};
constexpr row<across_rule> across_rows[] = {
  {"sum", across_rule::sum}, {"max", across_rule::max}, {"mean", across_rule::mean}};
constexpr row<dialect> dialect_rows[] = {
  {"openai", dialect::openai}, {"oip", dialect::oip}, {"anthropic", dialect::anthropic}};
constexpr row<replica_auth> auth_rows[] = {
  {"none", replica_auth::none}, {"bearer", replica_auth::bearer}};
constexpr row<error_shape> shape_rows[] = {
  {"openai-nested", error_shape::openai_nested},
  {"openai-flat", error_shape::openai_flat},
  {"error-text", error_shape::error_text},
  {"error-and-type", error_shape::error_and_type},
  {"detail", error_shape::detail},
  {"plain", error_shape::plain},
};
constexpr row<stream_error> stream_rows[] = {
  {"cut", stream_error::cut},
  {"data-chunk", stream_error::data_chunk},
  {"data-chunk-then-done", stream_error::data_chunk_then_done},
  {"error-event", stream_error::error_event},
};
constexpr row<usage_mode> usage_rows[] = {
  {"never", usage_mode::never},
  {"on-request", usage_mode::on_request},
  {"always", usage_mode::always},
};

} // namespace

table<arg_form> arg_forms() {
  return form_rows;
}
table<std::string_view> device_ids() {
  return id_rows;
}
table<bool> connect_answers() {
  return connect_rows;
}
table<stop_signal> stop_signals() {
  return stop_rows;
}
table<int> exit_signals() {
  return exit_rows;
}
table<run_phase> run_phases() {
  return phase_rows;
}
table<remedy> remedies() {
  return remedy_rows;
}
table<signal_type> signal_types() {
  return type_rows;
}
table<across_rule> across_rules() {
  return across_rows;
}
table<dialect> dialects() {
  return dialect_rows;
}
table<replica_auth> auths() {
  return auth_rows;
}
table<error_shape> error_shapes() {
  return shape_rows;
}
table<stream_error> stream_errors() {
  return stream_rows;
}
table<usage_mode> usage_modes() {
  return usage_rows;
}

std::vector<std::string_view> families() {
  return {"cpu", "nvidia", "amd", "neuron", "tpu", "plugin"};
}

std::vector<std::string_view> artifact_kinds() {
  return {"gguf", "huggingface", "onnx", "engine", "neff", "stablehlo", "repository", "adopted"};
}

std::vector<std::string_view> failure_codes() {
  std::vector<std::string_view> codes;
  const auto last = static_cast<int>(contract::failure::internal_error);
  for (int i = 0; i <= last; ++i) {
    const auto code = contract::describe(static_cast<contract::failure>(i)).code;
    if (std::ranges::find(codes, code) == codes.end())
      codes.push_back(code);
  }
  return codes;
}

std::vector<std::string_view> operations() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < contract::operation_count; ++i)
    names.push_back(contract::describe(static_cast<contract::operation>(i)).name);
  return names;
}

std::vector<std::string_view> finish_reasons() {
  return {"stop", "length", "tool_calls", "content_filter", "cancelled", "error", "missing"};
}

} // namespace assay::catalog::words

namespace assay::catalog {

std::string_view name(remedy r) {
  return words::spelling(words::remedies(), r);
}

std::string_view name(run_phase p) {
  return words::spelling(words::run_phases(), p);
}

std::string_view name(error_shape s) {
  return words::spelling(words::error_shapes(), s);
}

std::string_view name(dialect d) {
  return words::spelling(words::dialects(), d);
}

int signal_number(stop_signal s) {
  switch (s) {
  case stop_signal::term:
    return SIGTERM;
  case stop_signal::interrupt:
    return SIGINT;
  case stop_signal::quit:
    return SIGQUIT;
  }
  return SIGTERM;
}

} // namespace assay::catalog
