// The ingress alone, with everything on, for the bench: one thread, 8 implementations on 4 pools,
// all gates with something to check, outcomes taken in batches.
//
//   relay_ingress PORT...      one replica's port per implementation; prints its own port, then
//   serves

#include "src/http/ingress_server.hpp"
#include "src/pool/counters.hpp"
#include "src/routing/snapshot.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace assay;

namespace {

constexpr std::string_view key = "sk-bench-0123456789abcdef";

routing::implementation implementation_at(int number) {
  routing::implementation i;
  auto pool = "pool-" + std::to_string(number % 4);
  i.id = {"bench-model/" + pool + "/weights-" + std::to_string(number)};
  i.pool = {pool};
  i.artifact_verified = true;
  i.status = "production";
  i.admits.add(contract::traffic_class::interactive);
  i.limits = {8'192, 8'000, 1'024, 1 << 20};
  i.envelope = routing::envelope{8'000, 1'024, 8'192, true, true, false};
  i.evaluation = routing::evaluation_state::current;
  i.evaluation_expires = wall_ms{wall_now().value + 86'400'000};
  i.qualified_fingerprints = {sha256("stack-" + pool)};
  i.pool_data_classes = {"public", "internal"};
  i.cost = routing::cost_figures{
    900u + static_cast<unsigned>(number), "bench", wall_ms{wall_now().value + 86'400'000}};
  return i;
}

std::shared_ptr<const routing::routing_snapshot>
make_snapshot(int argc, char** argv, pool::endpoint_registry& registry) {
  routing::snapshot_builder builder{1};
  builder.add(routing::project{{"bench"}, {"internal"}});
  routing::model m;
  m.id = {"bench-model"};
  m.name = "bench-model";
  m.promises.limits = {8'192, 8'000, 1'024, 1 << 20};
  m.cost_ceiling_nano = 1'000;
  builder.add(m);
  std::vector<routing::snapshot_builder::named_share> shares;
  for (int n = 0; n + 1 < argc; ++n) {
    auto i = implementation_at(n);
    builder.add(i, m.id);
    routing::endpoint e;
    e.address = "127.0.0.1";
    e.port = static_cast<std::uint16_t>(std::atoi(argv[n + 1]));
    e.secret = "replica-secret";
    e.generation = 1;
    e.fingerprint = i.qualified_fingerprints[0];
    e.phase = pool::phase::ready;
    e.takes_traffic = true;
    e.slots = 256;
    e.counters = registry.obtain({"127.0.0.1:" + std::string{argv[n + 1]}, 1});
    pool::grant g;
    g.credits = 256;
    g.until = std::chrono::steady_clock::now() + std::chrono::hours{24};
    e.counters->accept(g);
    builder.add(e, i.id);
    shares.push_back({i.id, 100, 5'000, false});
  }
  builder.add(
    sha256(key), {{"bench"}, 0, contract::traffic_class::interactive, {"bench-model"}}, {"bench"}
  );
  routing::model_route route;
  route.generation = 1;
  route.policy = routing::route_policy::latency;
  builder.add_route(m.id, contract::traffic_class::interactive, route, shares);
  if (builder.left_out() > 0)
    std::fprintf(stderr, "relay_ingress: %zu parts do not fit\n", builder.left_out());
  return builder.build();
}

} // namespace

int main(int argc, char** argv) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  pool::endpoint_registry registry;
  std::uint64_t outcomes = 0;
  http::ingress_hooks hooks;
  hooks.on_outcomes = [&](std::vector<routing::outcome> batch) { outcomes += batch.size(); };
  http::ingress_server server{{}, hooks};
  if (auto started = server.start(); !started) {
    std::fprintf(stderr, "relay_ingress: %s\n", to_text(started.error()).c_str());
    return 1;
  }
  server.post_snapshot(make_snapshot(argc, argv, registry));
  std::printf("%u\n", server.port());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  server.stop(std::chrono::milliseconds{0});
}
