// What the scan reads is what the engine would read; what it cannot be sure of it refuses.

#include "src/base/limits.hpp"
#include "src/http/scan.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include <string>

using namespace assay;
using namespace assay::http;

namespace {

result<scanned_body, scan_refusal> scan(std::string text) {
  auto size = text.size();
  // What stands behind a body in the buffer is the next request, not zeros.
  text += std::string(body_scanner::padding, '"');
  body_scanner scanner;
  return scanner.scan(
    contract::operation::chat_completions, std::string_view{text}.substr(0, size), text.size()
  );
}

scanned_body scanned(const std::string& text) {
  auto found = scan(text);
  INFO(text);
  if (!found)
    INFO(found.error().message);
  REQUIRE(found.has_value());
  return *std::move(found);
}

std::string nested(std::size_t levels) {
  return R"({"model":"m","x":)" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
}

} // namespace

TEST_CASE("a body that cannot be routed is refused and names the key") {
  struct row {
    std::string body;
    std::string param;
  };
  auto [body, param] = GENERATE(
    row{"", ""},
    row{"   ", ""},
    row{"[]", ""},
    row{"\"model\"", ""},
    row{"null", ""},
    row{"{", ""},
    row{R"({"model":"m"}x)", ""},
    row{R"({"model":"m"} {"model":"n"})", ""},
    row{R"({"model":"m",})", ""},
    row{R"({"model" "m"})", ""},
    row{"{\"model\":\"m\xff\"}", ""},
    row{"{\"model\":\"m\",\"x\":\"\xc0\xaf\"}", ""},
    row{R"({"messages":[]})", "model"},
    row{R"({"metadata":{"model":"m"}})", "model"},
    row{R"({"model":null})", "model"},
    row{R"({"model":7})", "model"},
    row{R"({"model":["m"]})", "model"},
    row{R"({"model":{"a":1}})", "model"},
    row{R"({"model":""})", "model"},
    row{R"({"model":"m","model":"m"})", "model"},
    row{R"({"model":"m","mod\u0065l":"n"})", "model"},
    row{R"({"\u006dodel":"n","model":"m"})", "model"},
    row{R"({"model":"m","stream":true,"stream":false})", "stream"},
    row{R"({"model":"m","stream":"yes"})", "stream"},
    row{R"({"model":"m","stream":1})", "stream"},
    row{R"({"model":"m","max_tokens":-1})", "max_tokens"},
    row{R"({"model":"m","max_tokens":1.5})", "max_tokens"},
    row{R"({"model":"m","max_tokens":"9"})", "max_tokens"},
    row{R"({"model":"m","max_tokens":4294967296})", "max_tokens"},
    row{R"({"model":"m","n":0})", "n"},
    row{R"({"model":"m","user":{}})", "user"}
  );
  INFO(body);
  auto found = scan(body);
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().param == param);
  CHECK(found.error().failure == contract::failure::invalid_request);
  CHECK_FALSE(found.error().message.empty());
}

TEST_CASE("the deepest allowed body passes and one level more is refused") {
  CHECK(scan(nested(limits::json_depth)).has_value());
  auto found = scan(nested(limits::json_depth + 1));
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().message == "the body is nested deeper than 256 levels");
  auto flood = R"({"model":"m","messages":)" + std::string(200'000, '[');
  CHECK_FALSE(scan(flood).has_value());
}

TEST_CASE("a model inside the prompt is not the model") {
  auto found = scanned(
    R"({"messages":[{"role":"user","content":"{\"model\":\"evil\"}","model":"evil"}],"model":"good"})"
  );
  CHECK(found.model == "good");
}

TEST_CASE("an escaped key and an escaped name count as what they spell") {
  auto found = scanned(R"({"mod\u0065l":"a\u0062c"})");
  CHECK(found.model == "abc");
}

TEST_CASE("the model's place is exact, so that a splice changes nothing else") {
  std::string body = "{ \"stream\" : true ,\n \"model\" :  \"na\\u006de\"  , \"x\": 1.50 }";
  auto found = scanned(body);
  CHECK(body.substr(found.model_at, found.model_size) == R"("na\u006de")");
  auto kept = splice_model(body, found, "name");
  CHECK(kept.head == body);
  CHECK(kept.middle.empty());
  auto changed = splice_model(body, found, "other");
  CHECK(
    std::string{changed.head} + changed.middle + std::string{changed.tail}
    == "{ \"stream\" : true ,\n \"model\" :  \"other\"  , \"x\": 1.50 }"
  );
}

TEST_CASE("a byte order mark is passed over and kept") {
  std::string body = "\xEF\xBB\xBF{\"model\":\"m\"}";
  auto found = scanned(body);
  CHECK(body.substr(found.model_at, found.model_size) == "\"m\"");
}

TEST_CASE("the shape holds what the request asks for") {
  auto found = scanned(
    R"({"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":10,)"
    R"("max_completion_tokens":20,"n":3,"user":"u","tools":[{"type":"function"}],"logprobs":true,)"
    R"("response_format":{"type":"json_schema"},"messages":[{"role":"user","content":"hello"}],)"
    R"("top_k":5,"guided_json":{"a":[1,2,{"b":null}]}})"
  );
  CHECK(found.shape.stream);
  CHECK(found.include_usage);
  CHECK(found.shape.output_tokens == 20u);
  CHECK(found.shape.choices == 3);
  CHECK(found.shape.affinity != 0);
  CHECK(found.shape.features == std::vector<std::string>{"tools", "logprobs", "json_schema"});
}

TEST_CASE("an engine's own name for the output's length counts like the contract's") {
  auto found = scanned(R"({"model":"m","max_tokens":4,"n_predict":200})");
  CHECK(found.shape.output_tokens == 200u);
  CHECK_FALSE(scan(R"({"model":"m","n_predict":-1})"));
}

TEST_CASE("null and empty wishes are no wishes") {
  auto found = scanned(
    R"({"model":"m","stream":null,"max_tokens":null,"n":null,"user":null,"tools":[],)"
    R"("logprobs":false,"response_format":{"type":"text"},"stream_options":null,"functions":null})"
  );
  CHECK_FALSE(found.shape.stream);
  CHECK_FALSE(found.shape.output_tokens.has_value());
  CHECK(found.shape.choices == 1);
  CHECK(found.shape.affinity == 0);
  CHECK(found.shape.features.empty());
}

TEST_CASE("the prompt's range is its value and nothing else") {
  std::string body = R"({"messages": [ {"content":"a"} ] , "model":"m"})";
  auto found = scanned(body);
  CHECK(body.substr(found.prompt_at, found.prompt_size) == R"([ {"content":"a"} ])");
}

TEST_CASE("the true number of tokens is surely within the estimate") {
  // One token may be a run of 128 spaces, and one byte may be a token of its own.
  auto spaces = scanned(
    R"({"model":"m","messages":[{"role":"user","content":")" + std::string(128 * 10, ' ') + "\"}]}"
  );
  CHECK(spaces.shape.input.least <= 10);
  CHECK(spaces.shape.input.least > 0);
  CHECK(spaces.shape.input.most >= 128 * 10);
  std::string escapes;
  for (int i = 0; i < 128; ++i)
    escapes += "\\u0020";
  auto escaped = scanned(R"({"model":"m","messages":[{"content":")" + escapes + "\"}]}");
  CHECK(escaped.shape.input.least <= 1);
}

TEST_CASE("a picture has no upper estimate") {
  auto found = scanned(
    R"({"model":"m","messages":[{"content":[{"type":"image_url","image_url":{"url":"data:"}}]}]})"
  );
  CHECK(found.shape.input.most == 0xffff'ffffu);
  CHECK(found.shape.features == std::vector<std::string>{"images"});
}
