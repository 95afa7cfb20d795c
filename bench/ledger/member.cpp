// One of three members of a ledger for the bench: the product's engine, its state machine and its
// links, joined as the coordinators of a cluster are, with a desk for clients.
//
//   ledger_member ROOT ID        ID is 1, 2 or 3; 1 founds the ledger and lets the others join
//
// Members find each other by files in ROOT. Member 1 writes ROOT/ready when all three vote and have
// what it has. SIGTERM ends a member in order.

#include "bench/ledger/desk.hpp"
#include "src/fabric/peer_links.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/wire/record_codec.hpp"

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iostream>

using namespace assay;

namespace {

constexpr std::uint64_t members = 3;
const auto cluster = parse_uuid("01890a5d-ac96-774b-bcce-b302099a8057").value();
const ledger::author founder{"bench", ledger::authentication::process};

[[noreturn]] void stop(const std::string& why) {
  std::cerr << "ledger_member: " << why << "\n";
  std::exit(1);
}

template <class T>
T must(result<T, problem> got) {
  if (!got)
    stop(to_text(got.error()));
  if constexpr (!std::is_void_v<T>)
    return *std::move(got);
}

template <class Condition>
void wait_until(const std::string& what, Condition is_so) {
  for (int i = 0; i < 6'000; ++i) {
    if (is_so())
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  stop("waited a minute for " + what);
}

/// Files by which members find each other. A file that is there is whole.
class meeting_place {
public:
  explicit meeting_place(std::filesystem::path root) : root_{std::move(root)} {}

  void put(std::uint64_t id, const std::string& what, const std::string& text) const {
    const auto path = file(id, what);
    std::ofstream{path.string() + ".new"} << text << "\n";
    std::filesystem::rename(path.string() + ".new", path);
  }
  std::string get(std::uint64_t id, const std::string& what) const {
    const auto path = file(id, what);
    wait_until(path.string(), [&] { return std::filesystem::exists(path); });
    std::string line;
    std::ifstream in{path};
    std::getline(in, line);
    return line;
  }
  std::filesystem::path data(std::uint64_t id) const { return root_ / std::to_string(id); }

private:
  std::filesystem::path file(std::uint64_t id, const std::string& what) const {
    return root_ / (what + "." + std::to_string(id));
  }

  std::filesystem::path root_;
};

/// Between the engine and its links; whichever comes first waits for the other.
class wiring : public store::peer_sender {
public:
  wiring(std::uint64_t id, const fabric::key_pair& keys) {
    peers::link_options how;
    how.keys = keys;
    how.self = {cluster, id, "disk-" + std::to_string(id), ledger::schema_version};
    peers::link_events events;
    events.message = [this](std::uint64_t, peers::message said) { hear(std::move(said)); };
    links_ = must(peers::peer_links::start(std::move(how), std::move(events)));
  }

  void send(consensus::message what) override { links_->send(what.to, what); }
  void send(store::state_request what) override { links_->send(what.to, what); }
  void send(store::state_page what) override { links_->send(what.to, what); }

  peers::peer_links& links() { return *links_; }
  /// Nothing: what arrives is dropped, and nothing is being delivered when this returns.
  void connect(store::ledger_engine* to) {
    std::lock_guard hold{mutex_};
    engine_ = to;
  }

private:
  void hear(peers::message said) {
    std::lock_guard hold{mutex_};
    if (engine_ == nullptr)
      return;
    if (auto* word = std::get_if<consensus::message>(&said))
      engine_->receive(std::move(*word));
    else if (auto* request = std::get_if<peers::state_request>(&said))
      engine_->receive(std::move(*request));
    else if (auto* page = std::get_if<peers::state_page>(&said))
      engine_->receive(std::move(*page));
  }

  std::mutex mutex_;
  store::ledger_engine* engine_ = nullptr;
  std::unique_ptr<peers::peer_links> links_; // Ends first: its thread delivers here.
};

ledger::signing_key::seed seed_of(std::uint64_t id) {
  ledger::signing_key::seed out{};
  out.fill(static_cast<std::uint8_t>(id));
  return out;
}

void put_on_record(store::ledger_engine& engine, const ledger::record& what) {
  std::promise<store::answer> said;
  engine.propose({wire::encode_proposal(what)}, [&](store::answer a) {
    said.set_value(std::move(a));
  });
  must(said.get_future().get());
}

void found(store::ledger_engine& engine, const meeting_place& place) {
  put_on_record(engine, ledger::make_record(ledger::cluster_created{cluster, "bench"}, founder));
  ledger::membership all;
  for (std::uint64_t id = 1; id <= members; ++id) {
    const auto key = ledger::to_text(ledger::signing_key{seed_of(id)}.public_part());
    all.members.push_back({id, std::to_string(id), place.get(id, "address"), key, true});
  }
  put_on_record(engine, ledger::make_record(all, founder));
}

void change(store::ledger_engine& engine, const consensus::membership_change& how) {
  std::promise<result<void, problem>> said;
  engine.change(how, [&](result<void, problem> r) { said.set_value(std::move(r)); });
  must(said.get_future().get());
}

void let_join(store::ledger_engine& engine, const meeting_place& place, std::uint64_t id) {
  (void)place.get(id, "clients"); // Its engine runs.
  change(engine, consensus::add_spare{{id, place.get(id, "address")}});
  wait_until("a spare", [&] {
    const auto now = engine.status();
    return now.members.size() == id && now.is_membership_settled;
  });
  change(engine, consensus::promote{id});
  wait_until("a voter", [&] {
    const auto now = engine.status();
    return consensus::voters_of(now.members) == id && now.is_membership_settled;
  });
}

std::vector<peers::peer> others(const meeting_place& place, std::uint64_t self) {
  std::vector<peers::peer> out;
  for (std::uint64_t id = 1; id <= members; ++id) {
    if (id == self)
      continue;
    auto key = fabric::parse_public_key(place.get(id, "key"));
    if (!key)
      stop("a member's key cannot be read");
    out.push_back({id, place.get(id, "address"), *key, {}});
  }
  return out;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3)
    stop("usage: ledger_member ROOT ID");
  const meeting_place place{argv[1]};
  const auto id = std::strtoull(argv[2], nullptr, 10);
  if (id < 1 || id > members)
    stop("ID is 1, 2 or 3");
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr); // Before any thread, so that none has it.

  const auto keys = fabric::new_key_pair();
  wiring peers{id, keys};
  place.put(id, "key", fabric::to_text(keys.shared));
  place.put(id, "address", peers.links().address());

  auto directory = must(store::data_directory::open(place.data(id)));
  store::engine_options options;
  options.server_id = id;
  options.address = peers.links().address();
  options.peers = &peers;
  must(
    id == 1 ? store::ledger_engine::bootstrap(directory, options)
            : store::ledger_engine::prepare_to_join(directory, options)
  );
  auto machine = std::make_unique<store::ledger_machine>(seed_of(id), std::to_string(id));
  auto engine = must(store::ledger_engine::open(directory, std::move(machine), options));
  peers.connect(engine.get());
  for (const auto& wrong : peers.links().set_peers(others(place, id)))
    stop(to_text(wrong));

  bench::desk desk{*engine};
  place.put(id, "clients", std::to_string(desk.port()));
  if (id == 1) {
    found(*engine, place);
    for (std::uint64_t other = 2; other <= members; ++other)
      let_join(*engine, place, other);
    place.put(1, "ready", "yes");
  }
  int signal = 0;
  ::sigwait(&ends, &signal);
  desk.stop();
  peers.connect(nullptr);
  engine.reset();
}
