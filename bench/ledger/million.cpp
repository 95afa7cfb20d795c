// A data directory with many records, and how long an engine takes to be ready with it.
//
//   ledger_million make DIR COUNT [SUITES]   COUNT records through the engine, in large batches
//   ledger_million open DIR                  prints: ready_ms rss_anon_kb records
//
// The records declare SUITES suites (a thousand) again and again: what a ledger keeps for ever is
// on disk alone, what it says now is small. `open` first asks the kernel to forget the files, so
// that they are read from disk; ready is when `open` has returned and the view holds the last
// record.

#include "src/store/ledger_machine.hpp"
#include "src/wire/record_codec.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <iostream>

using namespace assay;

namespace {

constexpr std::size_t text_bytes = 512;
constexpr std::size_t under_way = 2'048;
const ledger::author founder{"bench", ledger::authentication::process};
constexpr ledger::signing_key::seed seed{1};

[[noreturn]] void stop(const std::string& why) {
  std::cerr << "ledger_million: " << why << "\n";
  std::exit(1);
}

template <class T>
T must(result<T, problem> got) {
  if (!got)
    stop(to_text(got.error()));
  if constexpr (!std::is_void_v<T>)
    return *std::move(got);
}

std::unique_ptr<store::ledger_engine> open(const store::data_directory& in) {
  return must(store::ledger_engine::open(in, std::make_unique<store::ledger_machine>(seed, "one")));
}

/// Proposes as fast as the ledger answers, with a bound on what is under way.
class writer {
public:
  explicit writer(store::ledger_engine& to) : to_{to} {}

  void put(const ledger::record& what) {
    auto bytes = wire::encode_proposal(what);
    std::unique_lock hold{mutex_};
    changed_.wait(hold, [this] { return waiting_ < under_way; });
    ++waiting_;
    hold.unlock();
    to_.propose({std::move(bytes)}, [this](const store::answer& said) { answered(said); });
  }
  void finish() {
    std::unique_lock hold{mutex_};
    changed_.wait(hold, [this] { return waiting_ == 0; });
  }

private:
  void answered(const store::answer& said) {
    if (!said)
      stop(to_text(said.error()));
    std::lock_guard hold{mutex_};
    --waiting_;
    changed_.notify_one();
  }

  store::ledger_engine& to_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t waiting_ = 0;
};

ledger::record suite(std::uint64_t number, std::uint64_t suites) {
  catalog::suite_document out;
  out.name = {"suite-" + std::to_string(number % suites)};
  out.text = "items " + std::to_string(number) + " ";
  out.text.resize(text_bytes, 'x');
  out.sha256 = sha256(out.text);
  return ledger::make_record(ledger::declared{std::move(out)}, founder);
}

void make(const std::filesystem::path& where, std::uint64_t count, std::uint64_t suites) {
  auto directory = must(store::data_directory::open(where));
  must(store::ledger_engine::bootstrap(directory));
  auto engine = open(directory);
  writer writes{*engine};
  const auto key = ledger::to_text(ledger::signing_key{seed}.public_part());
  writes.put(ledger::make_record(ledger::cluster_created{new_uuid7(), "bench"}, founder));
  writes.finish();
  writes.put(ledger::make_record(ledger::membership{{{1, "one", "local", key, true}}}, founder));
  for (std::uint64_t number = 2; number < count; ++number)
    writes.put(suite(number, suites));
  writes.finish();
}

/// What is not in use of these files leaves the page cache.
void forget(const std::filesystem::path& file) {
  int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::fdatasync(fd) != 0 || ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
    stop("cannot forget " + file.string());
  ::close(fd);
}

std::uint64_t rss_anon_kb() {
  std::ifstream in{"/proc/self/status"};
  for (std::string word; in >> word;)
    if (std::uint64_t kb = 0; word == "RssAnon:" && in >> kb)
      return kb;
  return 0;
}

void measure(const std::filesystem::path& where) {
  auto directory = must(store::data_directory::open(where));
  forget(directory.raft() / "data.mdb");
  forget(directory.ledger() / "data.mdb");
  const auto began = std::chrono::steady_clock::now();
  auto engine = open(directory);
  const auto records = engine->current()->seq;
  const auto took = std::chrono::steady_clock::now() - began;
  std::cout << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " "
            << rss_anon_kb() << " " << records << "\n";
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  auto number = [&](int at) { return std::strtoull(argv[at], nullptr, 10); };
  if (how == "make" && (argc == 4 || argc == 5))
    make(argv[2], number(3), argc == 5 ? number(4) : 1'000);
  else if (how == "open" && argc == 3)
    measure(argv[2]);
  else
    stop("usage: ledger_million make DIR COUNT [SUITES] | ledger_million open DIR");
}
