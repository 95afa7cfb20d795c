#pragma once
// Which coordinators may speak and which connections they speak on, as values. No clock, no socket;
// src/fabric/peer_links_thread.cpp asks and acts.

#include "src/fabric/peer_links.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::peers {

/// Takes out the entries that cannot be, and says why.
std::vector<problem>
sift(std::vector<peer>& peers, const identity& self, const fabric::public_key& own_key);

class peer_roster {
public:
  explicit peer_roster(identity self) : self_{std::move(self)} {}

  struct ended_session {
    std::string routing;
    closing why;
  };

  /// Ends the sessions whose key is no longer in the registry, or there as somebody else.
  std::vector<ended_session> replace(const std::vector<peer>& peers);

  /// Nothing when the key may not speak.
  const peer* find(const fabric::public_key& key) const;

  struct greeting {
    std::optional<closing> refusal;
    std::optional<ended_session> replaced; ///< The older connection that this one ended.
  };

  /// `from` is of `find`.
  greeting greet(const std::string& routing, const peer& from, const hello& said);

  /// The lane that a connection speaks on; nothing when it said no hello or was superseded.
  std::optional<lane> hear(const std::string& routing, const peer& from) const;

  /// Its connection ended.
  void forget(const std::string& routing) { sessions_.erase(routing); }

  std::vector<std::string> routings() const;

private:
  struct session {
    std::uint64_t node = 0;
    peers::lane lane = peers::lane::consensus;
    fabric::public_key key;
    std::uint64_t number = 0;
  };

  std::optional<closing> refuse(const peer& from, const hello& said) const;

  identity self_;
  std::map<fabric::public_key, peer> peers_;
  std::map<std::uint64_t, std::string> disks_; ///< Of each node, as first seen.
  std::map<std::string, session> sessions_;    ///< By what the ROUTER calls the connection.
};

} // namespace assay::peers
