#include "src/catalog/diff.hpp"
#include "tests/unit/catalog/builders.hpp"

namespace assay::catalog {

using namespace testing;

namespace {

constexpr auto digest_text =
  "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

} // namespace

TEST_CASE("the catalog example means the same in the short and in the long spelling") {
  const auto brief = values_of(R"(
model: reasoning-model-v3
evaluation-policy: eval-suite-2026-08
implementations:
  - pool: nvidia-hopper
    artifact: fp8-tensor-parallel-8
    status: production
  - pool: amd-mi300
    artifact: fp8-tensor-parallel-8-rocm
    status: canary
  - pool: trainium
    artifact: neuron-compiled-seq4096
    status: batch-only
)");
  const auto wordy = values_of(R"(
logical model: reasoning-model-v3
evaluation policy: eval-suite-2026-08

qualified implementations:
  - pool: nvidia-hopper
    artifact: fp8-tensor-parallel-8
    status: production
  - pool: amd-mi300
    artifact: fp8-tensor-parallel-8-rocm
    status: canary
  - pool: trainium
    artifact: neuron-compiled-seq4096
    status: batch-only
)");
  CHECK(brief == wordy);
  REQUIRE(brief.size() == 4);
  const auto& m = std::get<model>(brief[0]);
  CHECK(m.id.value == "reasoning-model-v3");
  CHECK(m.version == 1);
  CHECK(m.evaluation_policy.value == "eval-suite-2026-08");
  const auto& last = std::get<implementation>(brief[3]);
  CHECK(last.id.value == "reasoning-model-v3/trainium/neuron-compiled-seq4096");
  CHECK(last.artifact.value == "reasoning-model-v3/neuron-compiled-seq4096");
  CHECK(last.wanted == implementation_status::batch_only);
}

TEST_CASE("keys may be written with spaces, hyphens or underscores") {
  for (const auto* key : {"evaluation policy", "evaluation-policy", "evaluation_policy"})
    CHECK(value_of<model>(std::string{"model: m\n"} + key + ": p").evaluation_policy.value == "p");
}

TEST_CASE("each kind of document gives its declaration") {
  const auto values = values_of(
    "pool: p\nfamily: cpu\n---\nmodel: m\n---\nartifact: a\nmodel: m\nkind: adopted\n---\n"
    "implementation: m/p/a\n---\nsuite: s\nanything: [goes, here]\n---\n"
    "policy: q\nsuite: s\nscore-at-least: 40 %\n---\nproject: j\n---\nkey: k\nproject: j\n"
  );
  std::vector<std::string> kinds;
  for (const auto& v : values)
    kinds.emplace_back(std::string{kind_of(v)} + " " + name_of(v));
  CHECK(
    kinds
    == std::vector<
      std::
        string>{"pool p", "model m", "artifact m/a", "implementation m/p/a", "suite s", "policy q", "project j", "key k"}
  );
}

TEST_CASE("every field of a model is read") {
  const auto m = value_of<model>(R"(
model: m
version: 2
owner: "42"
contract:
  task: embedding
  streaming: false
  cancellation: false
  features: [tools, json_schema]
  limits: {context-tokens: 4096, input-tokens: 4000, output-tokens: 96, body: 1 MiB}
  data-class: secret
  objectives:
    - {metric: inter-token, limit: 50 ms, share: 99.9 %, window: 1 h}
    - {metric: availability, share: 99.95 %, window: 30 d}
  degraded: shrink
  queue-keepalive: true
  metadata: false
  safety: {policy: house rules}
)");
  CHECK(m.id.value == "m@2");
  CHECK(m.owner == "42");
  const auto& c = m.promises;
  CHECK(c.task == contract::task::embedding);
  CHECK((!c.streaming && !c.cancellation && c.queue_keepalive && !c.expose_metadata));
  CHECK(c.features == std::vector<std::string>{"tools", "json_schema"});
  CHECK(c.limits == contract::request_limits{4096, 4000, 96, 1 << 20});
  CHECK(c.data_class == "secret");
  REQUIRE(c.objectives.size() == 2);
  CHECK(c.objectives[0].metric == "inter_token");
  CHECK(c.objectives[0].share_ppm == 999'000);
  CHECK(c.objectives[1].window == std::chrono::hours{720});
  CHECK(c.degraded == contract::degraded_rule::shrink);
}

TEST_CASE("every field of an implementation is read") {
  const auto values = values_of(R"(
model: m
implementations:
  - pool: p
    artifact: a
    profile: vllm
    replicas: {min: 0, max: 3}
    devices: 8
    slots: 64
    limits: {context-tokens: 8192}
    args: {max len: 8192, --enforce-eager: true, kv_dtype: fp8}
)");
  const auto& i = std::get<implementation>(values[1]);
  CHECK(i.id.value == "m/p/a");
  CHECK(i.profile == profile_id{"vllm"});
  CHECK(i.replicas == replica_bounds{0, 3});
  CHECK(i.devices == 8);
  CHECK(i.slots == 64);
  CHECK(i.limits.context_tokens == 8192);
  const std::map<std::string, std::string> args{
    {"max-len", "8192"}, {"--enforce-eager", "true"}, {"kv-dtype", "fp8"}};
  CHECK(i.args == args);
}

TEST_CASE("a plain number of replicas is floor and ceiling") {
  const auto i = value_of<implementation>("implementation: m/p/a\nreplicas: 3\n");
  CHECK(i.replicas == replica_bounds{3, 3});
  const auto floor = value_of<implementation>("implementation: m/p/a\nreplicas: {min: 3}\n");
  CHECK(floor.replicas == replica_bounds{3, 3});
}

TEST_CASE("the profile is part of an id only where two share one artifact") {
  const auto values = values_of("model: m\nimplementations:\n"
                                "  - {pool: p, artifact: a, profile: one}\n"
                                "  - {pool: p, artifact: a, profile: two}\n"
                                "  - {pool: q, artifact: a, profile: one}\n");
  CHECK(name_of(values[1]) == "m/p/a#one");
  CHECK(name_of(values[2]) == "m/p/a#two");
  CHECK(name_of(values[3]) == "m/q/a");
}

TEST_CASE("two implementations that nothing tells apart are refused") {
  const auto p = problem_of(
    "model: m\nimplementations:\n  - {pool: p, artifact: a}\n  - {pool: p, artifact: a}\n"
  );
  CHECK(p.what == "the implementation `m/p/a` is declared twice, first at f.yaml:3:5");
  CHECK(contains(p.next, "profile"));
}

TEST_CASE("files of an artifact are sorted by their path") {
  const auto a = value_of<artifact>(
    std::string{"artifact: a\nmodel: m@3\nkind: gguf\nlocation: /models\nfiles:\n"}
    + "  - {path: z.gguf, sha256: " + digest_text + ", size: 90 MiB}\n"
    + "  - {path: a/b.json, sha256: " + digest_text + "}\n"
  );
  CHECK(a.id.value == "m@3/a");
  REQUIRE(a.files.size() == 2);
  CHECK(a.files[0].path == "a/b.json");
  CHECK(a.files[1].bytes == 90ull << 20);
}

TEST_CASE("a suite keeps its text as written, without separators and outer blank lines") {
  const auto s = value_of<suite_document>("\n---\n\n# why\nsuite:  s\nitems: []   \n\n\n");
  CHECK(s.text == "# why\nsuite:  s\nitems: []\n");
  CHECK(s.sha256 == sha256(s.text));
}

TEST_CASE("names that are not declared yet are no error") {
  CHECK(parse_text("model: m\nimplementations:\n  - {pool: nowhere, artifact: nothing}\n"));
}

TEST_CASE("a model that nothing serves is good, and noted") {
  const auto alone = parse_text("model: m\n");
  REQUIRE(alone);
  REQUIRE(alone->notes.size() == 1);
  CHECK(contains(alone->notes[0].what, "`m` has no implementation"));
  const auto served = parse_text("model: m\n---\nimplementation: m/p/a\n");
  REQUIRE(served);
  CHECK(served->notes.empty());
}

TEST_CASE("the try-out's catalog is good as shipped, once its location is filled in") {
  auto text = source_text("deploy/tryout/catalog.yaml");
  const std::string placeholder = "MODEL_DIR";
  REQUIRE(contains(text, "location: " + placeholder + "\n"));
  text.replace(text.find(placeholder), placeholder.size(), "/models");
  const auto values = values_of(text);
  REQUIRE(values.size() == 7);
  const auto& i = std::get<implementation>(values[3]);
  CHECK(i.id.value == "smollm2/local-cpu/smollm2-135m-q4");
  CHECK(i.slots == 4);
  CHECK(std::get<artifact>(values[1]).profile == profile_id{"llama-server"});
}

TEST_CASE("the try-out applies with nothing missing") {
  auto text = source_text("deploy/tryout/catalog.yaml");
  text.replace(text.find("MODEL_DIR"), 9, "/models");
  const std::vector<source_file> files{
    {"catalog.yaml", text},
    {"suite.yaml", source_text("deploy/tryout/suite.yaml")},
    {"llama-server.yaml", source_text("deploy/runtimes/llama-server.yaml")}};
  const auto parsed = parse(files);
  REQUIRE(parsed.has_value());
  CHECK(missing(declarations_of(*parsed), {}).empty());
  CHECK(parsed->notes.empty());
}

TEST_CASE("an empty set of files is an empty set of declarations") {
  const auto parsed = parse({});
  REQUIRE(parsed);
  CHECK(parsed->items.empty());
}

} // namespace assay::catalog
