#pragma once
// Answers libzmq's question "may this key connect?" (ZeroMQ RFC 27). The answer names the key again
// as User-Id, so that every later frame of the connection says whose it is.

#include "src/fabric/sockets.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::fabric {

inline constexpr std::string_view zap_endpoint = "inproc://zeromq.zap.01";
inline constexpr std::string_view zap_domain = "assay-fabric";

struct zap_verdict {
  bool allowed = false;
  std::string user_id;
};

/// `frames` as asked: version, request id, domain, address, identity, mechanism, credentials.
/// Anything but CURVE, our domain and an allowed key is refused.
zap_verdict judge_zap(
  const std::vector<std::string>& frames, const std::function<bool(const public_key&)>& is_allowed
);

/// Answers one waiting question; nothing when none waits.
std::optional<zap_verdict>
answer_zap(socket& handler, const std::function<bool(const public_key&)>& is_allowed);

} // namespace assay::fabric
