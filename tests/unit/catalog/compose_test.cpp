#include "src/base/limits.hpp"
#include "src/catalog/profile.hpp"
#include "tests/unit/catalog/builders.hpp"

namespace assay::catalog {

using namespace testing;

namespace {

using words = std::vector<std::string>;

runtime_profile profile_of(const std::string& args, const std::string& launch = {}) {
  const auto parsed = parse_profile(
    "p.yaml",
    "runtime-profile: small\nlaunch:\n  argv: [engine]\n" + launch
      + "  refuse-operator-flags: [--unsafe]\n  args:\n    - {slot: host, flag: --host}\n"
        "    - {slot: port, flag: --port, required: true}\n"
      + args + "phases: {ready: {get: /}, deep: {get: /}}\n"
  );
  REQUIRE(parsed.has_value());
  return *parsed;
}

slot_values slots(std::map<std::string, std::string> args = {}) {
  return {{{"host", "127.0.0.1"}, {"port", "7200"}}, std::move(args)};
}

words argv_of(const runtime_profile& p, std::map<std::string, std::string> args = {}) {
  const auto made = compose_command(p, slots(std::move(args)));
  INFO((made ? std::string{} : to_text(made.error())));
  REQUIRE(made.has_value());
  return {made->argv.begin() + 5, made->argv.end()};
}

problem refusal_of(const runtime_profile& p, std::map<std::string, std::string> args) {
  const auto made = compose_command(p, slots(std::move(args)));
  REQUIRE_FALSE(made.has_value());
  return made.error();
}

} // namespace

TEST_CASE("the shipped llama-server profile gives upstream's command line, the key by variable") {
  const auto p = parse_profile("p", source_text("deploy/runtimes/llama-server.yaml"));
  REQUIRE(p);
  slot_values given;
  given.system = {
    {"artifact_file", "/models/m.gguf"},
    {"artifact_dir", "/models"},
    {"served_name", "smollm2"},
    {"host", "127.0.0.1"},
    {"port", "7200"},
    {"slots", "4"},
    {"output_tokens", "512"},
  };
  given.args = {{"threads", "2"}, {"ctx-size", "4096"}};
  const auto made = compose_command(*p, given);
  REQUIRE(made);
  CHECK(
    made->argv
    == words{"llama-server", "--model", "/models/m.gguf", "--alias", "smollm2", "--host", "127.0.0.1", "--port", "7200", "--ctx-size", "4096", "--parallel", "4", "--threads", "2", "--predict", "512", "--metrics", "--slots", "--no-webui"}
  );
  CHECK(made->secret_env == std::map<std::string, std::string>{{"LLAMA_API_KEY", "api_key"}});
  CHECK(made->env.empty());
}

TEST_CASE("each form of argument gives its words") {
  const std::pair<const char*, words> table[] = {
    {"    - {slot: x, flag: --x}\n", {"--x", "a,b"}},
    {"    - {slot: x}\n", {"a,b"}},
    {"    - {slot: x, flag: --x, form: equals}\n", {"--x=a,b"}},
    {"    - {slot: x, flag: --x, form: list}\n", {"--x", "a", "b"}},
    {"    - {slot: x, flag: --x, form: repeat}\n", {"--x", "a", "--x", "b"}},
    {"    - {slot: x, flag: --x, form: toggle}\n", {}},
    {"    - {fixed: [--y, \"p=${port}\"]}\n    - {slot: x}\n", {"--y", "p=7200", "a,b"}},
  };
  for (const auto& [args, expected] : table) {
    INFO(args);
    CHECK(argv_of(profile_of(args), {{"x", "a,b"}}) == expected);
  }
  const auto toggle = profile_of("    - {slot: x, flag: --x, form: toggle}\n");
  CHECK(argv_of(toggle, {{"x", "true"}}) == words{"--x"});
}

TEST_CASE("a value with spaces, quotes or dollars stays one word") {
  const auto p = profile_of("    - {slot: x, flag: --x}\n");
  CHECK(
    argv_of(p, {{"x", "a b; rm -rf '$HOME' ${port}"}})
    == words{"--x", "a b; rm -rf '$HOME' ${port}"}
  );
}

TEST_CASE("an optional slot without a value is left out, a default fills in, a required one refuses"
) {
  CHECK(argv_of(profile_of("    - {slot: x, flag: --x}\n")).empty());
  CHECK(argv_of(profile_of("    - {slot: x, flag: --x, default: d}\n")) == words{"--x", "d"});
  CHECK(
    argv_of(profile_of("    - {slot: x, flag: --x, default: \"p${port}\"}\n"))
    == words{"--x", "p7200"}
  );
  const auto missing = refusal_of(profile_of("    - {slot: x, flag: --x, required: true}\n"), {});
  CHECK(missing.what == "the slot `x` needs a value and has none");
  CHECK(contains(missing.next, "`x: VALUE`"));
  CHECK(missing.where == "runtime profile small");
}

TEST_CASE("a template whose slot has no value refuses the launch") {
  const auto p = profile_of("    - {fixed: [\"${artifact_dir}\"]}\n");
  CHECK(refusal_of(p, {}).what == "the slot `artifact_dir` has no value");
  const auto env = profile_of("", "  env: {HOME: \"${cache_dir}\"}\n");
  CHECK(refusal_of(env, {}).what == "the slot `cache_dir` has no value");
}

TEST_CASE("slots are spelled with hyphens or underscores alike") {
  const auto p = profile_of("    - {slot: max-len, flag: --max}\n");
  CHECK(argv_of(p, {{"max_len", "8"}}) == words{"--max", "8"});
  CHECK(argv_of(p, {{"max-len", "8"}}) == words{"--max", "8"});
}

TEST_CASE("an arg that is no slot is refused with its neighbour") {
  const auto p = profile_of("    - {slot: threads, flag: --threads}\n");
  const auto said = refusal_of(p, {{"thread", "2"}});
  CHECK(said.kind == problem_kind::refused);
  CHECK(said.what == "the arg `thread` is no slot of this profile; did you mean `threads`?");
}

TEST_CASE("an operator cannot fill what the agent fills") {
  const auto p = profile_of("");
  for (const auto* slot : {"host", "port", "artifact_dir", "artifact-file", "served_name"})
    CHECK(contains(refusal_of(p, {{slot, "x"}}).what, "is filled by the agent"));
  const auto keyed = parse_profile("p", source_text("deploy/runtimes/llama-server.yaml"));
  CHECK(contains(refusal_of(*keyed, {{"api-key", "x"}}).what, "is filled by the agent"));
}

TEST_CASE("a raw flag passes unless the profile refuses it or sets it itself") {
  const auto p = profile_of("    - {slot: x, flag: --x}\n    - {fixed: [--metrics]}\n");
  CHECK(argv_of(p, {{"--free", "7"}}) == words{"--metrics", "--free", "7"});
  CHECK(argv_of(p, {{"--bare", "true"}}) == words{"--metrics", "--bare"});
  CHECK(refusal_of(p, {{"--unsafe", "1"}}).what == "the flag `--unsafe` is refused");
  CHECK(refusal_of(p, {{"--x", "1"}}).next == "write `x:`");
  CHECK(contains(refusal_of(p, {{"--metrics", "1"}}).what, "is set by the profile"));
  CHECK(contains(refusal_of(p, {{"--unsafe=1", "1"}}).what, "a value in its name"));
}

TEST_CASE("a profile that starts nothing says what to do instead") {
  const auto p = parse_profile("p", source_text("deploy/runtimes/http.yaml"));
  REQUIRE(p);
  const auto made = compose_command(*p, slots());
  REQUIRE_FALSE(made.has_value());
  CHECK(contains(made.error().next, "assay-agent adopt"));
}

TEST_CASE("a command line has a limit") {
  const auto p = profile_of("    - {slot: x, flag: --x}\n");
  CHECK(contains(refusal_of(p, {{"x", std::string(limits::command_bytes, 'a')}}).what, "bytes"));
}

TEST_CASE("templates for JSON escape what stands in texts") {
  const auto body =
    fill_template(R"({"model": "${served_name}"})", {{"served-name", "a\"b\\c"}}, true);
  REQUIRE(body);
  CHECK(*body == R"({"model": "a\"b\\c"})");
  CHECK(*fill_template("/v1/${served_name}", {{"served_name", "m"}}) == "/v1/m");
  CHECK_FALSE(fill_template("${nope}", {}));
}

} // namespace assay::catalog
