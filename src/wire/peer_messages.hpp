#pragma once
// Everything coordinators say to each other, as values. `schema/peers.capnp` is the form they have
// on the wire, src/wire/peer_codec.hpp turns one into the other.

#include "src/base/uuid.hpp"
#include "src/blobs/messages.hpp"
#include "src/consensus/state_pages.hpp"
#include "src/consensus/values.hpp"
#include "src/wire/peer_service.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace assay::peers {

/// Changes only when an old peer could misunderstand a new one.
inline constexpr std::uint32_t protocol_version = 1;

/// Three connections each way between a pair of coordinators, so that pages delay neither
/// heartbeats nor leases, and a large pool delays no heartbeat.
enum class lane : std::uint8_t { consensus, bulk, service };
inline constexpr std::size_t lanes = 3;

std::string_view name(lane which);

struct hello {
  std::uint32_t protocol = protocol_version;
  std::uint64_t session = 0; ///< Grows with every connection of one lane; the newest wins.
  peers::lane lane = peers::lane::consensus;
  uuid cluster;
  std::uint64_t node = 0;
  std::string disk; ///< Made with the data directory: a copied key on another disk shows.
  std::uint32_t schema_version = 0; ///< Of the ledger.

  friend bool operator==(const hello&, const hello&) = default;
};

/// Answers a hello: from now on what is said on this connection is heard.
struct welcome {
  std::uint64_t session = 0;

  friend bool operator==(const welcome&, const welcome&) = default;
};

/// Whoever was dialled says it once a second, so that the dialler knows it lives.
struct beat {
  friend bool operator==(const beat&, const beat&) = default;
};

enum class closing_reason : std::uint8_t {
  shutting_down,
  superseded,    ///< A newer connection of the same coordinator.
  revoked,       ///< The key is no longer in the registry.
  protocol,      ///< Versions that do not understand each other, or no hello.
  other_cluster, ///< The hello names another cluster.
  other_node,    ///< The hello names another coordinator than the key belongs to.
  other_disk,    ///< The same key and id on another disk.
};

std::string_view name(closing_reason reason);

struct closing {
  closing_reason reason = closing_reason::shutting_down;
  std::string text; ///< For a person: what is wrong and what to do.

  friend bool operator==(const closing&, const closing&) = default;
};

using consensus::state_page;
using consensus::state_request;

using blob_offer = blobs::offer;
using blob_want = blobs::want;
using blob_page = blobs::page;
using blob_kept = blobs::kept;

/// In the order of the schema.
using message = std::variant<
  hello,
  welcome,
  beat,
  closing,
  consensus::message,
  state_request,
  state_page,
  ingress_hello,
  ingress_report,
  ticket_ask,
  ticket_withdraw,
  pools_now,
  pool_state,
  lease,
  ticket_admit,
  ticket_refuse,
  admin_ask,
  admin_answer,
  clock_told,
  blob_offer,
  blob_want,
  blob_page,
  blob_kept,
  service_told,
  service_kept,
  sync_told,
  disk_told>;

/// Which lane carries it.
lane lane_of(const message& what);

} // namespace assay::peers
