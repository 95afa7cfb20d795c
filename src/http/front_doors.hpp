#pragma once
// Which paths the ingress answers, and the documents it answers by itself. Pure.

#include "src/contract/operation.hpp"
#include "src/http/reply.hpp"
#include "src/routing/snapshot.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace assay::http {

enum class door : std::uint8_t { inference, models, model };

struct door_choice {
  http::door door = door::inference;
  contract::operation operation = contract::operation::chat_completions; ///< For `inference`.
  std::string name; ///< Of the model, for `model`; percent-decoded.
};

/// The door, or the refusal (404, 405 with the methods allowed, 426 for a WebSocket).
result<door_choice, refusal>
choose_door(std::string_view method, std::string_view path, bool wants_upgrade);

/// The models this key may call and that have a route: `{"object":"list","data":[...]}`.
std::string list_models(const routing::routing_snapshot& s, const routing::key& k);

/// One model with its contract; none when the key may not see it or there is none.
std::optional<std::string>
show_model(const routing::routing_snapshot& s, const routing::key& k, std::string_view name);

} // namespace assay::http
