#pragma once
// What a logical model promises to the applications that call it, whichever hardware answers.
//
// A contract does not promise equal tokenisation, numbers, latency or cost across implementations.

#include "src/base/ids.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::contract {

enum class task : std::uint8_t { chat, completion, embedding, rerank, infer };

/// Comes from the caller's key, never from the request. `evaluation` is internal: it is pinned to
/// one implementation, skips gates 2, 4, 5 and 7 and never counts as service.
enum class traffic_class : std::uint8_t { interactive, batch, evaluation, shadow };

/// What an ingress does when its leases expire and no coordinator answers.
enum class degraded_rule : std::uint8_t {
  keep,   ///< Serve on with the last grant.
  shrink, ///< Serve on with half of the last grant.
  stop,   ///< Refuse until a coordinator answers.
};

/// Zero means "not limited here". Tokens are the engine's; bytes are of the request body.
struct request_limits {
  std::uint32_t context_tokens = 0; ///< Input and output together.
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint64_t body_bytes = 0;

  friend bool operator==(const request_limits&, const request_limits&) = default;
};

/// An objective is a share of requests under a limit, over a window.
struct objective {
  std::string metric; ///< `ttft`, `inter_token`, `total` or `availability`.
  std::chrono::milliseconds limit{};
  std::uint32_t share_ppm = 0; ///< Parts per million of requests that must be under the limit.
  std::chrono::seconds window{};

  friend bool operator==(const objective&, const objective&) = default;
};

struct service_contract {
  contract::task task = contract::task::chat;
  bool streaming = true;
  bool cancellation = true;
  std::vector<std::string>
    features; ///< `tools`, `json_schema`, `logprobs`, ... that callers may use; empty: all.
  request_limits limits;
  std::string data_class =
    "internal"; ///< What the prompts may contain; pools list what they may hold.
  std::vector<objective> objectives;
  degraded_rule degraded = degraded_rule::keep;
  bool queue_keepalive = false;
  bool expose_metadata = true; ///< `x-assay-*` response headers.
  std::string safety_policy;
  std::vector<std::string> safety_requires;

  friend bool operator==(const service_contract&, const service_contract&) = default;
};

std::string_view name(task t);
std::string_view name(traffic_class c);
std::string_view name(degraded_rule r);
std::optional<task> parse_task(std::string_view text);
std::optional<traffic_class> parse_traffic_class(std::string_view text);
std::optional<degraded_rule> parse_degraded_rule(std::string_view text);

} // namespace assay::contract
