#include "src/catalog/profile.hpp"
#include "src/catalog/prometheus_text.hpp"
#include "tests/unit/catalog/builders.hpp"

namespace assay::catalog {

using namespace testing;
using state = signal_reading::state;

namespace {

runtime_profile shipped(const std::string& name) {
  const auto parsed = parse_profile(name, source_text("deploy/runtimes/" + name + ".yaml"));
  REQUIRE(parsed.has_value());
  return *parsed;
}

std::string fixture(const std::string& name) {
  return source_text("tests/unit/catalog/fixtures/" + name);
}

/// One signal, called `running`, read by a source.
signal_reading read(const std::string& source, const std::string& scrape) {
  const auto parsed = parse_profile(
    "p",
    "runtime-profile: x\nphases: {ready: {get: /}, deep: {get: /}}\nmetrics: {path: /m, signals: "
    "{running: "
      + source + "}}\n"
  );
  REQUIRE(parsed.has_value());
  return extract_signals(*parsed, scrape).at("running");
}

} // namespace

TEST_CASE("a recorded scrape of llama-server has every signal that the profile names") {
  const auto readings = extract_signals(shipped("llama-server"), fixture("llama-server.prom"));
  CHECK(readings.at("running").value == 1);
  CHECK(readings.at("waiting").value == 0);
  CHECK(readings.at("tokens_out").value > 0);
  for (const auto& [name, reading] : readings) {
    INFO(name);
    CHECK(reading.what != state::absent);
  }
  CHECK(readings.at("kv_used").what == state::none);
}

TEST_CASE("a recorded scrape of vLLM has the load signals that the profile names") {
  const auto readings = extract_signals(shipped("vllm"), fixture("vllm.prom"));
  for (const auto* name : {"running", "waiting", "kv_used", "ttft", "itl", "tokens_out"}) {
    INFO(name);
    CHECK(readings.at(name).what == state::value);
  }
  CHECK(readings.at("ttft").count == 2);
  CHECK(readings.at("finished").value == 2);
  CHECK(readings.at("kv_capacity").parts.at("block") == 128);
}

TEST_CASE("SGLang's older names are read where the newer ones are not there") {
  const auto readings = extract_signals(shipped("sglang"), fixture("sglang.prom"));
  CHECK(readings.at("running").value == 3);
  CHECK(readings.at("waiting").value == 7);
  CHECK(readings.at("prefix_hit").source == "sglang:cache_hit_rate");
  CHECK(readings.at("itl").source == "sglang:time_per_output_token_seconds");
  CHECK(readings.at("preempted").what == state::absent);
}

TEST_CASE("missing is a state: absent and none are not zero") {
  CHECK(read("{name: a}", "").what == state::absent);
  CHECK(read("{name: a}", "b 1\n").what == state::absent);
  CHECK(read("none", "a 1\n").what == state::none);
  CHECK(read("{name: a, absent-value: -1}", "a -1\n").what == state::absent);
  CHECK(read("{name: a}", "a NaN\n").what == state::absent);
}

TEST_CASE("several rows of one metric become one number by the rule") {
  const std::string rows = "a{e=\"0\"} 1\na{e=\"1\"} 5\na{e=\"2\"} 3\n";
  CHECK(read("{name: a}", rows).value == 9);
  CHECK(read("{name: a, across: max}", rows).value == 5);
  CHECK(read("{name: a, across: mean}", rows).value == 3);
  CHECK(read("{name: a, match: {e: \"1\"}}", rows).value == 5);
  CHECK(read("{name: a, match: {e: \"9\"}}", rows).what == state::absent);
  CHECK(read("{name: a, scale: 0.01}", rows).value == 0.09);
}

TEST_CASE("the first source that the scrape has wins") {
  const auto both = "[{name: fresh}, {name: old}]";
  CHECK(read(both, "old 1\nfresh 2\n").value == 2);
  CHECK(read(both, "old 1\n").source == "old");
}

TEST_CASE("a ratio of nothing is absent") {
  CHECK(read("{ratio: [hit, all]}", "hit 3\nall 4\n").value == 0.75);
  CHECK(read("{ratio: [hit, all]}", "hit_total 3\nall_total 4\n").value == 0.75);
  CHECK(read("{ratio: [hit, all]}", "hit 0\nall 0\n").what == state::absent);
  CHECK(read("{ratio: [hit, all]}", "hit 0\n").what == state::absent);
}

TEST_CASE("a histogram gives sum and count over all rows") {
  const auto h = read(
    "{name: t, type: histogram}",
    "t_bucket{le=\"1\"} 2\nt_bucket{le=\"+Inf\"} 3\nt_sum{m=\"a\"} 1.5\nt_count{m=\"a\"} 3\n"
    "t_sum{m=\"b\"} 0.5\nt_count{m=\"b\"} 1\n"
  );
  CHECK(h.value == 2);
  CHECK(h.count == 4);
}

TEST_CASE("numbers in labels are read") {
  const auto r = read(
    "{name: info, read-labels: {blocks: num_blocks, bad: text}}",
    "info{num_blocks=\"128\",text=\"x\"} 1\n"
  );
  CHECK(r.parts == std::map<std::string, double>{{"blocks", 128}});
}

TEST_CASE("labels with escapes, spaces and braces are read as written") {
  std::vector<metric_sample> seen;
  for_each_sample(
    "m{a=\"x\\\"}\\\\ \\n,\", b = \"{\" , } 1.5e3 1700000000000\r\n",
    [&](const metric_sample& s) { seen.push_back(s); }
  );
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].label("a") == "x\"}\\ \n,");
  CHECK(seen[0].label("b") == "{");
  CHECK(seen[0].value == 1500);
}

TEST_CASE("a line that is no sample is passed over and hides no other") {
  for (const auto* bad :
       {"m{",
        "m{a",
        "m{a=",
        "m{a=\"",
        "m{a=\"\\",
        "m{a=\"x\"",
        "m{a=\"x\"} ",
        "m x",
        "m",
        "{} 1",
        "m{=\"x\"} 1",
        "<html>",
        "# TYPE m gauge",
        "m 1.2.3",
        "\xff\xfe"}) {
    INFO(bad);
    CHECK(read("{name: good}", std::string{bad} + "\ngood 7\n").value == 7);
  }
  CHECK(read("{name: good}", "good +Inf\n").what == state::absent);
}

TEST_CASE("a counter is found with and without _total") {
  CHECK(read("{name: c, type: counter}", "c_total 4\n").value == 4);
  CHECK(read("{name: c_total, type: counter}", "c_total 4\n").value == 4);
}

} // namespace assay::catalog
