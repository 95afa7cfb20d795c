#pragma once
// This assayd among the other members: their links, carried to and from the ledger's engine, and
// the group of consensus kept as the ledger names it.
//
// It decides nothing: src/app/allow_list.hpp says who may speak, src/app/group_plan.hpp what
// changes next, and what is not consensus goes to whoever asked for it.

#include "src/app/allow_list.hpp"
#include "src/app/clocks.hpp"
#include "src/app/disks.hpp"
#include "src/app/group_plan.hpp"
#include "src/base/group_clock.hpp"
#include "src/fabric/peer_links.hpp"
#include "src/store/ledger_engine.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace assay::app {

struct group_options {
  std::string listen; ///< `HOST:PORT`
  fabric::key_pair keys;
  peers::identity self;
  std::vector<peers::peer> first_peers; ///< Until the ledger names us and the others.
  /// What is said that is not consensus. Links' thread.
  std::function<void(std::uint64_t node, peers::message)> other;
  /// A lane to a member came up or went. Links' thread.
  std::function<void(std::uint64_t node, peers::lane, bool is_up)> reach;
  /// Is told how far ours is from the others'.
  std::shared_ptr<group_clock> clock = std::make_shared<group_clock>();
};

/// One member as it is seen from here.
struct member_seen {
  bool is_up = false;                ///< Consensus reaches it.
  bool is_closed_to_us = false;      ///< It is there and does not let us in.
  std::string why;                   ///< Why not, or what of it was refused last.
  std::string refused;               ///< Why we let it in no more; empty: we do.
  std::uint32_t schema_version = 0;  ///< As it said last; 0: it said nothing yet.
  std::int64_t clock_offset_ms = 0;  ///< Its clock less ours.
  steady_time clock_told;            ///< When it said so.
  std::chrono::milliseconds sync{0}; ///< How long its disk takes for one; 0: it wrote little.
  steady_time sync_told;             ///< When it said so.
  peers::disk_told disk;             ///< As it said last.
};

/// Whether consensus can count on it: what it sends is heard here. Pure.
inline bool is_of_use(const member_seen& one) {
  return one.is_up && one.refused.empty();
}

/// Which schema version each member's program knows, our own too. Pure.
std::map<std::uint64_t, std::uint32_t>
known_versions(const std::map<std::uint64_t, member_seen>& seen, const peers::identity& self);

/// Something that `one` sent was refused. Pure.
void note_refusal(member_seen& one, const problem& why, steady_time at);

/// The way to `one` came up, or went for this reason. Pure.
void note_reach(member_seen& one, bool is_up, const problem& why);

class group final : public store::peer_sender {
public:
  explicit group(group_options options) : options_{std::move(options)}, keys_{options_.keys} {}
  ~group() override = default;

  /// Listens and dials. `engine` was opened with this as its sender.
  result<void, problem> start(store::ledger_engine& engine);
  /// From its return on nothing reaches the engine; what that still sends goes out.
  void stop();

  /// The members that the ledger names now. From any thread, and now and then by the leadership's:
  /// who is named with a new key is known by the old one for `limits::key_change_grace` more.
  void learn(const ledger::tables& tables);

  /// Speaks with these from now on. Before `start`, or by the leadership's thread. When it cannot,
  /// it is deaf until it is said again.
  result<void, problem> change_keys(const fabric::key_pair& keys);

  /// Every now and then, by the leadership's thread: tells the others our clock, and hands over
  /// when ours is off.
  void compare_clocks(const store::engine_status& now);

  /// The same for disks: tells the others how fast ours is and what is wrong with it, and hands
  /// over when it is slow, or short of room, and another one's is not.
  void compare_disks(const store::engine_status& now, bool is_damaged);

  /// Tells the engine when too few voters have room for ordinary records. The leadership's thread.
  void watch_room(const ledger::tables& tables, const store::engine_status& now);

  /// On the leader, every now and then: takes the next step towards the members that the ledger
  /// names. The leadership's thread.
  void step(const ledger::tables& wanted, const store::engine_status& now);

  peers::send_outcome tell(std::uint64_t to, const peers::message& what);
  std::map<std::uint64_t, member_seen> seen() const;
  std::map<std::uint64_t, std::uint32_t> versions() const {
    return known_versions(seen(), options_.self);
  }
  bool is_reached(std::uint64_t node) const;
  /// It is reached, and does not say that its copy of the ledger is damaged.
  bool is_sound(std::uint64_t node) const;
  const std::string& address() const { return links_->address(); }

  // From the engine's threads.
  void send(consensus::message what) override;
  void send(store::state_request what) override;
  void send(store::state_page what) override;

private:
  void hear(std::uint64_t node, peers::message said);
  clock_offsets offsets() const;
  sync_times syncs_of_voters(const store::engine_status& now) const;
  void note(std::uint64_t node, peers::lane lane, bool is_up, const problem& why);
  void tell_disk(const store::engine_status& now, bool is_damaged, steady_time at);
  void hand_over(std::uint64_t to);

  const group_options options_;
  std::shared_mutex engine_mutex_;
  store::ledger_engine* engine_ = nullptr; ///< Null before the start and after the stop.
  std::unique_ptr<peers::peer_links> links_;
  std::atomic<peers::peer_links*> sending_ = nullptr; ///< `links_`, once they are there.

  mutable std::mutex mutex_;
  std::map<std::uint64_t, member_seen> seen_;
  std::vector<peers::peer> peers_;
  key_grace grace_;

  // Of the leadership's thread.
  steady_time next_step_;
  steady_time next_clock_;
  steady_time next_sync_;
  steady_time next_room_hand_over_;
  peers::disk_told told_disk_;
  slow_disk_watch disk_;
  std::uint64_t last_promoted_ = 0;
  fabric::key_pair keys_;
  bool is_deaf_ = false;
};

} // namespace assay::app
