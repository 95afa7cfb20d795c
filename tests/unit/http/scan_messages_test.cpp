// Messages and Responses: what stands in blocks and items is found, and what needs state is
// refused.

#include "tests/unit/http/scanning.hpp"

#include <catch2/generators/catch_generators_all.hpp>

#include <string>

using namespace assay;
using namespace assay::http;
using contract::operation;
using http::test::scan;
using http::test::scanned;

namespace {

std::string message(const std::string& more) {
  return R"({"model":"m","max_tokens":9)" + more + "}";
}

std::string response(const std::string& more) {
  return R"({"model":"m")" + more + "}";
}

} // namespace

TEST_CASE("a message says how long its answer may be, and a count has no answer") {
  auto shape = scanned(operation::messages, message(R"(,"messages":[],"stream":true)")).shape;
  CHECK(shape.task == contract::task::chat);
  CHECK(shape.output_tokens == 9u);
  CHECK(shape.stream);
  auto without = GENERATE(
    R"({"model":"m","messages":[]})",
    R"({"model":"m","messages":[],"max_tokens":null})",
    R"({"model":"m","messages":[],"max_tokens":0})"
  );
  INFO(without);
  auto found = scan(operation::messages, without);
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().param == "max_tokens");
  auto counted = scanned(operation::count_tokens, without).shape;
  CHECK_FALSE(counted.output_tokens.has_value());
  CHECK_FALSE(counted.stream);
}

TEST_CASE("a message's user and tools count like everywhere") {
  auto shape = scanned(
                 operation::messages,
                 message(R"(,"metadata":{"user_id":"u"},"tools":[{"name":"t"}],"messages":[])")
  )
                 .shape;
  CHECK(shape.affinity != 0);
  CHECK(shape.features == std::vector<std::string>{"tools"});
  auto none = scanned(operation::messages, message(R"(,"metadata":null,"tools":[],"system":null)"));
  CHECK(none.shape.affinity == 0);
  CHECK(none.shape.features.empty());
}

TEST_CASE("a wrong type or a key twice is refused and named") {
  struct row {
    operation asked;
    std::string body;
    std::string param;
  };
  auto [asked, body, param] = GENERATE(
    row{operation::messages, message(R"(,"metadata":{"user_id":7})"), "user_id"},
    row{operation::messages, message(R"(,"stream":"yes")"), "stream"},
    row{operation::messages, message(R"(,"max_tokens":9)"), "max_tokens"},
    row{operation::messages, message(R"(,"system":"a","syst\u0065m":"b")"), "system"},
    row{operation::messages, R"({"max_tokens":9,"messages":[]})", "model"},
    row{operation::responses, response(R"(,"max_output_tokens":-1)"), "max_output_tokens"},
    row{operation::responses, response(R"(,"store":"no")"), "store"},
    row{operation::responses, response(R"(,"background":1)"), "background"},
    row{operation::responses, response(R"(,"input":"a","input":"b")"), "input"}
  );
  INFO(body);
  auto found = scan(asked, body);
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().param == param);
  CHECK(found.error().failure == contract::failure::invalid_request);
}

TEST_CASE("pictures and documents are found by their blocks' type, and nowhere else") {
  struct row {
    std::string blocks;
    bool image;
    bool media;
  };
  auto [blocks, image, media] = GENERATE(
    row{R"([{"type":"image","source":{"type":"base64","data":"AA"}}])", true, true},
    row{R"([{"source":{"type":"url"},"type":"im\u0061ge"}])", true, true},
    row{R"([{"type":"document","source":{"type":"text","data":"a"}}])", false, true},
    row{R"([{"type":"tool_result","content":[{"type":"image"}]}])", true, true},
    row{R"([{"type":"text","text":"{\"type\":\"image\"}"}])", false, false},
    row{
      R"([{"type":"tool_use","input":{"content":[{"type":"image"}],"image_url":1}}])",
      false,
      false},
    row{R"([{"type":"tool_use","input":{"type":"image","source":"x"}}])", false, false},
    row{R"([{"type":7}])", false, false},
    row{R"("image")", false, false}
  );
  INFO(blocks);
  auto shape =
    scanned(
      operation::messages, message(R"(,"messages":[{"role":"user","content":)" + blocks + "}]")
    )
      .shape;
  CHECK(
    shape.features == (image ? std::vector<std::string>{"images"} : std::vector<std::string>{})
  );
  CHECK((shape.input.most == 0xffff'ffffu) == media);
}

TEST_CASE("what stands before the conversation is read, too") {
  auto text = std::string(12'800, ' ');
  auto system = GENERATE_COPY(
    "\"" + text + "\"", R"([{"type":"text","text":")" + text + R"(","cache_control":{}}])"
  );
  auto shape = scanned(operation::messages, message(",\"system\":" + system)).shape;
  CHECK(shape.input.least == 100);
  CHECK(shape.input.most >= 12'800);
  auto instructions = scanned(operation::responses, response(",\"instructions\":" + system)).shape;
  CHECK(instructions.input.least == 100);
  CHECK(instructions.input.most >= 12'800);
}

TEST_CASE("an input of Responses is a text or a list of items") {
  auto text = std::string(1'280, ' ');
  struct row {
    std::string input;
    std::vector<std::string> features;
  };
  auto [input, features] = GENERATE_COPY(
    row{"\"" + text + "\"", {}},
    row{R"([{"role":"user","content":")" + text + R"("}])", {}},
    row{R"([{"role":"user","content":[{"type":"input_text","text":")" + text + R"("}]}])", {}},
    row{
      R"([{"role":"user","content":[{"type":"input_image","image_url":"a"},{"text":")" + text
        + R"("}]}])",
      {"images"}}
  );
  auto body = response(",\"input\": " + input + " ");
  auto found = scanned(operation::responses, body);
  CHECK(found.shape.input.least == 10);
  CHECK(found.shape.features == features);
  CHECK(body.substr(found.prompt_at, found.prompt_size) == input);
}

TEST_CASE("a response's wishes are read as a response's") {
  auto found = scanned(
    operation::responses,
    response(
      R"(,"input":"a","stream":true,"max_output_tokens":7,"prompt_cache_key":"k",)"
      R"("tools":[{"type":"function"}],"text":{"verbosity":"low","format":{"type":"json_schema","schema":{}}})"
    )
  );
  CHECK(found.shape.task == contract::task::chat);
  CHECK(found.shape.stream);
  CHECK(found.shape.output_tokens == 7u);
  CHECK(found.shape.affinity != 0);
  CHECK(found.shape.features == std::vector<std::string>{"tools", "json_schema"});
}

TEST_CASE("what needs an answer that was kept is refused and says what is allowed") {
  auto [more, param] = GENERATE(
    std::pair<std::string, std::string>{
      R"("previous_response_id":"resp_1")", "previous_response_id"},
    std::pair<std::string, std::string>{R"("conversation":"conv_1")", "conversation"},
    std::pair<std::string, std::string>{R"("conversation":{"id":"conv_1"})", "conversation"},
    std::pair<std::string, std::string>{R"("store":true)", "store"},
    std::pair<std::string, std::string>{R"("background":true)", "background"}
  );
  INFO(more);
  auto found = scan(operation::responses, response("," + more + R"(,"input":"a")"));
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().failure == contract::failure::unsupported_feature);
  CHECK(found.error().param == param);
  CHECK(found.error().message.find("whole conversation") != std::string::npos);
}

TEST_CASE("saying that nothing is kept is fine") {
  CHECK(scan(
    operation::responses,
    response(
      R"(,"input":"a","store":false,"background":false,"previous_response_id":null,"conversation":null)"
    )
  ));
  // The same words mean nothing to another operation.
  CHECK(scan(operation::chat_completions, R"({"model":"m","messages":[],"store":true})"));
}
