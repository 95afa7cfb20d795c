#include "tests/support/serving_world.hpp"

#include "src/base/check.hpp"

namespace assay::tests {

namespace {

constexpr auto every_class = [] {
  routing::bits all;
  all.add(contract::traffic_class::interactive);
  all.add(contract::traffic_class::batch);
  all.add(contract::traffic_class::shadow);
  return all;
}();

implementation_id implementation_at(std::size_t number) {
  return {"small/pool-" + std::to_string(number) + "/weights"};
}

} // namespace

pool::endpoint_key serving_world::key_of(std::size_t endpoint) const {
  return {"127.0.0.1:" + std::to_string(endpoints_[endpoint].port), endpoint + 1};
}

std::shared_ptr<pool::endpoint_counters> serving_world::counters(std::size_t endpoint) {
  return registry_.obtain(key_of(endpoint));
}

void serving_world::grant(std::size_t endpoint, std::uint32_t credits) {
  pool::grant g;
  g.credits = credits;
  g.until = std::chrono::steady_clock::now() + std::chrono::hours{1};
  counters(endpoint)->accept(g);
}

std::shared_ptr<const routing::routing_snapshot> serving_world::snapshot() {
  routing::snapshot_builder builder{++generation_};
  builder.add(routing::project{{"tests"}, {}});
  model_id model_name{"small"};
  routing::model model;
  model.id = model_name;
  model.name = "small";
  model.promises = promises;
  builder.add(model);
  std::vector<routing::snapshot_builder::named_share> shares;
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    routing::implementation implementation;
    implementation.id = implementation_at(i);
    implementation.pool = {"pool-" + std::to_string(i)};
    implementation.served_name = endpoints_[i].served_name;
    implementation.task = promises.task;
    implementation.operations = operations;
    implementation.artifact_verified = true;
    implementation.status = "production";
    implementation.admits = every_class;
    implementation.envelope = routing::envelope{};
    implementation.evaluation = routing::evaluation_state::current;
    implementation.qualified_fingerprints = {digest{}};
    check(builder.add(implementation, model_name), "the test's implementation has a model");
    routing::endpoint endpoint;
    endpoint.address = "127.0.0.1";
    endpoint.port = endpoints_[i].port;
    endpoint.secret = endpoints_[i].secret;
    endpoint.generation = i + 1;
    endpoint.replica = {implementation.id.value + "/0@host"};
    endpoint.phase = pool::phase::ready;
    endpoint.takes_traffic = true;
    endpoint.counters = counters(i);
    if (endpoint.counters->granted().until == steady_time{})
      grant(i, endpoints_[i].credits);
    check(builder.add(endpoint, implementation.id), "the test's endpoint has an implementation");
    shares.push_back({implementation.id});
  }
  builder.add(
    sha256(test_key), {{"tester"}, 0, contract::traffic_class::interactive, {}}, {"tests"}
  );
  builder.add(
    sha256(evaluation_key), {{"evaluator"}, 0, contract::traffic_class::evaluation, {}}, {"tests"}
  );
  routing::model_route route;
  route.generation = 7;
  route.policy = routing::route_policy::latency;
  builder.add_route(model_name, contract::traffic_class::interactive, route, shares);
  check(builder.left_out() == 0, "the test's snapshot is whole");
  return builder.build();
}

} // namespace assay::tests
