#pragma once
// How the loader speaks on one connection: a member's frames, or etcd's own protocol. Both turn
// questions of clients into bytes to send, and bytes received into answers; neither touches a
// socket.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace assay::bench {

/// Which client was answered, and whether its text is durable.
using on_answer = std::function<void(std::uint32_t client, bool is_done)>;

class talk {
public:
  virtual ~talk() = default;

  /// Puts the question of `client` behind what waits to be sent. `text` may go once it returned.
  virtual void ask(std::uint32_t client, std::string_view text) = 0;
  virtual void hear(std::string_view bytes) = 0;
  /// What is to be sent now; the caller erases what was.
  virtual std::string& outgoing() = 0;
};

std::unique_ptr<talk> talk_to_member(on_answer told);

/// `etcdserverpb.KV/Put` by gRPC, on HTTP/2.
std::unique_ptr<talk> talk_to_etcd(on_answer told);

} // namespace assay::bench
