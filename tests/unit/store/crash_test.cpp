// Real processes that die: killed under load, cut off from their disk, or one too many.
//
// The child is this program again (`fork` without `exec`): it holds no thread and no environment
// at that moment. It reports each acknowledged note through a pipe before it asks for the next.

#include "src/base/limits.hpp"
#include "tests/unit/store/notes.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <thread>

namespace assay::store {

using namespace test;

namespace {

constexpr int proposers = 8;

/// Proposes for ever; each acknowledged name goes into the pipe as one line.
[[noreturn]] void propose_for_ever(const std::filesystem::path& root, int life, int out) {
  auto directory = data_directory::open(root, {.is_network_accepted = true});
  engine_options options;
  options.map_bytes = 256 << 20;
  options.trailing = 64;
  auto engine = ledger_engine::open(*directory, std::make_unique<note_machine>(), options);
  if (!engine)
    ::_exit(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < proposers; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0;; ++i) {
        auto name = std::to_string(life) + "-" + std::to_string(t) + "-" + std::to_string(i);
        auto got = ask(**engine, name + "=x").get();
        if (!got)
          ::_exit(2);
        auto line = name + " " + std::to_string(got->seq) + "\n";
        if (::write(out, line.data(), line.size()) < 0)
          ::_exit(3);
      }
    });
  for (auto& t : threads)
    t.join();
  ::_exit(0);
}

struct child {
  pid_t pid = -1;
  int reports = -1;
};

child start_child(const std::filesystem::path& root, int life) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  auto pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0)
    propose_for_ever(root, life, ends[1]);
  ::close(ends[1]);
  return {pid, ends[0]};
}

/// Reads until `wanted` lines came, kills, and reads the rest.
std::string reports_until_killed(const child& of, std::size_t wanted) {
  std::string out;
  std::size_t lines = 0;
  std::array<char, 4096> piece{};
  bool is_killed = false;
  for (;;) {
    auto size = ::read(of.reports, piece.data(), piece.size());
    if (size <= 0)
      break;
    out.append(piece.data(), static_cast<std::size_t>(size));
    lines = static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n'));
    if (lines >= wanted && !is_killed) {
      ::kill(of.pid, SIGKILL);
      is_killed = true;
    }
  }
  ::close(of.reports);
  int status = 0;
  ::waitpid(of.pid, &status, 0);
  CHECK(WIFSIGNALED(status));
  return out;
}

/// A small file system of our own, or the reason why there is none.
class small_disk {
public:
  explicit small_disk(const std::filesystem::path& at) : path_{at} {
    std::filesystem::create_directories(path_);
    if (::mount("none", path_.c_str(), "tmpfs", 0, "size=32m") != 0)
      SKIP("a tmpfs cannot be mounted here: " << std::strerror(errno));
  }
  ~small_disk() { ::umount2(path_.c_str(), MNT_DETACH); }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;

private:
  std::filesystem::path path_;
};

} // namespace

TEST_CASE("after kill -9 in the middle of load every acknowledged note is there exactly once") {
  scratch place;
  {
    auto directory = open_directory(place.path());
    REQUIRE(open_engine(directory)); // Founds it.
  }
  std::string acknowledged;
  for (int life = 0; life < 3; ++life)
    acknowledged += reports_until_killed(start_child(place.path(), life), 200);

  auto directory = open_directory(place.path());
  auto engine = open_engine(directory);
  const auto& kept = *static_cast<const notes*>(engine->current()->tables.get());
  std::map<std::uint64_t, int> seqs;
  for (const auto& [name, note] : kept)
    CHECK(++seqs[note.seq] == 1);
  CHECK(seqs.rbegin()->first == kept.size()); // Dense: nothing doubled, nothing left out.
  std::size_t begin = 0, found = 0;
  for (auto end = acknowledged.find('\n'); end != std::string::npos;
       begin = end + 1, end = acknowledged.find('\n', begin)) {
    auto line = acknowledged.substr(begin, end - begin);
    auto space = line.find(' ');
    auto at = kept.find(line.substr(0, space));
    REQUIRE(at != kept.end());
    CHECK(std::to_string(at->second.seq) == line.substr(space + 1));
    ++found;
  }
  CHECK(found >= 600);
  // The note that was in flight when the process died may be proposed again.
  auto again = take(*engine, kept.begin()->first + "=x");
  CHECK(again.is_repeated);
}

TEST_CASE("on a disk that is really full the ledger refuses, reads, and resumes without restart") {
  scratch place;
  small_disk disk{place.path() / "small"};
  auto directory = open_directory(place.path() / "small");
  engine_options options;
  options.map_bytes = 64 << 20;
  auto engine = open_engine(directory, options);
  take(*engine, "n0=x");
  REQUIRE(barrier(*engine)); // What comes behind may be in the log alone when the disk is full.
  std::uint64_t taken = 1;
  std::optional<problem> refused;
  for (int i = 1; i < 2'000 && !refused; ++i) {
    auto got = ask(*engine, "n" + std::to_string(i) + "=" + std::string(8'000, 'x')).get();
    if (got)
      ++taken;
    else
      refused = got.error();
  }
  REQUIRE(refused);
  CHECK(refused->kind == problem_kind::exhausted);
  CHECK(refused->what.find("disk_full") != std::string::npos);
  CHECK(notes_of(engine->current()).size() <= taken);
  CHECK(engine->read_row("n/n0").value().has_value());
  engine.reset();
  engine = open_engine(directory, options); // A full disk is no reason not to start.
  CHECK(notes_of(engine->current()).contains("n0"));
  CHECK(engine->status().is_disk_full == !ask(*engine, "probe=x").get().has_value());

  REQUIRE(::mount("none", (place.path() / "small").c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0);
  // Room is looked for ten times a second.
  for (bool is_taken = false; !is_taken;)
    is_taken = ask(*engine, "after=x").get().has_value();
  auto view = barrier(*engine);
  REQUIRE(view);
  CHECK(notes_of(*view).size() >= taken + 1);
}

TEST_CASE("a full disk takes a thousand small records that undo, whatever others fill it with") {
  scratch place;
  small_disk disk{place.path() / "small"};
  auto directory = open_directory(place.path() / "small");
  engine_options options;
  options.map_bytes = 64 << 20;
  auto engine = open_engine(directory, options);
  take(*engine, "first=x");
  const auto ballast = place.path() / "small" / "ballast";
  {
    std::ofstream file{ballast, std::ios::binary};
    const std::string piece(64 << 10, 'b');
    while (file.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush())
      ;
  }
  std::optional<problem> refused;
  for (int i = 0; i < 2'000 && !refused; ++i)
    if (auto got = ask(*engine, "n" + std::to_string(i) + "=" + std::string(8'000, 'x')).get();
        !got)
      refused = got.error();
  REQUIRE(refused);
  CHECK(refused->kind == problem_kind::exhausted);
  CHECK(refused->what.find("only what undoes") != std::string::npos);
  const auto undo = [&](int i) {
    return ask(*engine, "undo" + std::to_string(i) + "=" + std::string(600, 'u'));
  };
  for (int i = 0; i < 1'000; i += 20) {
    std::vector<std::future<answer>> some;
    for (int n = i; n < i + 20; ++n)
      some.push_back(undo(n));
    for (auto& one : some)
      REQUIRE(one.get());
  }
  REQUIRE(barrier(*engine)); // They are in the state as well.
  CHECK_FALSE(ask(*engine, "ordinary=x").get());

  refused.reset(); // The reserve has an end, too, and meets no failed commit there.
  for (int i = 1'000; i < 50'000 && !refused; ++i)
    if (auto got = undo(i).get(); !got)
      refused = got.error();
  REQUIRE(refused);
  CHECK(refused->kind == problem_kind::exhausted);

  REQUIRE(::mount("none", (place.path() / "small").c_str(), "tmpfs", MS_REMOUNT, "size=96m") == 0);
  for (bool is_taken = false; !is_taken;)
    is_taken = ask(*engine, "after=x").get().has_value();
  CHECK(notes_of(barrier(*engine).value()).contains("undo999"));
}

TEST_CASE("an fdatasync that really fails ends the process with its reason") {
  if (std::system("strace -V >/dev/null 2>&1") != 0)
    SKIP("strace is not installed");
  scratch place;
  {
    auto directory = open_directory(place.path());
    REQUIRE(open_engine(directory));
  }
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  auto log = (place.path() / "out").string();
  auto command = "ASSAY_TEST_ROOT=" + place.path().string()
                 + " timeout 60 strace -f -qq -o /dev/null -e trace=fdatasync -e "
                   "inject=fdatasync:error=EIO:when=6+ "
                 + self + " '[.child]' >" + log + " 2>&1";
  auto status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  std::string said;
  {
    auto file = std::fopen(log.c_str(), "r");
    REQUIRE(file != nullptr);
    std::array<char, 4096> piece{};
    while (auto size = std::fread(piece.data(), 1, piece.size(), file))
      said.append(piece.data(), size);
    std::fclose(file);
  }
  INFO(said);
  if (WEXITSTATUS(status) == 124)
    SKIP("the traced process took more than a minute: this machine is too busy");
  if (said.find("ptrace") != std::string::npos && WEXITSTATUS(status) != disk_error_exit)
    SKIP("strace may not trace here");
  CHECK(WEXITSTATUS(status) == disk_error_exit);
  CHECK(said.find("Input/output error") != std::string::npos);
}

TEST_CASE("proposes until the disk fails", "[.child]") {
  const auto* root = std::getenv("ASSAY_TEST_ROOT");
  REQUIRE(root != nullptr);
  auto directory = open_directory(root);
  auto engine = open_engine(directory);
  for (int i = 0; i < 1'000; ++i)
    take(*engine, "n" + std::to_string(i) + "=x");
}

TEST_CASE("a second process on the same directory is refused with the first one's number") {
  scratch place;
  auto first = open_directory(place.path());
  auto second = data_directory::open(place.path(), {.is_network_accepted = true});
  REQUIRE_FALSE(second);
  CHECK(second.error().kind == problem_kind::refused);
  CHECK(second.error().what.find(std::to_string(::getpid())) != std::string::npos);
  { auto gone = std::move(first); }
  CHECK(data_directory::open(place.path(), {.is_network_accepted = true}));
}

} // namespace assay::store
