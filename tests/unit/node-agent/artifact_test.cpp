#include "node-agent/host/artifact_check.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>

namespace assay::agent {

namespace {

catalog::artifact_file file(const std::string& path, const std::string& content) {
  return {path, content.size(), sha256(content)};
}

void flip_byte(const std::filesystem::path& path, std::streamoff at) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekg(at);
  auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at);
  file.put(byte);
}

} // namespace

TEST_CASE("an artifact whose files are as declared is verified") {
  test::temp_folder folder;
  folder.write("a.gguf", "weights");
  folder.write("sub/b.json", "{}");
  digest_cache cache{""};
  auto checked =
    check_artifact(folder.path(), {file("a.gguf", "weights"), file("sub/b.json", "{}")}, cache);
  REQUIRE(checked);
  CHECK(checked->checked_bytes == 9);
}

TEST_CASE("one flipped byte is refused, and the file is named") {
  test::temp_folder folder;
  std::string content(100'000, 'w');
  auto path = folder.write("model.gguf", content);
  digest_cache cache{""};
  REQUIRE(check_artifact(folder.path(), {file("model.gguf", content)}, cache));
  flip_byte(path, 77'777);
  auto checked = check_artifact(folder.path(), {file("model.gguf", content)}, cache);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().fault == artifact_fault::mismatched);
  CHECK(checked.error().why.where == path.native());
}

TEST_CASE("a byte that is flipped back in time is still seen, because ctime cannot be set") {
  test::temp_folder folder;
  auto path = folder.write("model.gguf", "weights");
  digest_cache cache{""};
  REQUIRE(check_artifact(folder.path(), {file("model.gguf", "weights")}, cache));
  auto time = std::filesystem::last_write_time(path);
  flip_byte(path, 3);
  std::filesystem::last_write_time(path, time);
  CHECK_FALSE(check_artifact(folder.path(), {file("model.gguf", "weights")}, cache));
}

TEST_CASE("a file that is missing, short or a folder is refused with its own reason") {
  test::temp_folder folder;
  folder.write("short", "abc");
  std::filesystem::create_directory(folder.path() / "folder");
  digest_cache cache{""};
  auto reason = [&](const catalog::artifact_file& wanted) {
    auto checked = check_artifact(folder.path(), {wanted}, cache);
    return checked ? std::string{} : checked.error().why.what;
  };
  CHECK(reason(file("absent", "x")) == "the file is missing");
  CHECK(reason(file("short", "abcd")) == "the file has 3 bytes, the manifest says 4");
  CHECK(reason(file("folder", "x")) == "this is not a regular file");
}

TEST_CASE("no path and no link leads out of the artifact's folder") {
  test::temp_folder folder;
  auto secret = folder.write("secret", "s");
  folder.write("artifact/inside", "s");
  std::filesystem::create_symlink(secret, folder.path() / "artifact/absolute");
  std::filesystem::create_symlink("../secret", folder.path() / "artifact/relative");
  std::filesystem::create_symlink("inside", folder.path() / "artifact/harmless");
  digest_cache cache{""};
  for (const auto* path : {"../secret", "absolute", "relative"}) {
    auto checked = check_artifact(folder.path() / "artifact", {file(path, "s")}, cache);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().fault == artifact_fault::mismatched);
    CHECK(checked.error().why.what == "the path leads out of the artifact's folder");
  }
  CHECK(check_artifact(folder.path() / "artifact", {file("harmless", "s")}, cache));
}

TEST_CASE("a check that is cancelled says so, and one without files is refused") {
  test::temp_folder folder;
  folder.write("a", std::string(3 << 20, 'a'));
  digest_cache cache{""};
  auto checked =
    check_artifact(folder.path(), {file("a", std::string(3 << 20, 'a'))}, cache, {}, [] {
      return true;
    });
  REQUIRE_FALSE(checked);
  CHECK(checked.error().fault == artifact_fault::cancelled);
  CHECK_FALSE(check_artifact(folder.path(), {}, cache));
}

TEST_CASE("what was read once is not read again, also by the next agent") {
  test::temp_folder folder;
  folder.write("a", "weights");
  auto store = folder.path() / "digests";
  {
    digest_cache cache{store};
    REQUIRE(check_artifact(folder.path(), {file("a", "weights")}, cache));
    REQUIRE(cache.save());
  }
  digest_cache cache{store};
  struct stat facts {};
  REQUIRE(::stat((folder.path() / "a").c_str(), &facts) == 0);
  CHECK(cache.find(identity_of(facts)) == sha256("weights"));
}

TEST_CASE("a damaged cache costs time and nothing else") {
  test::temp_folder folder;
  folder.write("a", "weights");
  digest_cache cache{folder.write("digests", "1 2 three\n\n9 9 9 9 9 sha256:zz\n")};
  CHECK(check_artifact(folder.path(), {file("a", "weights")}, cache));
}

} // namespace assay::agent
