#pragma once
// Blobs among coordinators: what this assayd keeps goes to a majority before a record may name it,
// and what it lacks comes from the others. One thread carries events to src/blobs/exchange.hpp
// and its effects to the disk and the links.
//
// It decides nothing. Alone, or in a group of one, keeping is writing it to the disk.

#include "src/app/blob_scrub.hpp"
#include "src/blobs/exchange.hpp"
#include "src/fabric/peer_links.hpp"
#include "src/ledger/tables.hpp"
#include "src/store/blob_store.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>

namespace assay::app {

struct blob_keeper_options {
  store::blob_store* blobs = nullptr;
  /// Who votes and who may be asked, each time it is called. The keeper's thread.
  std::function<blobs::standing()> standing;
  std::function<peers::send_outcome(std::uint64_t to, const peers::message&)> tell;
  bool fetches_all = false; ///< Whatever the ledger names, and not only what is read here.
  bool reads_again = false; ///< Whatever of that is here, again and again.
};

class blob_keeper {
public:
  /// Called once, from the keeper's thread: must not block.
  using done = std::function<void(const std::optional<problem>&)>;

  explicit blob_keeper(blob_keeper_options options);
  ~blob_keeper() { stop(); }
  blob_keeper(const blob_keeper&) = delete;
  blob_keeper& operator=(const blob_keeper&) = delete;

  /// From its return on nothing is carried to or fro; who waits is told so.
  void stop();

  // From any thread:

  /// It is on our disk; `done` once it is on a majority's, or why it cannot be.
  void share(const digest& blob, std::uint64_t size, done);
  /// `done` once a verified copy is on our disk, whatever was there before.
  void fetch(const digest& blob, done);
  /// What the ledger names now.
  void learn(std::shared_ptr<const ledger::tables> tables);

  /// On a majority when it returns. Waits.
  result<digest, problem> keep(std::string_view bytes);
  /// From our disk, or else from another coordinator. Waits.
  result<std::string, problem> get(const digest& blob, std::uint64_t bytes_max);
  /// From our disk as it is; a problem that another copy may cure has `is_worth_a_fetch`.
  struct unread {
    problem why;
    bool is_worth_a_fetch = false;
  };
  result<std::string, unread> read_here(const digest& blob, std::uint64_t bytes_max) const;

  // From the links' thread. What does not fit into the inbox is dropped, and said again.

  void hear(std::uint64_t node, blobs::message what);
  /// What is said about a blob, taken out of it; nothing when it is about something else.
  static std::optional<blobs::message> word_in(peers::message& said);
  void reached(std::uint64_t node);
  void lost(std::uint64_t node);

  /// Blobs that the ledger names and that are not here. Not 0 before it was looked for the first
  /// time, so that 0 says something.
  std::uint64_t missing() const;
  /// Those whose copy here was read again and is damaged or gone, with the reason, until there is a
  /// sound one. Any thread.
  std::map<digest, std::string> damaged() const;
  /// How often all of them were read again. Any thread.
  std::uint64_t scrub_rounds() const;

private:
  struct event {
    std::uint64_t from = 0; ///< A member's word; 0: of this process.
    std::size_t bytes = 0;
    std::function<blobs::effects(steady_time now)> what;
  };

  bool post(event what);
  void run();
  void carry_out(blobs::effects all);
  void look(steady_time now);
  void read_again(steady_time now);
  void ask_for_damaged(steady_time now);
  std::shared_ptr<const ledger::tables> named() const;
  void turn_away();
  bool is_here(const digest& blob) const;

  blobs::effects take(const blobs::say& what, steady_time now);
  blobs::effects take(const blobs::give_page& what, steady_time now);
  blobs::effects take(const blobs::begin_blob& what, steady_time now);
  blobs::effects take(const blobs::append_blob& what, steady_time now);
  blobs::effects take(const blobs::finish_blob& what, steady_time now);
  blobs::effects take(const blobs::abandon_blob& what, steady_time now);
  blobs::effects take(const blobs::share_settled& what, steady_time now);
  blobs::effects take(const blobs::fetch_ended& what, steady_time now);
  blobs::effects not_stored(const digest& blob, const problem& why, steady_time now);

  const blob_keeper_options options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<event> inbox_;
  std::map<std::uint64_t, std::size_t> inbox_bytes_; ///< By member.
  bool is_ending_ = false;
  std::shared_ptr<const ledger::tables> tables_;
  std::map<digest, std::string> damaged_;
  std::uint64_t scrub_rounds_ = 0;

  // The thread's own.
  blob_scrub scrub_;
  blobs::exchange exchange_;
  std::multimap<digest, done> sharing_;
  std::multimap<digest, done> fetching_;
  std::map<digest, store::blob_store::writer> writers_;
  struct hash_of {
    std::size_t operator()(const digest& d) const;
  };
  std::unordered_set<digest, hash_of> here_; ///< Seen on the disk, so that it is asked once.
  std::map<digest, steady_time> pauses_;     ///< Nobody could give it: not before then.
  std::shared_ptr<const ledger::tables> looked_at_;
  steady_time next_look_;
  steady_time next_ask_; ///< For damaged ones.
  std::atomic<std::uint64_t> missing_ = 0;
  std::thread thread_;
};

} // namespace assay::app
