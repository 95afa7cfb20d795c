#pragma once
// Everything a request needs to be routed, as one immutable value.
//
// The INGRESS actor builds a snapshot whenever something changed and posts it to each HTTP thread,
// which owns its pointer; so the path of a request takes no lock and touches no shared pointer but
// the counters of the endpoint it is sent to. Things refer to each other by index; an index is only
// good within its snapshot, whose `names` turn it into text after the snapshot is gone.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/ids.hpp"
#include "src/base/result.hpp"
#include "src/contract/operation.hpp"
#include "src/pool/counters.hpp"
#include "src/pool/reach.hpp"
#include "src/pool/replica.hpp"
#include "src/routing/learn.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay::routing {

inline constexpr std::uint32_t none = 0xffff'ffff; ///< No such index.

/// The gates in their order, from "never here" to "not right now".
enum class gate : std::uint8_t {
  serves_task = 1,
  artifact_approved,
  within_limits,
  within_evidence,
  evaluation_current,
  data_allowed,
  economics_acceptable,
  has_capacity,
};
inline constexpr std::size_t gate_count = 8;
std::string_view name(gate g);

/// A set of gates or of traffic classes, by the enum's number.
struct bits {
  std::uint16_t value = 0;

  template <class Enum>
  constexpr bool has(Enum e) const {
    return (value >> static_cast<unsigned>(e)) & 1U;
  }
  template <class Enum>
  constexpr void add(Enum e) {
    value = static_cast<std::uint16_t>(value | (1U << static_cast<unsigned>(e)));
  }
  friend bool operator==(const bits&, const bits&) = default;
};

/// What an engine offers of which nothing else is known: OpenAI's oldest operations.
constexpr bits usual_operations() {
  bits all;
  all.add(contract::operation::chat_completions);
  all.add(contract::operation::completions);
  all.add(contract::operation::embeddings);
  return all;
}

/// The shapes that evidence covers. 0 means "not bounded by evidence here".
struct envelope {
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint32_t context_tokens = 0;
  bool streaming = true;  ///< Covers streamed requests.
  bool unary = true;      ///< Covers requests answered in one piece.
  bool any_shape = false; ///< A compatibility pool's: any shape up to the hard limits.
};

enum class evaluation_state : std::uint8_t { missing, current, expired, suspended, revoked };
std::string_view name(evaluation_state s);

/// A recorded exception: while it holds, the gates it covers pass and say whose waiver it was.
struct waiver {
  std::string id;
  bits gates;
  std::optional<wall_ms> expires;
};

struct cost_figures {
  std::uint64_t nano_per_unit = 0; ///< Currency x 1e-9 per accepted unit.
  std::string provenance;          ///< Where the figure comes from; empty: nowhere, not acceptable.
  std::optional<wall_ms> fresh_until;
};

/// One running copy, as one ingress sees it.
struct endpoint {
  std::uint32_t implementation = none;
  std::string address; ///< IP
  std::uint16_t port = 0;
  std::string secret; ///< For the relay; never printed.
  std::uint64_t generation = 0;
  host_id host;
  replica_id replica;
  digest fingerprint;
  pool::phase phase = pool::phase::absent;
  bool takes_traffic = false;               ///< The coordinator admits it (pool::replica_view).
  pool::reach reach = pool::reach::reached; ///< Whether this ingress may send there.
  std::uint32_t slots = 1;
  std::shared_ptr<pool::endpoint_counters> counters;
  rates learned;

  bool qualified = false; ///< Set by the builder: the fingerprint is in the implementation's set.

  pool::endpoint_key key() const;
};

/// It would serve, were this ingress on its host.
bool is_out_of_reach(const endpoint& e);

struct implementation {
  implementation_id id;
  pool_id pool;
  std::uint32_t model = none;
  std::string served_name; ///< What its replicas call the model; empty: the model's name.

  // Gate 1. Features that it offers; the model's contract lists what callers may use.
  contract::task task = contract::task::chat;
  bits operations = usual_operations(); ///< Its profile's `offers`.
  digest profile;                       ///< Of the profile's text that `operations` is from.
  bool streaming = true;
  std::optional<std::vector<std::string>> features; ///< None: whatever the contract allows.

  // Gate 2. `admits` comes from the derived status (production, canary, batch-only, ...).
  bool artifact_verified = false;
  std::string status;
  bits admits;                            ///< Traffic classes.
  std::optional<project_id> only_project; ///< An adopted server serves its adopter's project only.

  // Gate 3: set at the engine's launch.
  contract::request_limits limits;

  // Gates 4 and 5.
  std::optional<routing::envelope> envelope;
  evaluation_state evaluation = evaluation_state::missing;
  std::string why_not_current; ///< One sentence for people; empty when it is current.
  std::optional<wall_ms> evaluation_expires;
  std::vector<digest> qualified_fingerprints;

  // Gate 6. Empty: any.
  std::vector<std::string> pool_data_classes;

  // Gate 7.
  std::optional<cost_figures> cost;

  std::vector<waiver> waivers;
  bool compatibility = false; ///< Its pool is the home of unproven shapes.

  std::array<std::uint32_t, 4> waiting{}; ///< In its pool's queue, by traffic class.

  // Set by the builder. Its endpoints stand side by side.
  std::uint32_t first_endpoint = 0;
  std::uint32_t endpoints = 0;
  std::uint32_t serving = 0;           ///< Endpoints that take traffic from here,
  std::uint32_t serving_qualified = 0; ///< and of those, on a qualified stack.
  std::uint32_t out_of_reach = 0;      ///< Endpoints that take traffic from other ingresses only.
  std::uint16_t position = 0;          ///< In `model::implementations`.
  bool pool_holds_data = true;         ///< The pool may hold the model's data class.
};

/// What a choice reads of an endpoint, side by side so that many fit in the cache. Made by the
/// builder.
struct endpoint_brief {
  pool::endpoint_counters* counters = nullptr; ///< Owned by the endpoint.
  std::uint64_t generation = 0;
  std::uint32_t slots = 1;
  bool serves = false;    ///< Ready or saturated, admitted by the coordinator, and in reach.
  bool saturated = false; ///< Serves, and says itself that it is full.
  bool qualified = false;
  routing::pace pace;
};

enum class route_policy : std::uint8_t { fixed, latency, cost };
std::string_view name(route_policy p);

/// A share of a route, in basis points.
struct share {
  std::uint32_t implementation = none;
  std::uint32_t floor = 0;
  std::uint32_t ceiling = 10'000;
  bool hard = false; ///< Never past the ceiling, even when the others are out.
};

struct model_route {
  std::uint64_t generation = 0; ///< Grows with each change of the route.
  route_policy policy = route_policy::cost;
  bool sticky = true; ///< A caller's conversation stays on its side of a split.
  std::optional<std::chrono::milliseconds> objective; ///< Total time; `cost` picks among those.
  std::vector<share> shares;
};

struct model {
  model_id id;
  std::string name;
  std::uint32_t version = 1;
  contract::service_contract promises;
  std::optional<std::uint64_t> cost_ceiling_nano;   ///< From the policy; none: gate 7 passes.
  std::array<std::optional<model_route>, 4> routes; ///< By traffic class.

  // Set by the builder.
  std::vector<std::uint32_t> implementations;
  std::uint64_t salt = 0; ///< So that sticky callers are not on the same side for every model.

  /// Batch and shadow fall back to the interactive route.
  const model_route* route_for(contract::traffic_class c) const;
};

struct key {
  key_id id;
  std::uint32_t project = none;
  contract::traffic_class traffic = contract::traffic_class::interactive;
  std::vector<std::string> models; ///< Names without version; empty: all.
};

struct project {
  project_id id;
  std::vector<std::string> data_classes; ///< Empty: any.
};

/// Texts behind the indexes, shared by consecutive snapshots as long as they are the same.
struct name_table {
  std::vector<std::string> models;
  std::vector<std::string> implementations;
  std::vector<std::string> endpoints; ///< `REPLICA at IP:PORT`
  std::vector<std::string> projects;
  std::vector<std::string> keys;

  friend bool operator==(const name_table&, const name_table&) = default;
};

class routing_snapshot {
public:
  std::uint64_t generation() const { return generation_; }

  std::span<const routing::model> models() const { return models_; }
  std::span<const routing::implementation> implementations() const { return implementations_; }
  std::span<const endpoint> endpoints() const { return endpoints_; }
  std::span<const project> projects() const { return projects_; }
  std::span<const key> keys() const { return keys_; }

  /// Index of the model that `NAME` or `NAME@VERSION` means, or `none`.
  std::uint32_t find_model(std::string_view name) const;
  std::uint32_t find_implementation(std::string_view id) const;
  /// By the SHA-256 of the secret that the client sent; null when there is no such key.
  const key* find_key(const digest& secret_sha256) const;
  const endpoint* find_endpoint(const pool::endpoint_key& k) const;

  std::uint32_t index_of(const key& k) const {
    return static_cast<std::uint32_t>(&k - keys_.data());
  }
  std::span<const endpoint> endpoints_of(const routing::implementation& i) const {
    return std::span{endpoints_}.subspan(i.first_endpoint, i.endpoints);
  }

  std::span<const endpoint_brief> briefs_of(const routing::implementation& i) const {
    return std::span{briefs_}.subspan(i.first_endpoint, i.endpoints);
  }
  const endpoint_brief& brief_of(const endpoint& e) const {
    return briefs_[static_cast<std::size_t>(&e - endpoints_.data())];
  }

  const std::shared_ptr<const name_table>& names() const { return names_; }

private:
  friend class snapshot_builder;

  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using text_index = std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>>;
  struct digest_hash {
    std::size_t operator()(const digest& d) const noexcept;
  };

  std::uint64_t generation_ = 0;
  std::vector<routing::model> models_;
  std::vector<routing::implementation> implementations_;
  std::vector<endpoint> endpoints_;
  std::vector<endpoint_brief> briefs_; ///< One for each endpoint, in the same order.
  std::vector<project> projects_;
  std::vector<key> keys_;
  text_index model_index_;
  text_index implementation_index_;
  std::unordered_map<digest, std::uint32_t, digest_hash> key_index_;
  std::shared_ptr<const name_table> names_;
};

/// Collects values and ties them together. What does not fit (a share of an unknown
/// implementation, an endpoint of none) is left out and counted in `left_out`, because a snapshot
/// must always be had.
class snapshot_builder {
public:
  explicit snapshot_builder(std::uint64_t generation) : generation_{generation} {}

  std::uint32_t add(project p);
  /// `model.implementations` and the routes' shares are given by id, see `add_route`.
  std::uint32_t add(routing::model m);
  /// False: the model is unknown, or has `limits::implementations_per_model` already.
  bool add(routing::implementation i, const model_id& of);
  bool add(routing::endpoint e, const implementation_id& of);
  /// A key of a project that is not there is left out.
  bool add(const digest& secret_sha256, key k, const project_id& of);

  struct named_share {
    implementation_id implementation;
    std::uint32_t floor = 0;
    std::uint32_t ceiling = 10'000;
    bool hard = false;
  };
  /// `r.shares` is ignored; the model's name without a version means this model from now on, if
  /// `names_version`.
  bool add_route(
    const model_id& of,
    contract::traffic_class traffic,
    model_route r,
    const std::vector<named_share>& shares,
    bool names_version = true
  );

  std::size_t left_out() const { return left_out_; }

  /// `before` lends its name table when the names are the same. The builder is empty afterwards.
  std::shared_ptr<const routing_snapshot> build(const routing_snapshot* before = nullptr);

private:
  struct pending_endpoint {
    routing::endpoint endpoint;
    std::uint32_t implementation = none;
  };
  void place_endpoints(routing_snapshot& s);
  void index_models(routing_snapshot& s) const;
  void name_everything(routing_snapshot& s, const routing_snapshot* before) const;
  std::uint32_t model_at(const model_id& id) const;

  std::uint64_t generation_ = 0;
  std::size_t left_out_ = 0;
  routing_snapshot made_;
  std::vector<pending_endpoint> endpoints_;
  routing_snapshot::text_index model_by_id_;
  routing_snapshot::text_index named_by_route_;
};

} // namespace assay::routing
