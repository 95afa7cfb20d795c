#pragma once
// An ingress in front of mock replicas, with what it reports kept for the test.

#include "src/http/ingress_server.hpp"
#include "tests/support/mock_upstream.hpp"
#include "tests/support/raw_client.hpp"
#include "tests/support/serving_world.hpp"

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace assay::tests {

using namespace std::chrono_literals;

/// Collects outcomes from the HTTP threads.
class outcome_log {
public:
  void add(std::vector<routing::outcome> more) {
    std::lock_guard hold{mutex_};
    for (auto& o : more)
      all_.push_back(std::move(o));
    changed_.notify_all();
  }
  std::vector<routing::outcome> wait_for(std::size_t count) {
    std::unique_lock hold{mutex_};
    changed_.wait_for(hold, 10s, [&] { return all_.size() >= count; });
    REQUIRE(all_.size() >= count);
    return all_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<routing::outcome> all_;
};

/// One ingress; `tune` and the hooks are set before `start`.
class ingress_fixture {
public:
  explicit ingress_fixture(std::vector<served_endpoint> endpoints) : world{std::move(endpoints)} {
    hooks.on_outcomes = [this](auto batch) { outcomes.add(std::move(batch)); };
  }

  void start() {
    server = std::make_unique<http::ingress_server>(options, hooks);
    REQUIRE(server->start().has_value());
    server->post_snapshot(world.snapshot());
  }
  std::uint16_t port() const { return server->port(); }

  /// Every credit is given back: nothing leaks, however the requests ended.
  bool all_released() {
    for (int i = 0; i < 1'000; ++i) {
      if (world.counters(0)->in_flight() == 0)
        return true;
      std::this_thread::yield();
      server->stats();
      outcomes.wait_for(0);
      ::usleep(1'000);
    }
    return false;
  }

  outcome_log outcomes;
  serving_world world;
  http::ingress_options options;
  http::ingress_hooks hooks;
  std::unique_ptr<http::ingress_server> server;
};

inline std::string chat_body(bool stream = false, std::string_view model = "small") {
  return R"({"model":")" + std::string{model} + R"(","messages":[{"role":"user","content":"hi"}])"
         + (stream ? R"(,"stream":true})" : "}");
}

inline std::string
chat_request(std::string_view body, std::string_view fields = {}, std::string_view key = test_key) {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: assay:7100\r\nAuthorization: Bearer "
         + std::string{key} + "\r\nContent-Type: application/json\r\n" + std::string{fields}
         + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string{body};
}

inline constexpr std::string_view paris =
  R"({"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Paris"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}})";

inline mock_upstream::script answers(std::string text) {
  return [text = std::move(text)](mock_peer& peer, const mock_request&) { peer.send(text); };
}

} // namespace assay::tests
