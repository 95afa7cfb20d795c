// Prompts and inputs in all their forms: one scan finds how many there are and how large.

#include "tests/unit/http/scanning.hpp"

#include <catch2/generators/catch_generators_all.hpp>

#include <string>

using namespace assay;
using namespace assay::http;
using contract::operation;
using http::test::scan;
using http::test::scanned;

namespace {

std::string prompt(const std::string& value, const std::string& more = "") {
  return R"({"model":"m","prompt":)" + value + more + "}";
}

std::string input(const std::string& value, const std::string& more = "") {
  return R"({"model":"m","input":)" + value + more + "}";
}

std::string zeros(std::size_t count) {
  std::string list = "[0";
  for (std::size_t i = 1; i < count; ++i)
    list += ",0";
  return list + "]";
}

} // namespace

TEST_CASE("prompts are counted by what they are, not by how they are written") {
  struct row {
    std::string value;
    std::uint32_t prompts;
  };
  auto [value, prompts] = GENERATE(
    row{R"("one")", 1},
    row{R"("")", 1},
    row{"null", 1},
    row{R"(["one"])", 1},
    row{R"(["one","two" , "three"])", 3},
    row{R"(["[1,2]","{\"a\":[\"b\"]}"])", 2},
    row{"[1,2,3]", 1},
    row{"[[1,2],[3]]", 2},
    row{R"([[1],"two"])", 2},
    row{R"([1,"two",3])", 1},
    row{R"([[1,"two",3],[4],"five"])", 3},
    row{R"({"prompt_string":"a","multimodal_data":["b"]})", 1},
    row{R"(["a",{"prompt_string":"b"}])", 2}
  );
  INFO(value);
  CHECK(scanned(operation::completions, prompt(value)).shape.prompts == prompts);
  CHECK(scanned(operation::embeddings, input(value)).shape.prompts == prompts);
}

TEST_CASE("a prompt that no engine takes is refused and named") {
  auto value = GENERATE(
    "7",
    "true",
    "[]",
    "[true]",
    "[null]",
    "[\"a\",false]",
    "[1.5]",
    "[-1]",
    "[4294967296]",
    "[1e3]",
    "[[]]",
    "[[1],[]]",
    "[[[1]]]",
    "[[1,null]]"
  );
  INFO(value);
  auto completion = scan(operation::completions, prompt(value));
  REQUIRE_FALSE(completion.has_value());
  CHECK(completion.error().param == "prompt");
  CHECK(completion.error().message.starts_with("prompt "));
  auto embedding = scan(operation::embeddings, input(value));
  REQUIRE_FALSE(embedding.has_value());
  CHECK(embedding.error().param == "input");
}

TEST_CASE("a list that is no JSON is refused as a body, not as a prompt") {
  auto value = GENERATE("[", "[1", "[1,]", "[\"a\"", "[\"a\" \"b\"]", "[[1,2]", "\"a");
  INFO(value);
  CHECK_FALSE(scan(operation::completions, prompt(value)).has_value());
  CHECK_FALSE(scan(operation::embeddings, input(value)).has_value());
}

TEST_CASE("the largest prompt is what limits are about, and all of them are the work") {
  auto shape =
    scanned(
      operation::completions, prompt("[" + zeros(10) + "," + zeros(700) + "," + zeros(5) + "]")
    )
      .shape;
  CHECK(shape.prompts == 3);
  CHECK(shape.input.least == 700);
  CHECK(shape.input.most >= 700);
  CHECK(shape.more_input.least == 15);
  CHECK(shape.all_input().least == 715);
  CHECK(shape.all_input().most >= 715);
}

TEST_CASE("token ids are counted, and a flat list of them is one prompt") {
  auto shape = scanned(operation::embeddings, input(zeros(100'000))).shape;
  CHECK(shape.prompts == 1);
  CHECK(shape.input.least == 100'000);
  CHECK(shape.more_input.most == 0);
}

TEST_CASE("texts side by side are estimated each for itself") {
  auto shape = scanned(
                 operation::embeddings,
                 input("[\"" + std::string(1'280, ' ') + "\",\"" + std::string(12'800, ' ') + "\"]")
  )
                 .shape;
  CHECK(shape.input.least == 100);
  CHECK(shape.input.most >= 12'800);
  CHECK(shape.more_input.least == 10);
  CHECK(shape.more_input.most >= 1'280);
}

TEST_CASE("texts and token ids side by side are not refused on an estimate") {
  auto shape = scanned(operation::completions, prompt(R"([1,2,"three",4])")).shape;
  CHECK(shape.prompts == 1);
  CHECK(shape.input.least == 3);
  CHECK(shape.input.most >= 8);
}

TEST_CASE("ten thousand inputs are ten thousand") {
  std::string list = "[\"x\"";
  for (int i = 1; i < 10'000; ++i)
    list += ",\"x\"";
  CHECK(scanned(operation::embeddings, input(list + "]")).shape.prompts == 10'000);
}

TEST_CASE("a prompt's range is its value, whatever it is") {
  struct row {
    std::string body;
    std::string value;
  };
  auto [body, value] = GENERATE(
    row{R"({"prompt" :  "a\"b"  , "model":"m"})", R"("a\"b")"},
    row{R"({"model":"m","prompt": [ "a" , "b" ] })", R"([ "a" , "b" ])"},
    row{R"({"prompt":[[1 ,2]],"model":"m"})", "[[1 ,2]]"}
  );
  auto found = scanned(operation::completions, body);
  CHECK(body.substr(found.prompt_at, found.prompt_size) == value);
}

TEST_CASE("a completion's wishes are read as a completion's") {
  auto found = scanned(
    operation::completions,
    prompt(
      R"("a")",
      R"(,"n":2,"best_of":5,"logprobs":3,"echo":true,"suffix":"z","stream":true,)"
      R"("stream_options":{"include_usage":true},"max_tokens":7,"user":"u")"
    )
  );
  CHECK(found.shape.task == contract::task::completion);
  CHECK(found.shape.choices == 5);
  CHECK(found.shape.stream);
  CHECK(found.include_usage);
  CHECK(found.shape.output_tokens == 7u);
  CHECK(found.shape.affinity != 0);
  CHECK(found.shape.features == std::vector<std::string>{"logprobs", "echo", "suffix"});
}

TEST_CASE("no logprobs, echo or suffix are no wishes, and 0 logprobs are one") {
  auto none = scanned(
    operation::completions,
    prompt(R"("a")", R"(,"logprobs":null,"echo":false,"suffix":"","best_of":null,"n":1)")
  );
  CHECK(none.shape.features.empty());
  CHECK(none.shape.choices == 1);
  auto zero = scanned(operation::completions, prompt(R"("a")", R"(,"logprobs":0)"));
  CHECK(zero.shape.features == std::vector<std::string>{"logprobs"});
}

TEST_CASE("a completion's key of a wrong type or twice is refused") {
  struct row {
    std::string more;
    std::string param;
  };
  auto [more, param] = GENERATE(
    row{R"(,"logprobs":true)", "logprobs"},
    row{R"(,"logprobs":-1)", "logprobs"},
    row{R"(,"echo":1)", "echo"},
    row{R"(,"suffix":["a"])", "suffix"},
    row{R"(,"best_of":0)", "best_of"},
    row{R"(,"n":"2")", "n"},
    row{R"(,"prompt":"b")", "prompt"},
    row{R"(,"pro\u006dpt":"b")", "prompt"},
    row{R"(,"best_of":1,"best_of":1)", "best_of"}
  );
  INFO(more);
  auto found = scan(operation::completions, prompt(R"("a")", more));
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().param == param);
}

TEST_CASE("an embedding names dimensions, never streams and never generates") {
  auto found = scanned(
    operation::embeddings,
    input(R"("a")", R"(,"dimensions":64,"encoding_format":"base64","stream":true,"max_tokens":5)")
  );
  CHECK(found.shape.task == contract::task::embedding);
  CHECK(found.shape.features == std::vector<std::string>{"dimensions"});
  CHECK_FALSE(found.shape.stream);
  CHECK_FALSE(found.shape.output_tokens.has_value());
  CHECK_FALSE(scan(operation::embeddings, input(R"("a")", R"(,"dimensions":0)")).has_value());
  CHECK_FALSE(scan(operation::embeddings, input(R"("a")", R"(,"dimensions":"64")")).has_value());
}

TEST_CASE("keys of another operation are somebody else's") {
  CHECK(scan(operation::completions, R"({"model":"m","messages":7,"input":[],"prompt":"a"})"));
  CHECK(scan(operation::embeddings, R"({"model":"m","prompt":[],"logprobs":true,"input":"a"})"));
  CHECK(scan(operation::chat_completions, R"({"model":"m","prompt":7,"input":[]})"));
}

TEST_CASE("a query is read with each document, wherever it stands") {
  auto text = [](std::size_t tokens) { return "\"" + std::string(tokens * 128, ' ') + "\""; };
  auto documents = "[" + text(10) + "," + text(40) + "]";
  struct row {
    operation asked;
    std::string body;
  };
  auto [asked, body] = GENERATE_COPY(
    row{operation::rerank, R"("query":)" + text(5) + R"(,"documents":)" + documents},
    row{operation::rerank, R"("documents":)" + documents + R"(,"query":)" + text(5)},
    row{operation::score, R"("text_1":)" + text(5) + R"(,"text_2":)" + documents},
    row{
      operation::score,
      R"("queries":[)" + text(5) + "," + text(1) + R"(],"documents":)" + documents}
  );
  auto shape = scanned(asked, R"({"model":"m",)" + body + "}").shape;
  CHECK(shape.task == contract::task::rerank);
  CHECK(shape.prompts == 2);
  CHECK(shape.input.least == 45);
  CHECK(shape.more_input.least == 15);
  CHECK(shape.input.most >= 45 * 128);
  CHECK(shape.more_input.most >= 15 * 128);
}

TEST_CASE("a query or documents of a wrong type, or twice, are refused and named") {
  auto [body, param] = GENERATE(
    std::pair<std::string, std::string>{R"({"model":"m","query":7,"documents":["a"]})", "query"},
    std::pair<std::string, std::string>{R"({"model":"m","query":"a","documents":[]})", "documents"},
    std::pair<std::string, std::string>{
      R"({"model":"m","query":"a","documents":[null]})", "documents"},
    std::pair<std::string, std::string>{
      R"({"model":"m","query":"a","query":"b","documents":["a"]})", "query"}
  );
  auto found = scan(operation::rerank, body);
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().param == param);
  CHECK_FALSE(scan(operation::score, R"({"model":"m","text_1":"a","queries":"b","text_2":"c"})"));
}

TEST_CASE("a query without documents is left to the engine") {
  auto shape = scanned(operation::rerank, R"({"model":"m","query":"a"})").shape;
  CHECK(shape.prompts == 1);
}

TEST_CASE("what the engine cuts to its limit is never surely too long") {
  auto found =
    scanned(operation::embeddings, input(zeros(9'000), R"(,"truncate_prompt_tokens":-1)"));
  CHECK(found.shape.input.least == 0);
  CHECK(found.shape.input.most >= 9'000);
}

TEST_CASE("all prompts together never count as fewer than one of them") {
  auto shape = scanned(operation::completions, prompt(R"([{"prompt_string":"a"},"b","c"])")).shape;
  CHECK(shape.prompts == 3);
  CHECK(shape.all_input().most == 0xffff'ffffu);
  CHECK(shape.all_input().least <= shape.all_input().most);
}

TEST_CASE("a prompt that is no text has no upper estimate") {
  auto embeds = scanned(operation::completions, R"({"model":"m","prompt_embeds":["AAAA"]})");
  CHECK(embeds.shape.input.most == 0xffff'ffffu);
  auto object = scanned(operation::completions, prompt(R"({"prompt_string":"a"})"));
  CHECK(object.shape.input.most == 0xffff'ffffu);
}
