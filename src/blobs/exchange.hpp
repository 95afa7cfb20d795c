#pragma once
// How a coordinator gets its blobs to a majority and those that it lacks to itself, as a value:
// events in, effects out. src/app/blob_keeper.hpp carries the effects out in their order.
//
// Promises: a share is settled without a problem only when a majority of those who vote said that
// the blob is on their disks; what is fetched is published by `finish_blob` alone, whose digest the
// disk verifies; everything that is asked for ends. Whatever comes late, twice or unasked changes
// nothing.

#include "src/blobs/download.hpp"
#include "src/blobs/quorum.hpp"

#include <map>
#include <vector>

namespace assay::blobs {

struct standing {
  node self = 0;
  nodes voters;             ///< Of consensus, now; with us if we vote.
  std::vector<node> others; ///< Coordinators without us, the likeliest to have a blob first.

  friend bool operator==(const standing&, const standing&) = default;
};

// -- effects --------------------------------------------------------------------------------------

struct say {
  node to = 0;
  message what;
};
/// Read that page of our own, or find it missing, and say so.
struct give_page {
  node to = 0;
  want what;
};
struct begin_blob {
  digest blob;
};
/// On an error of the disk: `not_stored`.
struct append_blob {
  digest blob;
  std::string bytes;
};
/// Verify and publish; report `stored`, `other_content` or `not_stored`.
struct finish_blob {
  digest blob;
  node from = 0; ///< Whose pages they are.
};
/// Throw away what was appended; nothing may have been.
struct abandon_blob {
  digest blob;
};
/// What was shared is on a majority, or why not.
struct share_settled {
  digest blob;
  std::optional<problem> why;
};
/// What was fetched or missed is here, or why not.
struct fetch_ended {
  digest blob;
  std::optional<problem> why;
};
using effect = std::variant<
  say,
  give_page,
  begin_blob,
  append_blob,
  finish_blob,
  abandon_blob,
  share_settled,
  fetch_ended>;
using effects = std::vector<effect>;

class exchange {
public:
  /// Who votes and who may be asked, before anything else and whenever it changed.
  effects know(standing now_is, steady_time now);

  // From this process:

  /// It is on our disk; get it to a majority. Ends with `share_settled`.
  effects share(const digest& blob, std::uint64_t size, steady_time now);
  /// Somebody waits for it. Ends with `fetch_ended`.
  effects fetch(const digest& blob, steady_time now);
  /// The ledger names it; fetched when nothing is more urgent. Dropped when too many wait already,
  /// otherwise as `fetch`.
  effects miss(const digest& blob, steady_time now);

  // From other coordinators:

  effects hear(node from, const offer& what, bool is_here, steady_time now);
  effects hear(node from, const want& what, steady_time now);
  effects hear(node from, const page& what, steady_time now);
  effects hear(node from, const kept& what, steady_time now);
  /// What is said to it does not arrive any more, or does again.
  effects lost(node which, steady_time now);
  effects reached(node which, steady_time now);

  // From the disk:

  effects stored(const digest& blob, steady_time now);
  effects other_content(const digest& blob, steady_time now);
  effects not_stored(const digest& blob, const problem& why, steady_time now);

  effects tick(steady_time now); ///< Every limits::blob_tick.

  bool is_idle() const { return shares_.empty() && downloads_.empty(); }

private:
  struct shared {
    std::uint64_t size = 0;
    nodes holders;
    std::map<node, std::uint64_t> progress; ///< The last page that it asked for.
    steady_time moved;
    steady_time offered;
  };

  void offer_to_all(effects& out, const digest& blob, shared& one, steady_time now);
  void settle(effects& out, const digest& blob);
  bool add(const digest& blob, bool is_urgent);
  void start_waiting(effects& out, steady_time now);
  void begin(effects& out, const digest& blob, steady_time now);
  void pass_over(
    effects& out, const digest& blob, const std::string& why, bool is_missing, steady_time now
  );
  void end(effects& out, const digest& blob, std::optional<problem> why, steady_time now);

  standing standing_;
  std::map<digest, shared> shares_;
  std::map<digest, download> downloads_;
  std::deque<digest> waiting_;         ///< To be downloaded, the most urgent first.
  std::map<digest, nodes> offered_by_; ///< Who is told when what waits or downloads is kept.
};

} // namespace assay::blobs
