#include "src/catalog/render.hpp"
#include "tests/unit/catalog/builders.hpp"
#include "tests/unit/catalog/chance.hpp"

#include <boost/json.hpp>

namespace assay::catalog {

using namespace testing;

TEST_CASE("parsing what was rendered gives the same declaration back") {
  // A few thousand random declarations of every kind; the seed is printed on failure.
  for (std::uint32_t seed = 1; seed <= 3'000; ++seed) {
    const auto before = chance{seed}.declaration();
    const auto text = to_yaml(before);
    const auto parsed = parse_text(text);
    INFO("seed " << seed << "\n" << text << problems_of(text));
    REQUIRE(parsed.has_value());
    REQUIRE(parsed->items.size() == 1);
    REQUIRE(parsed->items.front().value == before);
  }
}

TEST_CASE("every rendered declaration is JSON with the same keys as its fields") {
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    const auto d = chance{seed}.declaration();
    boost::json::error_code error;
    const auto value = boost::json::parse(to_json(d), error);
    INFO("seed " << seed << "\n" << to_json(d));
    REQUIRE_FALSE(error);
    REQUIRE(value.is_object());
    CHECK(value.as_object().begin()->key() == kind_of(d));
    CHECK((std::holds_alternative<project>(d) || !fields_of(d).empty()));
  }
}

TEST_CASE("a model is rendered with its nested keys") {
  const auto m = value_of<model>(R"(
model: m
owner: "42"
contract:
  limits: {body: 1 MiB}
  objectives: [{metric: ttft, limit: 5 s, share: 95 %, window: 5 min}]
  features: [tools]
)");
  CHECK(to_yaml(m) == R"(model: m
version: 1
contract:
  task: chat
  streaming: true
  cancellation: true
  features: [tools]
  limits:
    body: 1 MiB
  data-class: internal
  objectives:
    - metric: ttft
      limit: 5 s
      share: 95 %
      window: 5 min
  degraded: keep
  queue-keepalive: false
  metadata: true
owner: "42"
)");
}

TEST_CASE("numbers and truth values are so in JSON, and what a person wrote is text") {
  const auto m = value_of<model>("model: \"7\"\nowner: \"true\"\n");
  const auto value = boost::json::parse(to_json(m)).as_object();
  CHECK(value.at("version").is_int64());
  CHECK(value.at("model").is_string());
  CHECK(value.at("owner").is_string());
  CHECK(value.at("contract").as_object().at("streaming").is_bool());
}

TEST_CASE("fields are flat, and leave out the kind and name") {
  const auto i = value_of<implementation>("implementation: m/p/a\nargs: {threads: 2}\n");
  CHECK(
    fields_of(i)
    == std::vector<
      field>{{"status", "draft"}, {"replicas.min", "1"}, {"replicas.max", "1"}, {"devices", "0"}, {"slots", "1"}, {"args.threads", "2"}}
  );
}

TEST_CASE("a profile or suite is given as it was written") {
  const auto s = value_of<suite_document>("suite:   s   # why\nitems: []\n");
  CHECK(to_yaml(s) == "suite:   s   # why\nitems: []\n");
  CHECK(fields_of(s).front() == field{"sha256", to_text(s.sha256)});
  CHECK(boost::json::parse(to_json(s)).as_object().at("text").as_string() == s.text);
}

} // namespace assay::catalog
