#pragma once
// What others want of the log writer: queues that any thread fills and one thread empties.
//
// Nothing that asks for an answer is dropped: a closed inbox leaves it with whoever brought it, and
// what is still in it when it closes comes out of `leftovers`. Messages of peers are different:
// what does not fit is as good as lost on the way.

#include "src/consensus/membership.hpp"
#include "src/store/ledger_engine.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <variant>

namespace assay::store {

struct waiting_proposal {
  proposal what;
  ledger_engine::answered done;
};

struct hand_over_to {
  std::uint64_t id = 0; ///< 0: whoever is most level.
};

/// Another member's state is to take the place of ours.
struct mend_state {};

/// Of a person: what the group should become; of the scrub: what our state should.
struct order {
  std::variant<consensus::membership_change, hand_over_to, mend_state> what;
  ledger_engine::decided done;
};

/// What became of a page that the applier got.
struct page_fate {
  std::uint64_t fetch = 0; ///< Its number.
  bool is_stored = false;
  std::uint64_t adopted = 0; ///< The index of the state, with its last page.
};

class log_inbox {
public:
  struct contents {
    std::vector<consensus::message> messages;
    std::vector<state_page> pages;
    std::vector<page_fate> fates;
    std::vector<waiting_proposal> proposals;
    std::vector<ledger_engine::viewed> readers;
    std::vector<order> orders;
    bool is_clock_accepted = false;

    bool is_empty() const {
      return messages.empty() && pages.empty() && fates.empty() && proposals.empty()
             && readers.empty() && orders.empty() && !is_clock_accepted;
    }
  };

  // -- any thread. False: it is closed, and nothing was taken.
  bool put(waiting_proposal& one);
  bool put(ledger_engine::viewed& reader);
  bool put(order& one);
  void put(consensus::message what);
  void put(state_page what);
  void put(page_fate what);
  void accept_clock();
  void nudge();

  /// Waits until there is something to do, or until `until`. Proposals stay where they are until
  /// there are `least` of them, which only the taker, `nudge` or time may change; at most one batch
  /// of them at a time.
  contents
  take(std::chrono::steady_clock::time_point until, const std::function<std::size_t()>& least);

  /// `take` returns at once from now on.
  void close();
  bool is_closed() const;
  std::size_t waiting() const; ///< Proposals that nobody took yet.
  /// Everything that nobody took.
  contents leftovers();

private:
  template <class Queue, class T>
  bool put_into(Queue& queue, T& what);
  bool has_batch() const;
  void take_batch(contents& into);

  mutable std::mutex mutex_;
  std::condition_variable more_;
  contents waiting_; ///< All but the proposals, of which one batch goes at a time.
  std::size_t messages_bytes_ = 0;
  std::deque<waiting_proposal> proposals_;
  std::size_t least_ = SIZE_MAX; ///< As the taker saw it before it began to wait.
  bool is_nudged_ = false;
  bool is_closed_ = false;
};

} // namespace assay::store
