#include "src/telemetry/native.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::telemetry {

namespace {

sample with(reading r) {
  return {"cpu", "cpu.stat:nr_throttled", "1", sample_kind::counter, "node0", std::move(r), {1}};
}

} // namespace

TEST_CASE("a reading is a value or one of three reasons for none") {
  CHECK(state_name(std::uint64_t{0}) == "value");
  CHECK(state_name(std::string{"max"}) == "value");
  CHECK(state_name(unsupported{}) == "unsupported");
  CHECK(state_name(unavailable{"locked"}) == "unavailable");
  CHECK(state_name(failed{5, "io"}) == "failed");
  CHECK(to_text(reading{failed{5, "io"}}) == "failed(5): io");
}

TEST_CASE("a sample without a value is never a number on the metrics page") {
  CHECK(
    to_prometheus({with(unsupported{})})
    == "cpu_sample_state{name=\"cpu.stat:nr_throttled\",device=\"node0\",state=\"unsupported\"} 1\n"
  );
}

TEST_CASE("a large counter keeps every digit, and text becomes a label") {
  CHECK(
    to_prometheus({with(std::uint64_t{18'446'744'073'709'551'615U})})
    == "cpu_cpu_stat_nr_throttled{device=\"node0\",unit=\"1\"} 18446744073709551615\n"
  );
  CHECK(
    to_prometheus({with(std::string{"a\"b\n"})})
    == "cpu_cpu_stat_nr_throttled{device=\"node0\",unit=\"1\",value=\"a\\\"b \"} 1\n"
  );
}

TEST_CASE("figures are exported under the prefix that the vendor's own tools use") {
  auto made = with(std::uint64_t{7});
  for (auto [family, begins] :
       {std::pair{"nvidia", "nvml_"}, {"amd", "amdgpu_"}, {"neuron", "neuron_"}, {"tpu", "tpu_"}}) {
    made.family = family;
    CHECK(to_prometheus({made}).starts_with(begins));
    auto missing = with(unsupported{});
    missing.family = family;
    CHECK(to_prometheus({missing}).starts_with(begins + std::string{"sample_state{"}));
  }
}

} // namespace assay::telemetry
