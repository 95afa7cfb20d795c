#pragma once
// Where clients of the bench reach a member: one thread, one epoll, framed questions.
//
// Each text becomes a record as the admin API makes one (a suite's document under one of a few
// names) and is proposed; the reply leaves when the ledger has answered. Answers come on an
// engine's thread: they are queued, and the thread is woken once for all that wait.

#include "src/store/ledger_engine.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::bench {

class desk {
public:
  explicit desk(store::ledger_engine& engine);
  ~desk();
  desk(const desk&) = delete;
  desk& operator=(const desk&) = delete;

  /// Takes no more questions. The engine ends between this and the desk's end: it may still answer.
  void stop();

  std::uint16_t port() const { return port_; }

private:
  struct connection {
    std::string in, out;
    bool is_blocked = false; ///< It takes no more for now.
  };
  struct answered {
    int socket = -1;
    std::uint32_t client = 0;
    bool is_yes = false;
  };

  void run();
  void accept_all();
  void hear(int socket);
  std::size_t obey_all(int socket, std::string_view heard);
  void obey(int socket, std::uint32_t client, std::string_view text);
  void answer(const answered& what);
  void deliver();
  void write(int socket);
  void watch(int socket, std::uint32_t events);

  store::ledger_engine& engine_;
  std::uint16_t port_ = 0;
  int listener_ = -1, loop_ = -1, wake_ = -1;
  std::map<int, connection> connections_; ///< Kept until the end: a number is never used twice.
  std::mutex mutex_;
  std::vector<answered> answers_;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

} // namespace assay::bench
