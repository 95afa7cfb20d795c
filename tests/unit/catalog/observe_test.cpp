#include "src/catalog/profile.hpp"
#include "tests/unit/catalog/builders.hpp"

#include <csignal>

namespace assay::catalog {

using namespace testing;

namespace {

using outcome = sighting::outcome;

runtime_profile shipped(const std::string& name) {
  const auto parsed = parse_profile(name, source_text("deploy/runtimes/" + name + ".yaml"));
  REQUIRE(parsed.has_value());
  return *parsed;
}

sighting answer(int status, std::string_view body = {}) {
  return {outcome::answered, status, body};
}

observation asks(const std::string& o) {
  const auto parsed =
    parse_profile("p", "runtime-profile: x\nphases: {ready: " + o + ", deep: {get: /}}\n");
  REQUIRE(parsed.has_value());
  return parsed->phases.ready;
}

} // namespace

TEST_CASE("only the expected status and body count as yes") {
  const auto o = asks("{get: /v1/models, json: data.0.id, equals: m}");
  CHECK(matches(o, answer(200, R"({"data":[{"id":"m"}]})")));
  CHECK_FALSE(matches(o, answer(200, R"({"data":[{"id":"other"}]})")));
  CHECK_FALSE(matches(o, answer(200, R"({"data":[]})")));
  CHECK_FALSE(matches(o, answer(200, "not json")));
  CHECK_FALSE(matches(o, answer(503, R"({"data":[{"id":"m"}]})")));
  CHECK_FALSE(matches(o, {outcome::refused, 0, {}}));
  CHECK_FALSE(matches(o, {outcome::timed_out, 0, {}}));
}

TEST_CASE("with a path alone it has to exist, and null does not") {
  const auto o = asks("{get: /, json: a}");
  CHECK(matches(o, answer(200, R"({"a":""})")));
  CHECK(matches(o, answer(200, R"({"a":false})")));
  CHECK_FALSE(matches(o, answer(200, R"({"a":null})")));
  CHECK_FALSE(matches(o, answer(200, R"({"b":1})")));
}

TEST_CASE("a pattern looks at the value, or at the body when there is no path") {
  CHECK(matches(asks("{get: /, json: n, pattern: '^[1-9]'}"), answer(200, R"({"n":12})")));
  CHECK_FALSE(matches(asks("{get: /, json: n, pattern: '^[1-9]'}"), answer(200, R"({"n":0})")));
  CHECK(matches(asks("{get: /, pattern: 'OK$'}"), answer(200, "all OK")));
  CHECK_FALSE(matches(asks("{get: /, pattern: 'OK$'}"), answer(200, "not OK yet")));
}

TEST_CASE("a connection that must be refused is no yes when it times out") {
  const auto o = asks("{connect: refused}");
  CHECK(matches(o, {outcome::refused, 0, {}}));
  CHECK_FALSE(matches(o, {outcome::timed_out, 0, {}}));
  CHECK_FALSE(matches(o, answer(0)));
  CHECK(matches(asks("{connect: accepted}"), answer(0)));
}

TEST_CASE("deep JSON is refused instead of followed") {
  const std::string deep(100'000, '[');
  CHECK_FALSE(matches(asks("{get: /, json: a}"), answer(200, deep)));
}

TEST_CASE("llama-server: loading, ready and proven are told apart") {
  const auto p = shipped("llama-server");
  const auto& phases = p.phases;
  const auto loading =
    answer(503, R"({"error":{"message":"Loading model","type":"unavailable_error","code":503}})");
  const auto models = R"({"object":"list","data":[{"id":"smollm2","owned_by":"llamacpp"}]})";
  const std::map<std::string, std::string> slots{{"served_name", "smollm2"}};
  CHECK(matches(phases.loading[0], {outcome::refused, 0, {}}));
  CHECK(matches(phases.loading[1], loading));
  CHECK_FALSE(matches(phases.ready, loading, slots));
  CHECK(matches(phases.ready, answer(200, models), slots));
  CHECK_FALSE(matches(phases.ready, answer(200, models), {{"served_name", "another"}}));
  CHECK_FALSE(matches(phases.ready, answer(401, models), slots));
  CHECK(read_answer(p.identify.front(), models) == "llamacpp");
  CHECK_FALSE(read_answer(p.identify.front(), R"({"data":[{"owned_by":"vllm"}]})"));
  const auto proof = R"({"choices":[{"message":{"content":""}}],"usage":{"completion_tokens":1}})";
  CHECK(matches(phases.deep, answer(200, proof)));
  CHECK_FALSE(matches(phases.deep, answer(200, R"({"usage":{"completion_tokens":0}})")));
  CHECK_FALSE(matches(phases.deep, answer(200, R"({"choices":[]})")));
}

TEST_CASE("any exit that was not asked for is a failure, whatever its code") {
  const auto p = shipped("llama-server");
  const auto zero = classify_exit(p, run_phase::serving, {.code = 0});
  CHECK(zero.failure);
  CHECK(zero.means == "exited_with_0");
  CHECK(zero.remedy == remedy::restart);
  const auto unseen = classify_exit(p, run_phase::serving, {});
  CHECK(unseen.failure);
  CHECK(unseen.means == "exited_unseen");
}

TEST_CASE("an exit that was asked for is none, even by force") {
  const auto p = shipped("llama-server");
  for (const auto& how :
       {exit_status{.code = 0}, exit_status{.signal = SIGTERM}, exit_status{.code = 1}}) {
    const auto meaning = classify_exit(p, run_phase::stopping, how);
    CHECK_FALSE(meaning.failure);
    CHECK(meaning.remedy == remedy::none);
  }
  const auto forced = classify_exit(p, run_phase::stopping, {.signal = SIGKILL});
  CHECK_FALSE(forced.failure);
  CHECK(forced.remedy == remedy::none);
}

TEST_CASE("the phase decides what the same code means") {
  const auto p = shipped("llama-server");
  CHECK(
    classify_exit(p, run_phase::loading, {.code = 1})
    == exit_meaning{"startup_failed", remedy::backoff, true, true}
  );
  CHECK(classify_exit(p, run_phase::serving, {.code = 1}).means == "exited_with_1");
  CHECK(classify_exit(p, run_phase::loading, {.code = 2}).remedy == remedy::never);
  CHECK(classify_exit(p, run_phase::serving, {.signal = SIGABRT}).means == "backend_assertion");
  CHECK(
    classify_exit(p, run_phase::serving, {.signal = SIGSEGV}).means
    == "killed_by_signal_" + std::to_string(SIGSEGV)
  );
}

TEST_CASE("the lines of a log that say why are found, others are not") {
  const auto p = shipped("llama-server");
  const std::pair<const char*, const char*> table[] = {
    {"llama-server: port 7200 on 127.0.0.1 is taken by another program", "port_taken"},
    {"llama-server: cannot read the model /m.gguf: No such file", "model_unreadable"},
    {"llama-server: /m is not a GGUF file (it starts with b'{')", "model_unreadable"},
    {"llama-server: listening on http://127.0.0.1:7200", "ready_hint"},
    {"main: server is listening on 127.0.0.1:7200", "ready_hint"},
    {"llama_model_load: error loading model: missing tensor 'blk.0'", "artifact_mismatch"},
    {"GGML_ASSERT(n > 0) failed", "backend_assertion"},
    {"ggml_backend_cuda: CUDA out of memory", "out_of_memory"},
    {"llama-server: the engine could not load /m: Failed to init server", "startup_failed"},
  };
  for (const auto& [line, means] : table) {
    INFO(line);
    const auto* rule = match_log(p, line);
    REQUIRE(rule != nullptr);
    CHECK(rule->means == means);
  }
  CHECK(match_log(p, "slot launch: id 0 | processing task") == nullptr);
  CHECK(match_log(p, "") == nullptr);
}

TEST_CASE("what stands far behind in an endless line is not looked at") {
  const auto p = shipped("llama-server");
  CHECK(match_log(p, std::string(1 << 20, 'x') + "GGML_ASSERT") == nullptr);
}

} // namespace assay::catalog
