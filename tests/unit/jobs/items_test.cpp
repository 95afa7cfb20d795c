#include "src/base/limits.hpp"
#include "src/jobs/items.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::jobs {

namespace {

constexpr auto chat = contract::task::chat;

std::string body_of(std::string_view line, contract::task task = chat) {
  const auto read = request_of(line, 7, task, "m");
  INFO((read ? "" : read.error().why));
  REQUIRE(read);
  return read->body;
}

fault fault_of(std::string_view line, contract::task task = chat) {
  const auto read = request_of(line, 7, task, "m");
  REQUIRE_FALSE(read);
  return read.error();
}

} // namespace

TEST_CASE("an OpenAI batch line keeps its bytes but for the model") {
  const auto read = request_of(
    R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt-9","messages":[ {"role":"user","content":"h\u00e9"} ],"temperature":1.0e-7,"seed":12345678901234567890}})",
    1,
    chat,
    "m"
  );
  REQUIRE(read);
  CHECK(read->custom_id == "a");
  CHECK(read->path == "/v1/chat/completions");
  CHECK(
    read->body
    == R"({"model":"m","messages":[ {"role":"user","content":"h\u00e9"} ],"temperature":1.0e-7,"seed":12345678901234567890})"
  );
}

TEST_CASE("a plain prompt becomes the user's message of a chat, and stays a prompt of a completion"
) {
  CHECK(
    body_of(R"({"id":"x","prompt":"a \"b\"\n","max_tokens":5})")
    == R"({"model":"m","messages":[{"role":"user","content":"a \"b\"\n"}],"max_tokens":5})"
  );
  CHECK(
    body_of(R"({"prompt":"a","max_tokens":5})", contract::task::completion)
    == R"({"model":"m","prompt":"a","max_tokens":5})"
  );
}

TEST_CASE("a line without an id is named by its number, and a number may be an id") {
  CHECK(request_of(R"({"prompt":"a"})", 7, chat, "m")->custom_id == "line-7");
  CHECK(request_of(R"({"prompt":"a","id":12})", 7, chat, "m")->custom_id == "12");
}

TEST_CASE("each bad line says its number and what is wrong with it") {
  struct row {
    std::string_view line;
    std::string_view code;
  };
  const row rows[] = {
    {"nonsense", "invalid_json_line"},
    {"[1]", "invalid_json_line"},
    {R"({"prompt":"a"} extra)", "invalid_json_line"},
    {R"({"prompt":"a","x":[1,,2]})", "invalid_json_line"},
    {"{\"prompt\":\"\xff\"}", "invalid_json_line"},
    {R"({"prompt":7})", "invalid_request"},
    {R"({"id":"a"})", "invalid_request"},
    {R"({"prompt":"a","messages":[]})", "invalid_request"},
    {R"({"prompt":"a","id":""})", "invalid_custom_id"},
    {R"({"prompt":"a","id":[1]})", "invalid_custom_id"},
    {R"({"prompt":"a","stream":true})", "stream_not_possible"},
    {R"({"custom_id":"a","method":"GET","body":{"messages":[]}})", "invalid_method"},
    {R"({"custom_id":"a","url":"/v1/embeddings","body":{"messages":[]}})", "invalid_url"},
    {R"({"custom_id":"a","url":"/v1/chat/completions"})", "missing_body"},
    {R"({"custom_id":"a","body":"text"})", "invalid_body"},
  };
  for (const auto& r : rows) {
    CAPTURE(r.line);
    const auto f = fault_of(r.line);
    CHECK(f.code == r.code);
    CHECK(f.why.starts_with("line 7 "));
  }
  CHECK(fault_of(R"({"messages":[]})", contract::task::completion).code == "invalid_request");
}

TEST_CASE("a fault keeps the line's own id where it has one") {
  CHECK(fault_of(R"({"custom_id":"mine","prompt":7})").custom_id == "mine");
  CHECK(fault_of("{").custom_id == "line-7");
}

TEST_CASE("the longest line is taken and one byte more is a fault") {
  const auto line = [](std::size_t bytes) {
    const std::string head = R"({"prompt":")";
    return head + std::string(bytes - head.size() - 2, 'a') + "\"}";
  };
  CHECK(request_of(line(limits::job_line_bytes), 1, chat, "m"));
  CHECK(fault_of(line(limits::job_line_bytes + 1)).code == "line_too_long");
}

TEST_CASE("items are counted without empty lines, and lines with them") {
  const std::string input =
    "\xEF\xBB\xBF{\"prompt\":\"a\"}\r\n\n  "
    "\n{\"prompt\":\"b\",\"id\":\"x\"}\n{\"prompt\":\"c\",\"id\":\"x\"}\nnonsense";
  const auto index = index_items(input, chat);
  REQUIRE(index);
  REQUIRE(index->items.size() == 4);
  CHECK(index->items[0].line == 1);
  CHECK(input.substr(index->items[0].offset, index->items[0].bytes) == R"({"prompt":"a"})");
  CHECK(index->items[1].line == 4);
  REQUIRE(index->faults.size() == 2);
  CHECK(index->faults.at(2).code == "duplicate_custom_id");
  CHECK(index->faults.at(2).why == "line 5 repeats the id \"x\" of an earlier line");
  CHECK(index->faults.at(3).code == "invalid_json_line");
}

TEST_CASE("an input without an item is refused with an example") {
  for (const std::string_view input : {"", "\n \n\r\n"}) {
    const auto index = index_items(input, chat);
    REQUIRE_FALSE(index);
    CHECK(index.error().next.find("{\"prompt\": \"...\"}") != std::string::npos);
  }
}

TEST_CASE("result lines are one line of JSON whatever the engine sent") {
  CHECK(
    output_line("j", 3, "a\"b", 200, "r", "{\n \"x\": 1\n}")
    == R"({"id":"batch_req_j_3","custom_id":"a\"b","response":{"status_code":200,"request_id":"r","body":{  "x": 1 }},"error":null})"
  );
  CHECK(
    output_line("j", 3, "a", 502, "", "<html>\n\xff").find(R"("body":"<html>\u000a?")")
    != std::string::npos
  );
  CHECK(
    error_line("j", 3, "a", "code", "why")
    == R"({"id":"batch_req_j_3","custom_id":"a","response":null,"error":{"code":"code","message":"why"}})"
  );
}

TEST_CASE("a line is an error line unless its response is a 2xx") {
  CHECK_FALSE(is_error_line(output_line("j", 0, "a", 200, "", "{}")));
  CHECK_FALSE(is_error_line(output_line("j", 0, "a", 299, "", "{}")));
  CHECK(is_error_line(output_line("j", 0, "a", 300, "", "{}")));
  CHECK(is_error_line(output_line("j", 0, "a", 400, "", "{}")));
  CHECK(is_error_line(error_line("j", 0, "a", "c", "m")));
}

} // namespace assay::jobs
