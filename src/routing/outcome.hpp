#pragma once
// What an HTTP thread reports of each request when it is over. Batches of these are all that the
// INGRESS actor, and through it coordinators and telemetry, learn of traffic.

#include "src/base/clock.hpp"
#include "src/base/ids.hpp"
#include "src/contract/contract.hpp"
#include "src/contract/errors.hpp"
#include "src/pool/replica.hpp"
#include "src/routing/learn.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::routing {

enum class ending : std::uint8_t {
  served,      ///< The whole answer reached the client.
  refused,     ///< By us, before any upstream was asked.
  failed,      ///< Upstream failed, or answered an error that is its own fault.
  client_gone, ///< The client left first; the upstream was cancelled.
  rejected,    ///< By the engine: the request is at fault, and the replica as good as before.
  overloaded,  ///< The engine said that it is full, and no other replica was to be had.
};
std::string_view name(ending e);

/// How a request ends whose whole answer has this status. 401 and 403 are failures: an engine sees
/// our secret, never the caller's key.
ending ending_of_status(int status);

struct usage_counts {
  std::uint32_t input_tokens = 0;
  std::uint32_t cached_tokens = 0;
  std::uint32_t output_tokens = 0;
  bool stated = false; ///< From the engine's `usage`; false: counted from events, or not at all.
};

/// What the replica itself took: neither the queue, nor the client's way of sending and reading,
/// nor attempts that came to nothing are in it.
struct replica_times {
  std::optional<std::chrono::microseconds> first; ///< From the whole request sent to first content.
  std::chrono::microseconds total{}; ///< To the end of the answer; 0: it has not ended.
  std::uint32_t contents = 0;        ///< Events of a stream that carried some.
  bool held_up = false; ///< The client read so slowly that the replica had to wait for it.
};

/// An attempt that came to nothing before another replica was asked.
struct failed_attempt {
  pool::endpoint_key endpoint;
  ending how = ending::failed;        ///< Or `overloaded`.
  std::chrono::seconds retry_after{}; ///< As the engine asked; 0: it did not.
};

struct outcome {
  decision_id decision; ///< Empty: refused before there was one (no key, bad framing).
  ending how = ending::served;
  int status = 200;
  std::optional<contract::failure> failure; ///< When the answer was ours.
  contract::traffic_class traffic = contract::traffic_class::interactive;
  contract::task task = contract::task::chat;
  bool stream = false;
  std::uint32_t sequences = 1; ///< Answers in one: prompts times choices.
  model_id model;
  implementation_id implementation; ///< Empty when none was chosen.
  pool_id pool;
  pool::endpoint_key endpoint;
  project_id project;
  key_id key;
  std::uint64_t route_generation = 0;
  std::uint32_t retries = 0;
  std::vector<failed_attempt> failed_attempts;
  std::chrono::seconds retry_after{}; ///< Of the engine that answered.
  std::uint32_t in_flight = 0; ///< On the endpoint when the request began there, itself included.
  wall_ms began;
  std::chrono::microseconds queued{};            ///< Waiting for a credit.
  std::optional<std::chrono::microseconds> ttft; ///< As the caller saw it, to the first content.
  std::chrono::microseconds total{};             ///< Likewise, to the end.
  replica_times replica;
  usage_counts usage;
  std::uint64_t bytes_in = 0;  ///< Of the request's body.
  std::uint64_t bytes_out = 0; ///< Of the answer's body.
};

/// What the outcome teaches about its endpoint; none when it was not served, or not whole.
std::optional<lesson> lesson_of(const outcome& o);

} // namespace assay::routing
