#include "src/store/blob_store.hpp"
#include "tests/unit/store/notes.hpp"

#include <thread>

namespace assay::store {

using namespace test;

namespace {

std::unique_ptr<blob_store> open_store(const scratch& place, std::uint64_t quota = 0) {
  auto open = blob_store::open(place.path() / "blobs", quota);
  REQUIRE(open);
  return *std::move(open);
}

std::size_t files_in(const scratch& place) {
  std::size_t count = 0;
  for (const auto& at : std::filesystem::recursive_directory_iterator{place.path() / "blobs"})
    count += at.is_regular_file() ? 1 : 0;
  return count;
}

} // namespace

TEST_CASE("a blob is found under its digest, also by the next process, and stored once") {
  scratch place;
  auto name = open_store(place)->put("evidence").value();
  CHECK(name == sha256("evidence"));
  auto store = open_store(place);
  CHECK(store->has(name));
  CHECK(store->get(name).value() == "evidence");
  CHECK(store->size(name).value() == 8);
  CHECK(store->put("evidence").value() == name);
  CHECK(files_in(place) == 1);
  CHECK(store->used_bytes() == 8);
}

TEST_CASE("a blob that was damaged on disk is refused, with its path") {
  scratch place;
  auto store = open_store(place);
  auto name = store->put("evidence").value();
  auto file = std::fopen(store->path(name).c_str(), "r+");
  REQUIRE(file != nullptr);
  std::fputc('E', file);
  std::fclose(file);
  auto got = store->get(name);
  REQUIRE_FALSE(got);
  CHECK(got.error().what.find("damaged") != std::string::npos);
  CHECK(got.error().where == store->path(name).string());
}

TEST_CASE("a missing blob is not found") {
  scratch place;
  auto got = open_store(place)->get(sha256("nothing"));
  REQUIRE_FALSE(got);
  CHECK(got.error().kind == problem_kind::not_found);
}

TEST_CASE("a blob written in pieces equals one written whole; an abandoned one leaves nothing") {
  scratch place;
  auto store = open_store(place);
  {
    auto started = store->start();
    REQUIRE(started);
    auto to = *std::move(started);
    REQUIRE(to.write("half"));
  }
  CHECK(files_in(place) == 0);
  CHECK(store->used_bytes() == 0);
  auto started = store->start();
  REQUIRE(started);
  auto to = *std::move(started);
  std::string whole;
  for (int i = 0; i < 100; ++i) {
    auto line = std::to_string(i) + "\n";
    whole += line;
    REQUIRE(to.write(line));
  }
  CHECK(to.finish().value() == sha256(whole));
  std::string read;
  REQUIRE(store->read(sha256(whole), [&](std::string_view piece) {
    read += piece;
    return true;
  }));
  CHECK(read == whole);
}

TEST_CASE("a blob is read up to the caller's limit and not one byte above") {
  scratch place;
  auto store = open_store(place);
  auto name = store->put("12345678").value();
  CHECK(store->get(name, 8));
  CHECK_FALSE(store->get(name, 7));
}

TEST_CASE("the quota lets its last byte in and refuses the next; removal makes room") {
  scratch place;
  auto store = open_store(place, 10);
  auto first = store->put("12345678").value();
  CHECK(store->put("ab"));
  auto refused = store->put("x");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::exhausted);
  REQUIRE(store->remove(first));
  CHECK(store->put("x"));
  CHECK(store->used_bytes() == 3);
}

TEST_CASE("a blob whose write failed cannot be finished") {
  scratch place;
  auto store = open_store(place, 10);
  auto started = store->start();
  REQUIRE(started);
  auto to = *std::move(started);
  REQUIRE(to.write("12345678"));
  CHECK_FALSE(to.write("abc"));
  CHECK_FALSE(to.finish());
}

TEST_CASE("what has to have a digest is kept under it alone, and heals what was damaged there") {
  scratch place;
  auto store = open_store(place);
  auto name = store->put("evidence").value();
  auto write = [&](std::string_view bytes) {
    auto started = store->start();
    REQUIRE(started);
    auto to = *std::move(started);
    REQUIRE(to.write(bytes));
    return to.finish(name);
  };
  auto refused = write("Evidence");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == problem_kind::invalid);
  CHECK(files_in(place) == 1);
  auto file = std::fopen(store->path(name).c_str(), "r+");
  REQUIRE(file != nullptr);
  std::fputc('E', file);
  std::fclose(file);
  REQUIRE_FALSE(store->get(name));
  REQUIRE(write("evidence"));
  CHECK(store->get(name).value() == "evidence");
  CHECK(store->used_bytes() == 8);
  CHECK(files_in(place) == 1);
}

TEST_CASE("a part of a blob is what stands there, up to its end") {
  scratch place;
  auto store = open_store(place);
  auto name = store->put("0123456789").value();
  auto part = [&](std::uint64_t offset, std::size_t most) {
    auto got = store->read_part(name, offset, most);
    REQUIRE(got);
    CHECK(got->size == 10);
    return got->bytes;
  };
  CHECK(part(0, 4) == "0123");
  CHECK(part(8, 4) == "89");
  CHECK(part(10, 4).empty());
  CHECK(part(11, 4).empty());
  CHECK_FALSE(store->read_part(sha256("nothing"), 0, 4));
}

TEST_CASE("what a dead writer left is gone after the next start") {
  scratch place;
  open_store(place);
  auto left = place.path() / "blobs" / "tmp" / "1-0";
  std::fclose(std::fopen(left.c_str(), "w"));
  open_store(place);
  CHECK(files_in(place) == 0);
}

TEST_CASE("writers on many threads do not disturb each other") {
  scratch place;
  auto store = open_store(place);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        auto text = std::to_string(i % 5) + std::to_string(t % 2);
        auto name = store->put(text);
        good += name && store->get(*name) ? 1 : 0;
      }
    });
  for (auto& t : threads)
    t.join();
  CHECK(good == 40);
  CHECK(files_in(place) == 10);
}

} // namespace assay::store
