// How one assayd ends: from the outside in, and what its ingress served comes on record first.

#include "src/app/admin/admin.hpp"
#include "src/app/node_whole.hpp"
#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

namespace assay::app {

/// From the outside in: nobody is answered by something that is gone already. The monitor says that
/// we stop for as long as requests are answered still.
void node::whole::stop() {
  auto was = stage::serving; // What is not whole answers nothing but that it starts.
  life.compare_exchange_strong(was, stage::stopping);
  keeper.reset();
  admin.reset();
  if (ingress)
    ingress->stop(limits::drain);
  close_service();
  monitor.reset();
  {
    std::scoped_lock lock{bound_mutex};
    is_bound = false;
  }
  // Actors call errands, hub and engine until they have ended; the engine's last answers call the
  // hub, and what it still says to others goes by the group.
  leadership.reset();
  if (blob_keeper)
    blob_keeper->stop();
  forwarding.reset();
  joins.reset();
  if (actors)
    end_actors();
  errands.reset();
  if (group)
    group->stop();
  scrub.reset();
  space.reset();
  engine.reset();
  group.reset();
  hub.reset();
  ingress.reset();
  actors.reset();
}

/// What was served since the hour began comes on record while there is still a ledger.
void node::whole::close_service() {
  if (!actors || !book || !parts.router)
    return;
  auto not_answered = [](const caf::error& why) {
    log::warn("service_not_closed", {{"why", caf::to_string(why)}});
  };
  caf::scoped_actor self{*actors};
  self->request(parts.router, limits::service_farewell, end_service{})
    .receive([](service_ended) {}, not_answered);
  self->request(book, 2 * limits::service_farewell, close_book{})
    .receive(
      [](const book_closed& what) {
        if (what.untold > 0)
          log::warn(
            "service_untold",
            {{"hours", std::to_string(what.untold)},
             {"why", "no leader took them in time; `assay who-served` does not count them"}}
          );
      },
      not_answered
    );
}

void node::whole::end_actors() {
  auto end = [](auto& who) {
    if (who)
      caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
    who = nullptr;
  };
  end(service);
  end(parts.router);
  end(book);
  end(parts.ledger);
  actors->await_all_actors_done();
}

} // namespace assay::app
