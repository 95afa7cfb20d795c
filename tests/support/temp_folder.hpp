#pragma once
// A folder of its own for one test, removed at its end.

#include <catch2/catch_test_macros.hpp>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace assay::test {

class temp_folder {
public:
  temp_folder() {
    auto pattern = (std::filesystem::temp_directory_path() / "assay-test-XXXXXX").native();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~temp_folder() {
    std::error_code ignored; // A leftover folder in /tmp fails no test.
    std::filesystem::remove_all(path_, ignored);
  }
  temp_folder(const temp_folder&) = delete;
  temp_folder& operator=(const temp_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, const std::string& content) const {
    auto path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << content;
    return path;
  }

private:
  std::filesystem::path path_;
};

} // namespace assay::test
