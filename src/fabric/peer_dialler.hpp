#pragma once
// One lane to one peer: dialled, greeted, kept, and dialled again after a pause that doubles. A
// line serves one session and is thrown away, so what is said on it is said to one process.
//
// Touched by the links' thread alone. It queues nothing: `send` says whether libzmq took it.

#include "src/fabric/dialling.hpp"
#include "src/fabric/line.hpp"
#include "src/fabric/peer_links.hpp"

#include <poll.h>

#include <optional>
#include <random>

namespace assay::peers {

struct dialler_news {
  bool is_up = false;
  problem why; ///< When it is not.
};

class peer_dialler {
public:
  peer_dialler(
    const fabric::context& from, const link_options& how, peer whom, lane which, std::uint32_t seed
  );

  const peer& whom() const { return whom_; }
  lane which() const { return which_; }
  bool is_up() const { return welcomed_; }

  /// The peer was heard: if it is not dialled now, that is worth a try at once.
  void hurry(steady_time now);

  /// What happened since the last turn; several things need several turns.
  std::optional<dialler_news> turn(steady_time now);

  /// Appends what to poll for. False: there is something to do at once. `has_waiting`: that is so
  /// too when something can be sent.
  bool watch(std::vector<pollfd>& items, bool has_waiting);
  /// How polling ended; returns what is behind its own items.
  const pollfd* take_signals(const pollfd* items);
  /// When `turn` is due without any event.
  steady_time due() const;

  /// False: not now.
  bool send(std::string_view bytes);

  /// Ends the line, if there is one.
  std::optional<dialler_news> drop(steady_time now, fabric::lost_reason reason, std::string what);

private:
  void dial(steady_time now);
  std::optional<dialler_news> take_event(steady_time now);
  std::optional<dialler_news> take_answer(steady_time now);
  std::optional<dialler_news> judge(const message& said, steady_time now);
  bool greet();

  const fabric::context& context_;
  const link_options& how_;
  const peer whom_;
  const lane which_;
  fabric::line line_;
  fabric::redial redial_;
  std::minstd_rand chance_;
  std::uint64_t session_ = 0;
  bool welcomed_ = false;
  bool is_dealer_touched_ = false; ///< Its descriptor says nothing until it is asked again.
  bool may_hear_ = false;
  bool may_happen_ = false;
  steady_time heard_;
  steady_time next_dial_;
};

} // namespace assay::peers
