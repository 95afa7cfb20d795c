#pragma once
// How src/wire/peer_encode*.cpp write. For them alone.

#include "schema/peers.capnp.h"
#include "src/wire/peer_messages.hpp"

#include <string>
#include <string_view>

namespace assay::wire {

inline capnp::Text::Reader text(const std::string& t) {
  return {t.c_str(), t.size()};
}

inline capnp::Data::Reader as_data(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

inline unsigned count(std::size_t size) {
  return static_cast<unsigned>(size);
}

using message_builder = schema::peers::PeerMessage::Builder;
void put(message_builder to, const peers::ingress_hello& m);
void put(message_builder to, const peers::ingress_report& m);
void put(message_builder to, const peers::ticket_ask& m);
void put(message_builder to, const peers::ticket_withdraw& m);
void put(message_builder to, const peers::pools_now& m);
void put(message_builder to, const peers::pool_state& m);
void put(message_builder to, const peers::lease& m);
void put(message_builder to, const peers::ticket_admit& m);
void put(message_builder to, const peers::ticket_refuse& m);
void put(message_builder to, const peers::admin_ask& m);
void put(message_builder to, const peers::admin_answer& m);
void put(message_builder to, const peers::clock_told& m);
void put(message_builder to, const peers::blob_offer& m);
void put(message_builder to, const peers::blob_want& m);
void put(message_builder to, const peers::blob_page& m);
void put(message_builder to, const peers::blob_kept& m);
void put(message_builder to, const peers::service_told& m);
void put(message_builder to, const peers::service_kept& m);
void put(message_builder to, const peers::sync_told& m);
void put(message_builder to, const peers::disk_told& m);

} // namespace assay::wire
