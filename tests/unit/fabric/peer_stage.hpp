#pragma once
// Coordinators on loopback. What their links call back is recorded; a test waits for a record with
// a deadline that only a failure reaches.

#include "src/fabric/peer_links.hpp"
#include "src/wire/peer_codec.hpp"
#include "tests/unit/fabric/stage.hpp"

namespace assay::peers::test {

using namespace std::chrono_literals;
using fabric::key_pair;
using fabric::test::own_host;
using fabric::test::patience;
using fabric::test::record;

struct arrival {
  std::uint64_t node = 0;
  message what;
};

struct change {
  std::uint64_t node = 0;
  peers::lane lane = peers::lane::consensus;
  bool is_up = false;
  std::string why;
};

inline uuid a_cluster(std::uint8_t number = 1) {
  uuid id;
  id.bytes.fill(number);
  return id;
}

inline link_options options_of(std::uint64_t node, const key_pair& keys) {
  link_options how;
  how.listen = own_host() + ":0";
  how.keys = keys;
  how.self = {a_cluster(), node, "disk-" + std::to_string(node), 1};
  how.heartbeat_every = 50ms;
  how.peer_silence = 2 * patience; // A loaded machine is not a silent peer.
  how.retry_first = 5ms;
  how.retry_most = 50ms;
  return how;
}

class coordinator {
public:
  explicit coordinator(link_options how) {
    node = how.self.node;
    keys = how.keys;
    auto started = peer_links::start(std::move(how), events());
    INFO((started ? std::string{} : to_text(started.error())));
    REQUIRE(started);
    links = *std::move(started);
  }

  peer entry() const { return {node, links->address(), keys.shared, {}}; }

  bool wait_for_up(std::uint64_t to, lane which, std::size_t times = 1) {
    return changes.wait([&](const auto& all) {
      auto is_it = [&](const change& c) { return c.is_up && c.node == to && c.lane == which; };
      return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_it)) >= times;
    });
  }

  /// `why` stands in the text.
  bool wait_for_down(std::uint64_t to, lane which, std::string_view why) {
    return changes.wait([&](const auto& all) {
      return std::any_of(all.begin(), all.end(), [&](const change& c) {
        return !c.is_up && c.node == to && c.lane == which && c.why.find(why) != std::string::npos;
      });
    });
  }

  bool wait_for_refusal(std::string_view why) {
    return refusals.wait([&](const auto& all) {
      return std::any_of(all.begin(), all.end(), [&](const std::string& text) {
        return text.find(why) != std::string::npos;
      });
    });
  }

  /// Polls a counter, because counters have no event.
  template <class Predicate>
  bool counted(Predicate holds) const {
    auto deadline = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (holds(links->counters()))
        return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::uint64_t node = 0;
  key_pair keys;
  record<arrival> messages;
  record<change> changes;
  record<hello> greetings;
  record<std::string> refusals;
  std::function<void(const message&)> on_message;                   ///< Set before anybody speaks.
  std::function<void(std::uint64_t from, const message&)> on_heard; ///< Likewise.
  std::unique_ptr<peer_links> links;

private:
  link_events events() {
    return {
      [this](std::uint64_t from, message what) {
        if (on_message)
          on_message(what);
        if (on_heard)
          on_heard(from, what);
        messages.add({from, std::move(what)});
      },
      [this](std::uint64_t to, lane which) {
        changes.add({to, which, true, {}});
      },
      [this](std::uint64_t to, lane which, const problem& why) {
        changes.add({to, which, false, to_text(why)});
      },
      [this](const hello& said) { greetings.add(said); },
      [this](std::uint64_t, const problem& why) { refusals.add(to_text(why)); },
    };
  }
};

inline message numbered(std::uint64_t from, std::uint64_t to, std::uint64_t number) {
  return consensus::message{
    from, to, 1, number, consensus::append_entries_result{.term = 1, .last_index = number}};
}

inline message
page(std::uint64_t from, std::uint64_t to, std::uint64_t attempt, std::size_t bytes) {
  return state_page{
    .from = from, .to = to, .attempt = attempt, .rows = {{"key", std::string(bytes, 'x')}}};
}

inline message ticket(std::uint64_t number) {
  return ticket_withdraw{1, {"pool"}, number};
}

inline std::uint64_t number_of(const message& what) {
  if (auto one = std::get_if<consensus::message>(&what))
    return one->sequence;
  if (auto one = std::get_if<ticket_withdraw>(&what))
    return one->ticket;
  return std::get<state_page>(what).attempt;
}

/// A coordinator that says exactly what the test tells it to.
class raw_dialler {
public:
  raw_dialler(const coordinator& to, const key_pair& keys)
    : line_{context_, to.links->address(), keys, to.keys.shared} {
    REQUIRE(line_);
  }

  std::optional<fabric::line_event> wait_for_event() {
    wait(line_.events().get());
    return line_.next_event();
  }

  void meet() { REQUIRE(wait_for_event() == fabric::line_event::established); }

  bool say(const message& what) { return line_.dealer().send(*wire::encode(what)); }

  /// The next answer that is not a beat.
  std::optional<message> listen() {
    for (;;) {
      wait(line_.dealer().get());
      fabric::frame payload;
      if (!line_.dealer().receive(payload))
        return std::nullopt;
      auto said = wire::decode_peer_message(payload.span());
      if (!said)
        return std::nullopt;
      if (!std::holds_alternative<beat>(*said))
        return *said;
    }
  }

private:
  static void wait(void* on) {
    zmq_pollitem_t item{on, 0, ZMQ_POLLIN, 0};
    zmq_poll(&item, 1, std::chrono::milliseconds{patience}.count());
  }

  fabric::context context_;
  fabric::line line_;
};

} // namespace assay::peers::test
