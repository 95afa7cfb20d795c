// How long route() takes: 8 and 64 implementations, all gates on, choice and reservation included.
//
//   bench_route [ROUNDS]     prints one line per case, then the aims
//
// Each implementation has two endpoints. Time is the thread's own CPU time per call, in many short
// rounds: the best round is what the code costs and is held to the aim; the median says how much
// neighbours on the machine disturb it. Instructions are counted where the kernel allows it.

#include "src/routing/route.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace {

std::atomic<std::uint64_t> allocations{0};

} // namespace

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (auto* p = std::malloc(bytes))
    return p;
  std::abort();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  auto size = static_cast<std::size_t>(alignment);
  if (auto* p = std::aligned_alloc(size, (bytes + size - 1) / size * size))
    return p;
  std::abort();
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace {

using namespace assay;
using namespace std::chrono_literals;

constexpr auto now = steady_time{} + 1h;
constexpr auto today = wall_ms{1'700'000'000'000};

routing::rates learned(double seconds) {
  routing::rates r;
  routing::learn(
    r,
    {.input_tokens = 500,
     .output_tokens = 101,
     .ttft = 50ms,
     .total = std::chrono::microseconds{static_cast<std::int64_t>(seconds * 1e6)}},
    now
  );
  return r;
}

/// `implementations` on four pools, two endpoints each, every gate with something to check.
std::shared_ptr<const routing::routing_snapshot>
site(std::size_t implementations, pool::endpoint_registry& registry) {
  routing::snapshot_builder b{1};
  b.add(routing::project{{"acme"}, {"internal"}});
  routing::model m{.id = {"reasoning-model-v3"}, .name = "reasoning-model-v3"};
  m.promises.limits = {.context_tokens = 32'768, .body_bytes = 1 << 20};
  m.cost_ceiling_nano = 1'000'000;
  b.add(m);
  auto stack = sha256(std::string_view{"stack"});
  std::vector<routing::snapshot_builder::named_share> shares;
  for (std::size_t n = 0; n < implementations; ++n) {
    routing::implementation i{.id = {"reasoning-model-v3/pool/" + std::to_string(n)}};
    i.pool = {"pool-" + std::to_string(n % 4)};
    i.artifact_verified = true;
    i.admits.add(contract::traffic_class::interactive);
    i.limits = {.context_tokens = 8'192, .output_tokens = 4'096};
    i.envelope = routing::envelope{.input_tokens = 8'192, .output_tokens = 4'096};
    i.evaluation = routing::evaluation_state::current;
    i.evaluation_expires = wall_ms{today.value + 86'400'000};
    i.qualified_fingerprints = {stack};
    i.pool_data_classes = {"public", "internal"};
    i.cost = routing::cost_figures{100 + n % 7, "measured", wall_ms{today.value + 1'000}};
    b.add(i, m.id);
    shares.push_back({i.id, 0, 10'000, false});
    for (std::uint64_t k = 0; k < 2; ++k) {
      routing::endpoint e{
        .address = "10.0.0." + std::to_string(n + 1),
        .port = static_cast<std::uint16_t>(7200 + k),
        .generation = n * 2 + k + 1,
        .host = {"host-" + std::to_string(n)},
        .replica = {i.id.value + "/" + std::to_string(k)},
        .fingerprint = stack,
        .phase = pool::phase::ready,
        .takes_traffic = true,
        .slots = 64,
        .learned = learned(1.0 + 0.01 * static_cast<double>(n)),
      };
      e.counters = registry.obtain(e.key());
      e.counters->accept({.credits = 64, .until = now + 10s});
      b.add(e, i.id);
    }
  }
  routing::model_route r{.generation = 1, .policy = routing::route_policy::cost};
  r.objective = 5s;
  b.add_route(m.id, contract::traffic_class::interactive, r, shares);
  b.add(sha256(std::string_view{"secret"}), {.id = {"key"}}, {"acme"});
  return b.build();
}

/// Instructions of this thread in user space, where the kernel lets us count them.
class instruction_counter {
public:
  instruction_counter() {
    perf_event_attr what{};
    what.type = PERF_TYPE_HARDWARE;
    what.size = sizeof what;
    what.config = PERF_COUNT_HW_INSTRUCTIONS;
    what.exclude_kernel = 1;
    what.exclude_hv = 1;
    fd_ = static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  }
  ~instruction_counter() {
    if (fd_ >= 0)
      close(fd_);
  }
  std::optional<std::uint64_t> read() const {
    std::uint64_t count = 0;
    if (fd_ < 0 || ::read(fd_, &count, sizeof count) != sizeof count)
      return {};
    return count;
  }

private:
  int fd_ = -1;
};

double cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// The best round, in ns a call.
double measure(std::size_t implementations, int rounds) {
  constexpr auto calls = 500;
  pool::endpoint_registry registry;
  auto snapshot = site(implementations, registry);
  const auto* key = snapshot->find_key(sha256(std::string_view{"secret"}));
  contract::shape shape{.input = {300, 420}, .output_tokens = 128, .stream = true, .affinity = 7};
  routing::query q{
    .model = "reasoning-model-v3",
    .caller = routing::caller_of(*snapshot, *key),
    .shape = shape,
    .now = now,
    .wall = today,
  };
  instruction_counter instructions;
  std::vector<double> ns;
  std::uint64_t chosen = 0;
  std::uint64_t chance = 1;
  auto allocated = allocations.load();
  auto before = instructions.read();
  ns.reserve(static_cast<std::size_t>(rounds));
  for (auto round = 0; round < rounds; ++round) {
    auto began = cpu_ns();
    for (auto n = 0; n < calls; ++n) {
      q.chance = chance *= 6'364'136'223'846'793'005ULL;
      auto d = routing::route(*snapshot, q);
      chosen += d.outcome == routing::outcome_kind::chosen;
    }
    ns.push_back((cpu_ns() - began) / calls);
  }
  auto after = instructions.read();
  allocated = allocations.load() - allocated - 1; // The vector of results.
  std::sort(ns.begin(), ns.end());
  auto median = ns[ns.size() / 2];
  auto per_call = [&](std::uint64_t total) {
    return static_cast<double>(total) / (rounds * calls);
  };
  std::printf(
    "route %2zu implementations: best %.0f ns, median %.0f ns; %.2f allocations a call, "
    "%.0f %% chosen",
    implementations,
    ns.front(),
    median,
    per_call(allocated),
    100 * per_call(chosen)
  );
  if (before && after)
    std::printf(", %.0f instructions\n", per_call(*after - *before));
  else
    std::printf(", instructions not counted (the kernel does not allow it)\n");
  return ns.front();
}

void aim(const char* name, double ns, double bound) {
  std::printf("aim %s %.0f ns <= %.0f %s\n", name, ns, bound, ns <= bound ? "met" : "short");
}

} // namespace

int main(int argc, char** argv) {
  auto rounds = std::max(1, argc > 1 ? std::atoi(argv[1]) : 401);
  auto small = measure(8, rounds);
  auto large = measure(64, rounds);
  aim("route-8", small, 1'000);
  aim("route-64", large, 3'000);
}
