// What a peer puts into a log line cannot end it, imitate a field, or steer a terminal.

#include "src/base/log.hpp"

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace assay {

namespace {

std::string last_line(const std::filesystem::path& path) {
  std::ifstream in{path};
  std::string line, last;
  while (std::getline(in, line))
    last = line;
  return last;
}

} // namespace

TEST_CASE("a log line holds no control character, whatever its fields hold") {
  const auto path =
    std::filesystem::temp_directory_path() / ("assay-log-test-" + std::to_string(::getpid()));
  log::open("test", path);
  for (int c = 0; c < 0x80; ++c) {
    if (c > 0x20 && c < 0x7f)
      continue;
    log::info("said", {{"by", std::string{"a"} + static_cast<char>(c) + "b"}});
    CHECK(last_line(path).ends_with("said by=\"a b\""));
  }
  log::info("said", {{"by", "a=\"b\""}});
  CHECK(last_line(path).ends_with(R"(said by="a=\"b\"")"));
  log::info("said", {{"by", "plain"}});
  CHECK(last_line(path).ends_with("said by=plain"));
  std::filesystem::remove(path);
}

} // namespace assay
