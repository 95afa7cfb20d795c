#include "src/catalog/profile.hpp"
#include "tests/unit/catalog/builders.hpp"

#include <csignal>

namespace assay::catalog {

using namespace testing;

namespace {

/// The smallest profile that starts something, with lines to add.
std::string small_profile(const std::string& more = {}, const std::string& args = {}) {
  return "runtime-profile: small\nlaunch:\n  argv: [engine, serve]\n  args:\n"
         "    - {slot: host, flag: --host}\n    - {slot: port, flag: --port}\n"
         + args
         + "phases:\n  ready: {get: /health}\n"
           "  deep: {post: /v1/completions, body: '{\"prompt\": \"1\"}'}\n"
         + more;
}

std::string wrong(const std::string& text) {
  const auto parsed = parse_profile("p.yaml", text);
  REQUIRE_FALSE(parsed.has_value());
  std::string lines;
  for (const auto& p : parsed.error())
    lines += to_text(p) + "\n";
  return lines;
}

runtime_profile good(const std::string& text) {
  auto parsed = parse_profile("p.yaml", text);
  std::string lines;
  if (!parsed)
    for (const auto& p : parsed.error())
      lines += to_text(p) + "\n";
  INFO(text << "\n" << lines);
  REQUIRE(parsed.has_value());
  return *parsed;
}

} // namespace

TEST_CASE("every profile that is shipped is good and named like its file") {
  for (const auto* name : {"llama-server", "http", "vllm", "sglang"})
    CHECK(good(source_text(std::string{"deploy/runtimes/"} + name + ".yaml")).id.value == name);
}

TEST_CASE("a small profile has the defaults that the manual names") {
  const auto p = good(small_profile());
  CHECK(p.ports == std::vector<port_plan>{{"http", "port"}});
  CHECK(p.phases.ready.status == std::vector<int>{200});
  CHECK(p.phases.ready.timeout == std::chrono::seconds{2});
  CHECK(p.phases.cold_start.limit == std::chrono::minutes{10});
  CHECK(p.stop == stop_plan{});
  CHECK(p.api.stream_end == "[DONE]");
  CHECK_FALSE(p.phases.live);
  using contract::operation;
  CHECK(
    p.api.offers
    == std::vector{operation::chat_completions, operation::completions, operation::embeddings}
  );
}

TEST_CASE("a profile offers what it names and nothing else") {
  using contract::operation;
  const auto p = good(small_profile("api: {offers: [messages, count-tokens]}\n"));
  CHECK(p.api.offers == std::vector{operation::messages, operation::count_tokens});
  CHECK(good(small_profile("api: {offers: []}\n")).api.offers.empty());
}

TEST_CASE("a profile as part of an apply keeps its text and is checked there") {
  const auto d = value_of<profile_document>(small_profile());
  CHECK(d.name.value == "small");
  CHECK(d.text == small_profile());
  CHECK(contains(problems_of(small_profile("speed: 3\n")), "`speed` is not known here"));
}

TEST_CASE("the slots of further ports are known") {
  const auto p = good(small_profile(
    "ports: [{name: http}, {name: grpc}, {name: nccl, slot: rank-port}]\n",
    "    - {slot: grpc_port, flag: --grpc}\n    - {fixed: [\"--nccl=${rank-port}\"]}\n"
  ));
  CHECK(p.ports[1] == port_plan{"grpc", "grpc_port"});
  CHECK(p.ports[2] == port_plan{"nccl", "rank_port"});
}

TEST_CASE("a slot that does not exist is refused with its neighbour") {
  const auto text = wrong(small_profile("", "    - {fixed: [\"--x=${artifact_dri}\"]}\n"));
  CHECK(contains(text, "the slot `artifact_dri` does not exist; did you mean `artifact_dir`?"));
  CHECK(contains(wrong(small_profile("", "    - {fixed: [\"${\"]}\n")), "`${` without a slot"));
  CHECK(contains(wrong(small_profile("", "    - {fixed: [\"${}\"]}\n")), "`${` without a slot"));
}

TEST_CASE("slots are checked in paths, bodies, answers and variables too") {
  const auto with = [](const std::string& ready, const std::string& env) {
    return "runtime-profile: x\nlaunch: {argv: [e, \"${host}\", \"${port}\"], env: {V: \"" + env
           + "\"}}\nphases: {ready: " + ready + ", deep: {get: /}}\n";
  };
  CHECK(parse_profile("p", with("{get: /}", "a")));
  CHECK(contains(wrong(with("{get: \"/${nope}\"}", "a")), "`nope` does not exist"));
  CHECK(contains(wrong(with("{post: /, body: '\"${nope}\"'}", "a")), "`nope` does not exist"));
  CHECK(contains(wrong(with("{get: /, json: a, equals: \"${nope}\"}", "a")), "does not exist"));
  CHECK(contains(wrong(with("{get: /}", "${nope}")), "`nope` does not exist"));
}

TEST_CASE("a secret never stands in argv, a variable or a body") {
  const auto secret = "  secret-env: {api_key: KEY}\n";
  const auto bearer = "api: {auth: bearer}\n";
  CHECK(parse_profile("p", small_profile(bearer, secret)));
  CHECK(contains(
    wrong(small_profile(bearer, std::string{"    - {slot: api_key, flag: --key}\n"} + secret)),
    "would stand in argv"
  ));
  CHECK(contains(
    wrong(small_profile(bearer, std::string{"    - {fixed: [\"--k=${api_key}\"]}\n"} + secret)),
    "the secret slot `api_key` stands in a template"
  ));
}

TEST_CASE("a key that the engine knows is sent, and one that is sent is known") {
  CHECK(contains(
    wrong(small_profile("", "  secret-env: {api_key: KEY}\n")), "a key that nobody would send"
  ));
  CHECK(contains(wrong(small_profile("api: {auth: bearer}\n")), "no key that the engine knows"));
}

TEST_CASE("an engine that cannot be told where to listen is refused") {
  const auto text =
    wrong("runtime-profile: x\nlaunch: {argv: [e]}\nphases: {ready: {get: /}, deep: {get: /}}\n");
  CHECK(contains(text, "nothing uses the slot `host`"));
  CHECK(contains(text, "nothing uses the slot `port`"));
}

TEST_CASE("patterns are compiled when the profile is read, and bounded") {
  const auto log = [](const std::string& re) {
    return small_profile("logs: [{re: '" + re + "', means: fatal}]\n");
  };
  CHECK(parse_profile("p", log("a|b")));
  CHECK(parse_profile("p", log(std::string(512, 'a'))));
  CHECK(contains(wrong(log(std::string(513, 'a'))), "longer than 512 bytes"));
  CHECK(contains(wrong(log("(a")), "missing )"));
  CHECK(contains(wrong(log("(a)\\1")), "is no pattern"));
  CHECK(contains(wrong(log("((a{1,900}){1,900}){1,900}")), "is no pattern"));
  CHECK(contains(wrong(log("")), "fits everything"));
}

TEST_CASE("an observation asks exactly one thing") {
  const auto ready = [](const std::string& o) {
    return "runtime-profile: x\nphases: {ready: " + o + ", deep: {get: /}}\n";
  };
  CHECK(contains(wrong(ready("{get: /, post: /}")), "asks one thing"));
  CHECK(contains(wrong(ready("{status: 200}")), "asks one thing"));
  CHECK(contains(wrong(ready("{connect: refused, status: 200}")), "no answer to look at"));
  CHECK(contains(wrong(ready("{get: health}")), "no path of a URL"));
  CHECK(contains(wrong(ready("{get: /, status: 99}")), "no HTTP status"));
  CHECK(contains(wrong(ready("{get: /, status: []}")), "no HTTP status"));
  CHECK(contains(wrong(ready("{get: /, body: '{}'}")), "only `post` has a body"));
  CHECK(contains(wrong(ready("{post: /, body: '{'}")), "the body is not JSON"));
  CHECK(contains(wrong(ready("{get: /, equals: x}")), "no path to compare"));
  CHECK(contains(wrong(ready("{get: /, json: a, equals: x, pattern: x}")), "exclude each other"));
  CHECK(contains(wrong(ready("{get: /, json: a..b}")), "no path into JSON"));
  CHECK(contains(wrong(ready("{get: /, timeout: 5}")), "the unit is missing"));
}

TEST_CASE("a profile without a proof of generation is refused") {
  CHECK(
    contains(wrong("runtime-profile: x\nphases: {ready: {get: /}}\n"), "deep: the key is missing")
  );
  CHECK(contains(
    wrong("runtime-profile: x\nphases: {ready: {get: /}, deep: {connect: accepted}}\n"),
    "proves no generation"
  ));
  CHECK(contains(wrong("runtime-profile: x\n"), "phases: the key is missing"));
}

TEST_CASE("every part of a profile refuses what it does not know") {
  const std::pair<const char*, const char*> table[] = {
    {"exits: [{code: 1, signal: KILL, means: x}]\n", "a code or a signal"},
    {"exits: [{means: x}]\n", "a code or a signal"},
    {"exits: [{code: 256, means: x}]\n", "allowed: 0 to 255"},
    {"exits: [{signal: KIL, means: x}]\n", "did you mean `KILL`?"},
    {"exits: [{code: 1, means: x, act: reboot}]\n", "allowed: none, restart"},
    {"exits: [{code: 1}]\n", "means: the key is missing"},
    {"stop: {signal: KILL}\n", "allowed: TERM, INT, QUIT"},
    {"stop: {grace: 2 h}\n", "allowed: 0 ms to 1 h"},
    {"metrics: {path: /m, never-scrape: [/m]}\n", "the path that is scraped"},
    {"metrics: {path: /m, signals: {runing: none}}\n", "did you mean `running`?"},
    {"metrics: {path: /m, signals: {running: []}}\n", "write `none`"},
    {"metrics: {path: /m, signals: {running: {name: a, ratio: [a, b]}}}\n", "a ratio of two"},
    {"metrics: {path: /m, signals: {running: {ratio: [a]}}}\n", "a ratio has two metrics"},
    {"metrics: {path: /m, signals: {running: {name: a, scale: x}}}\n", "is no number"},
    {"metrics: {signals: {running: {name: a}}}\n", "path: the key is missing"},
    {"api: {dialect: soap}\n", "allowed: openai, oip, anthropic"},
    {"api: {errors: [xml]}\n", "allowed: openai-nested"},
    {"api: {offers: [chat]}\n", "allowed: chat-completions, completions"},
    {"api: {codes: {x: no_such}}\n", "allowed: invalid_request"},
    {"api: {finish: {x: halt}}\n", "allowed: stop, length"},
    {"api: {restricted-paths: [sleep]}\n", "no path of a URL"},
    {"devices: {gpu: {env: X}}\n", "allowed: cpu, nvidia"},
    {"devices: {nvidia: {env: 9X}}\n", "no environment variable"},
    {"ports: [{name: grpc}]\n", "not exactly one port `http`"},
    {"artifact: {kinds: [zip]}\n", "allowed: gguf"},
    {"applies: {families: [gpu]}\n", "allowed: cpu, nvidia"},
    {"version: {get: /v}\n", "version.json: the key is missing"},
    {"extends: other\n", "`extends` is not known here"},
  };
  for (const auto& [more, said] : table) {
    INFO(more);
    CHECK(contains(wrong(small_profile(more)), said));
  }
}

TEST_CASE("an argument is a slot or fixed words, once") {
  const std::pair<const char*, const char*> table[] = {
    {"    - {slot: x, fixed: [y]}\n", "either a slot or fixed words"},
    {"    - {flag: --x}\n", "either a slot or fixed words"},
    {"    - {fixed: [x], flag: --x}\n", "fixed words take no other key"},
    {"    - {slot: x, flag: x}\n", "begin it with `-`"},
    {"    - {slot: x, form: equals}\n", "this form needs a flag"},
    {"    - {slot: x, required: true, default: y}\n", "never missing"},
    {"    - {slot: port, flag: --p}\n", "has two arguments"},
    {"    - {slot: x, form: glued}\n", "allowed: separate, equals"},
  };
  for (const auto& [args, said] : table) {
    INFO(args);
    CHECK(contains(wrong(small_profile("", args)), said));
  }
}

TEST_CASE("all that is wrong with a profile comes out at once") {
  const auto text = wrong(small_profile("stop: {grace: 5}\napi: {usage: often}\nextra: 1\n"));
  CHECK(contains(text, "p.yaml:10:15: stop.grace"));
  CHECK(contains(text, "p.yaml:11:14: api.usage"));
  CHECK(contains(text, "p.yaml:12:1: extra"));
}

TEST_CASE("a file with something else than one profile is no profile") {
  CHECK(contains(wrong("pool: p\nfamily: cpu\n"), "no runtime profile"));
  CHECK(contains(wrong(small_profile() + "---\n" + small_profile()), "a second document"));
  CHECK(contains(wrong(""), "no document"));
}

TEST_CASE("stop signals are the numbers that kill takes") {
  CHECK(signal_number(stop_signal::term) == SIGTERM);
  CHECK(signal_number(stop_signal::interrupt) == SIGINT);
  CHECK(signal_number(stop_signal::quit) == SIGQUIT);
}

} // namespace assay::catalog
