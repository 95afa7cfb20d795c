#include "node-agent/families/cpu.hpp"
#include "node-agent/families/fingerprint.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::agent {

namespace {

/// A small Python virtual environment, as `python3 -m venv` and pip leave it.
std::filesystem::path make_environment(const test::temp_folder& folder, const std::string& name) {
  auto root = (folder.path() / name).native();
  folder.write(name + "/pyvenv.cfg", "home = /usr/bin\n");
  folder.write(name + "/bin/python3", "interpreter");
  folder.write(name + "/bin/llama-server", "#!/bin/sh\nexec " + root + "/bin/python3 x\n");
  folder.write(name + "/bin/pip", "#!" + root + "/bin/python3\n");
  folder.write(name + "/lib/python3.11/site-packages/engine/core.py", "weights = 1\n");
  folder.write(name + "/lib/python3.11/site-packages/engine/__pycache__/core.pyc", "x");
  folder.write(name + "/lib/python3.11/site-packages/engine.dist-info/RECORD", root);
  return folder.path() / name / "bin";
}

digest environment_sum(const std::filesystem::path& folder) {
  digest_cache cache{""};
  auto sum = environment_digest(folder, cache);
  REQUIRE(sum);
  return *sum;
}

const telemetry::sample* find(
  const std::vector<telemetry::sample>& samples, std::string_view name, std::string_view device = ""
) {
  auto found = std::find_if(samples.begin(), samples.end(), [&](const auto& s) {
    return s.name == name && s.device == device;
  });
  return found == samples.end() ? nullptr : &*found;
}

telemetry::reading value_of(const std::vector<telemetry::sample>& samples, std::string_view name) {
  const auto* sample = find(samples, name);
  REQUIRE(sample);
  return sample->reading;
}

} // namespace

TEST_CASE("one changed byte in a runtime's environment changes its digest") {
  test::temp_folder folder;
  auto bin = make_environment(folder, "env");
  auto before = environment_sum(bin);
  folder.write("env/lib/python3.11/site-packages/engine/core.py", "weights = 2\n");
  CHECK(environment_sum(bin) != before);
}

TEST_CASE("a changed launcher or a new file changes the environment's digest too") {
  test::temp_folder folder;
  auto bin = make_environment(folder, "env");
  auto before = environment_sum(bin);
  folder.write("env/lib/extra", "");
  auto with_file = environment_sum(bin);
  CHECK(with_file != before);
  folder.write("env/bin/llama-server", "#!/bin/sh\n");
  CHECK(environment_sum(bin) != with_file);
}

TEST_CASE("two environments that were made alike in different folders have one digest") {
  test::temp_folder folder;
  CHECK(
    environment_sum(make_environment(folder, "one"))
    == environment_sum(make_environment(folder, "another-place"))
  );
}

TEST_CASE("byte code and pip's record do not change the environment's digest") {
  test::temp_folder folder;
  auto bin = make_environment(folder, "env");
  auto before = environment_sum(bin);
  folder.write("env/lib/python3.11/site-packages/engine/__pycache__/core.pyc", "y");
  folder.write("env/lib/python3.11/site-packages/engine.dist-info/RECORD", "other");
  CHECK(environment_sum(bin) == before);
}

TEST_CASE("the host's stack sees a byte that changed behind the cache's back") {
  test::temp_folder folder;
  digest_cache cache{""};
  host_stack stack{{make_environment(folder, "env")}, cache};
  auto before = stack.collect();
  CHECK(stack.collect() == before);
  folder.write("env/lib/python3.11/site-packages/engine/core.py", "weights = 3\n");
  auto after = stack.collect();
  CHECK(after.sum != before.sum);
  CHECK(difference(before.fields, after.fields).starts_with("runtimes sha256:"));
}

TEST_CASE("what a family of accelerators runs on is part of the stack until it says otherwise") {
  digest_cache cache{""};
  host_stack stack{{}, cache};
  auto alone = stack.collect();
  auto with = stack.learn(catalog::family::nvidia, {{"nvidia.driver", "550"}});
  CHECK(with.fields.at("nvidia.driver") == "550");
  CHECK(with.fields.at("kernel") == alone.fields.at("kernel"));
  CHECK(with.sum != alone.sum);
  CHECK(stack.collect() == with);
  CHECK(stack.current() == with);
  CHECK(stack.learn(catalog::family::nvidia, {{"nvidia.driver", "551"}}).sum != with.sum);
  CHECK(stack.learn(catalog::family::nvidia, {}) == alone);
}

TEST_CASE("the stack names system, kernel, processor and library") {
  auto fields = host_fields({2, 1, "A CPU", {"avx2"}, {}});
  for (const auto* name : {"os", "kernel", "cpu.model", "cpu.flags", "libc"})
    CHECK(fields.contains(name));
  CHECK(make_fingerprint(fields).sum != make_fingerprint({}).sum);
}

TEST_CASE("a processor that lost a feature is another stack") {
  auto with = host_fields({2, 1, "A CPU", {"avx2", "avx512f"}, {}});
  auto without = host_fields({2, 1, "A CPU", {"avx2"}, {}});
  CHECK(make_fingerprint(with).sum != make_fingerprint(without).sum);
}

// Values: prometheus/procfs testdata (Apache-2.0) and our own hybrid cgroup machine.
TEST_CASE("samples keep native names and units, and say why a value is missing") {
  test::temp_folder root;
  root.write("proc/stat", "cpu  10 20 30 40 50 60 70 80 0 0\ncpu0 1 2 3 4\n");
  root.write("proc/meminfo", "MemTotal:       15666184 kB\nMemAvailable:   1234 kB\n");
  root.write("proc/pressure/cpu", "some avg10=0.10 avg60=2.00 avg300=3.85 total=15\n");
  root.write("proc/loadavg", "0.02 0.04 0.05 1/497 11947\n");
  root.write("sys/devices/system/node/node0/meminfo", "Node 0 MemFree:   440324 kB\n");
  auto samples = sample_cpu({1}, root.path());
  CHECK(value_of(samples, "/proc/stat:cpu.iowait") == telemetry::reading{std::uint64_t{50}});
  CHECK(value_of(samples, "MemAvailable") == telemetry::reading{std::uint64_t{1234}});
  CHECK(find(samples, "MemAvailable")->unit == "kB");
  CHECK(value_of(samples, "SwapFree") == telemetry::reading{telemetry::unsupported{}});
  CHECK(value_of(samples, "/proc/pressure/cpu:some.avg10") == telemetry::reading{0.10});
  CHECK(
    value_of(samples, "/proc/pressure/cpu:full.avg10")
    == telemetry::reading{telemetry::unsupported{}}
  );
  CHECK(
    value_of(samples, "/proc/pressure/io:some.total")
    == telemetry::reading{telemetry::unsupported{}}
  );
  CHECK(value_of(samples, "/proc/loadavg:1min") == telemetry::reading{0.02});
  CHECK(value_of(samples, "energy_uj") == telemetry::reading{telemetry::unsupported{}});
  REQUIRE(find(samples, "MemFree", "node0"));
  CHECK(find(samples, "MemFree", "node0")->reading == telemetry::reading{std::uint64_t{440324}});
}

TEST_CASE("a value that is no number is failed, not zero") {
  test::temp_folder root;
  root.write("proc/loadavg", "high\n");
  CHECK(
    telemetry::state_name(value_of(sample_cpu({1}, root.path()), "/proc/loadavg:1min")) == "failed"
  );
}

TEST_CASE("memory is the host's, or the least limit of the groups above us") {
  test::temp_folder root;
  root.write("proc/meminfo", "MemTotal:       1000000 kB\n");
  CHECK(discover_cpu(root.path())->memory_bytes == 1'024'000'000);
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("proc/self/mountinfo", "31 23 0:28 / /cg rw - cgroup2 cgroup2 rw\n");
  root.write("cg/a/memory.max", "4096\n");
  root.write("cg/a/b/memory.max", "max\n");
  CHECK(discover_cpu(root.path())->memory_bytes == 4096);
}

TEST_CASE("a host whose memory is not known is refused with the reason") {
  test::temp_folder root;
  auto facts = discover_cpu(root.path());
  REQUIRE_FALSE(facts);
  CHECK(facts.error().what == "the host's memory is not known");
}

} // namespace assay::agent
