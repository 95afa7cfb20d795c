// Whether what is kept of a disk is enough for the records that it is kept for.

#include "src/store/ledger_machine.hpp"
#include "src/store/signing_seed.hpp"
#include "src/wire/record_codec.hpp"
#include "tests/unit/store/notes.hpp"

#include <array>
#include <atomic>

namespace assay::store {

using namespace test;

namespace {

const ledger::author operator_{"root", ledger::authentication::socket};

/// A disk that ends, from a word on, where the files end that are there.
class bounded_disk {
public:
  bool has_room(commit_point where, std::uint64_t end) {
    auto& granted = granted_.at(static_cast<std::size_t>(where));
    if (is_full_ && end > granted)
      return false;
    granted = std::max(granted.load(), end);
    return true;
  }
  void fill() { is_full_ = true; }

private:
  std::array<std::atomic<std::uint64_t>, 2> granted_{};
  std::atomic<bool> is_full_ = false;
};

template <class Payload>
std::future<answer> put(ledger_engine& engine, Payload what) {
  return ask(engine, wire::encode_proposal(ledger::make_record(std::move(what), operator_)));
}

std::string host(int number) {
  return "host" + std::to_string(number);
}

ledger::identity_added identity(int number) {
  auto key = std::to_string(number);
  return {
    host(number), ledger::identity_role::host, std::string(40 - key.size(), 'k') + key, {}, {}};
}

/// So many at a time, as busy clients do; the first that was refused, or nothing.
template <class Make>
std::optional<problem> put_all(ledger_engine& engine, int from, int to, const Make& make) {
  constexpr int at_once = 32;
  std::optional<problem> refused;
  for (int i = from; i < to && !refused; i += at_once) {
    std::vector<std::future<answer>> some;
    for (int n = i; n < std::min(to, i + at_once); ++n)
      some.push_back(put(engine, make(n)));
    for (auto& one : some)
      if (auto got = one.get(); !got && !refused)
        refused = got.error();
  }
  return refused;
}

} // namespace

TEST_CASE("a thousand revocations fit into what is kept of a disk") {
  scratch place;
  auto directory = open_directory(place.path());
  const auto seed = load_or_make_signing_seed(directory.keys() / "ledger.key").value();
  bounded_disk disk;
  engine_options options;
  options.map_bytes = 256 << 20;
  options.room = [&](commit_point where, std::uint64_t end) { return disk.has_room(where, end); };
  REQUIRE(ledger_engine::bootstrap(directory, options));
  auto opened =
    ledger_engine::open(directory, std::make_unique<ledger_machine>(seed, "local"), options);
  REQUIRE(opened);
  auto& engine = **opened;
  REQUIRE(put(engine, ledger::cluster_created{new_uuid7(), "lab"}).get());
  ledger::member self{
    1, "local", "local", ledger::to_text(ledger::signing_key{seed}.public_part())};
  REQUIRE(put(engine, ledger::membership{{self}}).get());

  constexpr int enough = 1'000;
  REQUIRE_FALSE(put_all(engine, 0, enough, identity));
  disk.fill();
  auto refused = put_all(engine, enough, 20 * enough, identity);
  REQUIRE(refused);
  INFO(to_text(*refused));
  CHECK(refused->what.find("full but for its reserve") != std::string::npos);

  auto late = put_all(engine, 0, enough, [](int n) {
    return ledger::identity_revoked{host(n), "its disk was stolen"};
  });
  INFO((late ? to_text(*late) : std::string{}));
  CHECK_FALSE(late);
  CHECK(barrier(engine)); // In the state, too.
  CHECK_FALSE(put(engine, identity(0)).get());
  const auto& identities = tables_of(engine.current())->identities;
  CHECK(ledger::find(identities, host(enough - 1))->revoked);
}

} // namespace assay::store
