#include "node-agent/host/process.hpp"
#include "node-agent/program/agent.hpp"
#include "node-agent/program/known_coordinators.hpp"
#include "src/fabric/hub.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>

namespace assay::agent {

namespace {

/// A hub that knows one token and answers every holder of it alike.
class registry {
public:
  explicit registry(fabric::joined answer) {
    auto keys = fabric::new_key_pair();
    auto token = fabric::new_join_token("127.0.0.1:1", keys.shared);
    fabric::hub_options options;
    options.keys = keys;
    options.allow_list = {{token.keys.shared, {}, fabric::role::joiner}};
    fabric::hub_events events;
    events.peer_up = [](const host_id&, const fabric::hello&) {};
    events.message = [](const host_id&, fabric::agent_message) {};
    events.peer_down = [](const host_id&, fabric::down_reason) {};
    events.join = [this, answer](const fabric::join_request& request) {
      if (auto* hub = hub_.load())
        hub->answer(request.number, answer);
    };
    auto started = fabric::hub::start(std::move(options), std::move(events));
    REQUIRE(started);
    owner_ = std::move(*started);
    hub_ = owner_.get();
    token.coordinator = owner_->address();
    token_ = fabric::to_text(token);
    key_ = fabric::to_text(keys.shared);
  }

  const std::string& token() const { return token_; }
  const std::string& key() const { return key_; }

private:
  std::atomic<fabric::hub*> hub_ = nullptr;
  std::unique_ptr<fabric::hub> owner_;
  std::string token_;
  std::string key_;
};

} // namespace

TEST_CASE("a host that joined has its keys and the coordinators' key on disk") {
  registry r{{true, {"n7"}, {}}};
  test::temp_folder data;
  CHECK(join_host({r.token(), data.path(), {}, "n7"}) == 0);
  auto keys = data.path() / "agent/keys";
  CHECK(read_small_file(keys / "coordinator.pub") == r.key() + "\n");
  CHECK(fabric::read_key_pair(keys, "agent"));
}

TEST_CASE("a host that joined knows all coordinators before its agent ever ran") {
  fabric::joined answer{true, {"n7"}, {}};
  answer.coordinators = {{"10.0.0.1:7103", {}}, {"10.0.0.2:7103", {}}};
  registry r{answer};
  test::temp_folder data;
  REQUIRE(join_host({r.token(), data.path(), {}, "n7"}) == 0);
  auto token = fabric::parse_join_token(r.token());
  auto known = read_known_coordinators(
    known_coordinators_path(data.path()), {{token->coordinator, token->coordinator_key}}
  );
  CHECK(known.value_or({}) == answer.coordinators);
}

TEST_CASE("a host that was refused keeps no coordinators' key") {
  registry r{{false, {}, "the name is taken"}};
  test::temp_folder data;
  CHECK(join_host({r.token(), data.path(), {}, "n7"}) != 0);
  CHECK_FALSE(std::filesystem::exists(data.path() / "agent/keys/coordinator.pub"));
}

TEST_CASE("a token that was pasted badly is refused before anything is made") {
  test::temp_folder data;
  CHECK(join_host({"assay-join-nonsense", data.path() / "x", {}, "n7"}) == 1);
  CHECK_FALSE(std::filesystem::exists(data.path() / "x"));
}

} // namespace assay::agent
