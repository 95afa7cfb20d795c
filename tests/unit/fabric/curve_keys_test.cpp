#include "src/fabric/curve_keys.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace assay::fabric {

namespace {

namespace fs = std::filesystem;

class scratch {
public:
  scratch() {
    auto pattern = (fs::temp_directory_path() / "assay-keys-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~scratch() { fs::remove_all(path); }
  fs::path path;
};

fs::perms mode_of(const fs::path& file) {
  return fs::status(file).permissions() & fs::perms::all;
}

const auto coordinator_keys = new_key_pair();

} // namespace

TEST_CASE("a written key pair reads back the same, its secret for the owner only") {
  scratch dir;
  auto keys = new_key_pair();
  REQUIRE(write_key_pair(dir.path, "agent", keys));
  auto back = read_key_pair(dir.path, "agent");
  REQUIRE(back);
  CHECK(back->shared == keys.shared);
  CHECK(back->secret == keys.secret);
  CHECK(mode_of(dir.path / "agent.secret") == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(*read_public_key(dir.path / "agent.pub") == keys.shared);
}

TEST_CASE(
  "a secret that others can read is refused, and the problem names the command that mends it"
) {
  scratch dir;
  REQUIRE(write_key_pair(dir.path, "agent", new_key_pair()));
  for (auto extra : {fs::perms::group_read, fs::perms::others_read, fs::perms::others_write}) {
    auto file = dir.path / "agent.secret";
    fs::permissions(file, fs::perms::owner_read | extra);
    auto keys = read_key_pair(dir.path, "agent");
    REQUIRE_FALSE(keys);
    CHECK(keys.error().kind == problem_kind::refused);
    CHECK(keys.error().next.find("chmod 600 " + file.string()) != std::string::npos);
  }
}

TEST_CASE("a file that holds no key is refused without showing what it holds") {
  scratch dir;
  auto file = dir.path / "agent.secret";
  std::ofstream{file} << "hunter2\n";
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  auto keys = read_key_pair(dir.path, "agent");
  REQUIRE_FALSE(keys);
  CHECK(keys.error().kind == problem_kind::invalid);
  CHECK(to_text(keys.error()).find("hunter2") == std::string::npos);
}

TEST_CASE("a missing pair is made once and then read") {
  scratch dir;
  auto made = read_or_make_key_pair(dir.path, "agent");
  REQUIRE(made);
  auto again = read_or_make_key_pair(dir.path, "agent");
  REQUIRE(again);
  CHECK(again->shared == made->shared);
}

TEST_CASE("a pair that cannot be read is not replaced by a new one") {
  scratch dir;
  REQUIRE(write_key_pair(dir.path, "agent", new_key_pair()));
  fs::permissions(dir.path / "agent.secret", fs::perms::all);
  CHECK_FALSE(read_or_make_key_pair(dir.path, "agent"));
}

TEST_CASE("a missing directory is a problem with its path") {
  auto written = write_key_pair("/nonexistent-assay", "agent", new_key_pair());
  REQUIRE_FALSE(written);
  CHECK(written.error().where.starts_with("/nonexistent-assay"));
}

TEST_CASE("a public key has 40 characters of Z85, no more, no fewer, no others") {
  auto text = to_text(coordinator_keys.shared);
  CHECK(parse_public_key(text) == coordinator_keys.shared);
  CHECK_FALSE(parse_public_key(text + "0"));
  CHECK_FALSE(parse_public_key(text.substr(1)));
  CHECK_FALSE(parse_public_key(text.substr(1) + "\""));
  CHECK_FALSE(parse_public_key(std::string(40, '#'))); // Past 2^32 - 1 in each group.
}

TEST_CASE("a join token is one word that carries address, server key and secret") {
  auto token = new_join_token("10.0.0.5:7103", coordinator_keys.shared);
  auto text = to_text(token);
  CHECK(text.starts_with("assay-join-"));
  CHECK(
    text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
    == std::string::npos
  );
  auto back = parse_join_token(text);
  REQUIRE(back);
  CHECK(back->coordinator == "10.0.0.5:7103");
  CHECK(back->coordinator_key == coordinator_keys.shared);
  CHECK(back->keys.shared == token.keys.shared);
  CHECK(back->keys.secret == token.keys.secret);
}

TEST_CASE("a token with any character changed, cut or added is refused") {
  auto text = to_text(new_join_token("10.0.0.5:7103", coordinator_keys.shared));
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    CHECK_FALSE(parse_join_token(changed));
    CHECK_FALSE(parse_join_token(text.substr(0, i)));
  }
  CHECK_FALSE(parse_join_token(text + "A"));
  CHECK_FALSE(parse_join_token("assay-join-" + std::string(5'000, 'A')));
}

} // namespace assay::fabric
