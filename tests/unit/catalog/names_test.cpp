#include "src/catalog/declarations.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::catalog {

TEST_CASE("a name has 64 bytes and not one more") {
  CHECK(is_name(std::string(64, 'a')));
  CHECK_FALSE(is_name(std::string(65, 'a')));
  CHECK_FALSE(is_name(""));
}

TEST_CASE("a name has no byte that an id or a path gives a meaning") {
  for (const auto* good : {"a", "A.b_c-9", "-", "..."})
    CHECK(is_name(good));
  for (const auto* bad : {"a b", "a/b", "a@2", "a#b", ".", "..", "\xc3\xa4", "a\n", "a:b"})
    CHECK_FALSE(is_name(bad));
}

TEST_CASE("version 1 is not written in an id, and every other is") {
  CHECK(make_model_id("m", 1).value == "m");
  CHECK(make_model_id("m", 2).value == "m@2");
  CHECK(make_artifact_id({"m@2"}, "a").value == "m@2/a");
  CHECK(make_implementation_id({"m"}, {"p"}, "a", "").value == "m/p/a");
  CHECK(make_implementation_id({"m@2"}, {"p"}, "a", "vllm").value == "m@2/p/a#vllm");
}

TEST_CASE("an implementation id splits into the parts it was made of") {
  const auto parts = split_implementation_id("m@12/p/a.b#vllm");
  REQUIRE(parts);
  CHECK(*parts == implementation_parts{{"m@12"}, {"p"}, "a.b", profile_id{"vllm"}});
  CHECK(split_implementation_id("m/p/a") == implementation_parts{{"m"}, {"p"}, "a", {}});
}

TEST_CASE("what has another spelling than the one we make is no id") {
  for (const auto* bad :
       {"",
        "m",
        "m/p",
        "m/p/",
        "/p/a",
        "m//a",
        "m/p/a/b",
        "m/p/a#",
        "m/p/a#b#c",
        "m@1/p/a",
        "m@0/p/a",
        "m@02/p/a",
        "m@/p/a",
        "m@x/p/a",
        "m@99999999999/p/a",
        "m@2@3/p/a",
        "m p/p/a"})
    CHECK_FALSE(split_implementation_id(bad));
}

TEST_CASE("the longest id of all fits an LMDB key") {
  const std::string part(64, 'x');
  const auto id = make_implementation_id(make_model_id(part, 1'000'000), {part}, part, part);
  CHECK(id.value.size() <= 511);
}

TEST_CASE("a manifest digest changes with any file and not with their order") {
  artifact a;
  a.files = {{"one", 1, sha256("1")}, {"two", 2, sha256("2")}};
  const auto before = manifest_digest(a);
  std::swap(a.files[0], a.files[1]);
  CHECK(manifest_digest(a) == before);
  a.location = "/elsewhere";
  CHECK(manifest_digest(a) == before);
  a.files[0].sha256.bytes[31] ^= 1;
  CHECK(manifest_digest(a) != before);
}

TEST_CASE("moving a byte from one path to the next changes the digest") {
  artifact a;
  artifact b;
  a.files = {{"ab", 0, {}}, {"c", 0, {}}};
  b.files = {{"a", 0, {}}, {"bc", 0, {}}};
  CHECK(manifest_digest(a) != manifest_digest(b));
}

TEST_CASE("an implementation's own profile wins over its artifact's") {
  artifact a;
  a.profile = profile_id{"llama-server"};
  implementation i;
  CHECK(profile_of(i, &a) == profile_id{"llama-server"});
  i.profile = profile_id{"vllm"};
  CHECK(profile_of(i, &a) == profile_id{"vllm"});
  CHECK(profile_of(i, nullptr) == profile_id{"vllm"});
}

TEST_CASE("the default policy asks for 0.4 at 95 % on 20 items") {
  const auto p = default_policy({"s"});
  CHECK(p.suite.value == "s");
  CHECK(p.score_at_least_ppm == 400'000);
  CHECK(p.confidence_ppm == 950'000);
  CHECK(p.items_at_least == 20);
}

TEST_CASE("each word of a closed list reads back as the value it names") {
  for (const auto f :
       {family::cpu, family::nvidia, family::amd, family::neuron, family::tpu, family::plugin})
    CHECK(parse_family(name(f)) == f);
  for (const auto s :
       {implementation_status::draft,
        implementation_status::batch_only,
        implementation_status::retired})
    CHECK(parse_implementation_status(name(s)) == s);
  for (const auto k : {artifact_kind::gguf, artifact_kind::adopted})
    CHECK(parse_artifact_kind(name(k)) == k);
  CHECK_FALSE(parse_family("CPU"));
  CHECK_FALSE(parse_implementation_status(""));
}

} // namespace assay::catalog
