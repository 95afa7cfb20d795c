// The child is this program again, for its one hidden case: signals are as a program begins with
// them only in a fresh one.

#include "src/store/fault_guard.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace assay::store {

namespace {

const std::string text = "the file is damaged\n";

struct ended {
  int status = 0;
  std::string said;
};

ended child(const std::string& what) {
  test::temp_folder place;
  auto log = (place.path() / "out").string();
  auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  auto command =
    "ulimit -c 0; ASSAY_TEST_FAULT=" + what + " " + self + " '[.fault]' >" + log + " 2>&1";
  ended out;
  out.status = std::system(command.c_str());
  std::ifstream in{log};
  out.said = {std::istreambuf_iterator<char>{in}, {}};
  return out;
}

bool is_told(const ended& seen) {
  return WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 74
         && seen.said.find(text) != std::string::npos;
}

void look_where_nothing_is() {
  auto* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  [[maybe_unused]] volatile char byte = *static_cast<volatile char*>(page);
}

} // namespace

TEST_CASE("a fault under a guard ends the process with 74 and what is wrong") {
  CHECK(is_told(child("page")));
  CHECK(is_told(child("assertion")));
  CHECK(is_told(child("nested")));
}

TEST_CASE("behind the last guard a fault is what it was before") {
  auto seen = child("behind");
  CHECK(seen.status != 0);
  CHECK_FALSE(is_told(seen));
  CHECK(seen.said.find(text) == std::string::npos);
}

TEST_CASE("faults", "[.fault]") {
  const auto* asked = std::getenv("ASSAY_TEST_FAULT");
  REQUIRE(asked != nullptr);
  std::string what = asked;
  if (what == "behind") {
    { fault_guard guard{text}; }
    look_where_nothing_is();
  }
  fault_guard guard{text};
  if (what == "page")
    look_where_nothing_is();
  if (what == "nested") {
    const std::string other = "another one\n";
    fault_guard inner{other};
  }
  std::abort();
}

} // namespace assay::store
