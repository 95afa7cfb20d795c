#pragma once
// Asks an engine what its profile says to ask, and classifies the answers.
//
// One look is a few small HTTP exchanges with limits of their own; equal questions of one look are
// asked once. Before anything is sent to a port of ours, the socket that listens there is shown to
// belong to our process tree: a secret never goes to a stranger. It blocks its thread and is used
// by one thread for looks and by another for a proof.

#include "node-agent/host/ports.hpp"
#include "node-agent/runtime/holder_files.hpp"
#include "node-agent/runtime/life.hpp"
#include "src/catalog/profile.hpp"
#include "src/http/client.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace assay::agent {

/// Where a replica answers, and what its profile's templates are filled with.
struct replica_endpoint {
  http::client_address address;
  std::string secret; ///< Empty when the engine knows none.
  std::map<std::string, std::string> slots;
};

struct proof {
  std::string failure; ///< Empty: it works.
  std::string engine_version;
};

class prober {
public:
  prober(std::shared_ptr<const catalog::runtime_profile> profile, replica_endpoint endpoint);

  /// One look. `held` names our process tree; nothing for a server that somebody else started.
  /// `serving` asks for life instead of readiness.
  life::sighted look(bool serving, const std::optional<holding>& held);

  /// Is it the engine that the profile is for, and does one real generation work?
  proof prove(const std::optional<holding>& held);

  /// What the engine says its version is; empty when it does not.
  std::string version();

  /// The newest signals that a look has scraped.
  const std::map<std::string, catalog::signal_reading>& signals() const { return signals_; }

private:
  struct answer {
    catalog::sighting::outcome outcome = catalog::sighting::outcome::answered;
    int status = 0;
    std::string body;
    std::string detail; ///< For people: what was asked and what came.
  };
  using round = std::map<std::string, answer>;

  /// Whose port it is. Of a server that somebody else started nothing is known: `ours`.
  port_owner owner(const std::optional<holding>& held);
  std::string stranger_text() const;
  const answer& ask(round& asked, const catalog::observation& o) const;
  answer get(const std::string& path) const;
  answer exchange(http::client_request request, std::chrono::milliseconds patience) const;
  bool says_yes(round& asked, const catalog::observation& o) const;
  bool any_says_yes(round& asked, const std::vector<catalog::observation>& list) const;
  life::sighted classify(round& asked, bool serving) const;
  void scrape(life::sighted& seen);
  std::string identify() const;

  std::shared_ptr<const catalog::runtime_profile> profile_;
  replica_endpoint endpoint_;
  std::map<std::string, catalog::signal_reading> signals_;
  steady_time scraped_at_;
  double tokens_ = -1;                        ///< Sum of the token counters at the last scrape.
  std::mutex mutex_;                          ///< A look and a proof may meet here.
  std::vector<std::uint64_t> proven_sockets_; ///< Inodes that were shown to be ours.
};

/// `bearer` or no secret: the header that our own requests to a replica carry.
void add_secret(http::client_request& request, const std::string& secret);

} // namespace assay::agent
