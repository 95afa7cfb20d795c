#include "src/app/leading.hpp"

#include "actors/dispatcher.hpp"
#include "actors/evaluator.hpp"
#include "actors/job_queue.hpp"
#include "actors/mover.hpp"
#include "actors/supervisor.hpp"

#include <caf/send.hpp>

namespace assay::app {

leading::leading(caf::actor_system& system, const leading_options& options) : term{options.term} {
  auto& deeds = *options.errands;
  auto keep = [&deeds](std::string bytes, auto done) {
    deeds.keep(std::move(bytes), std::move(done));
  };
  evaluator = system.spawn(
    evaluator_behavior,
    evaluator_options{
      .ledger = options.ledger,
      .ask = [&deeds](
               const auto& what, const auto& where, auto done
             ) { deeds.evaluate(what, where, std::move(done)); },
      .keep = keep,
    }
  );
  mover = system.spawn(
    mover_behavior, mover_options{options.ledger, options.router, options.service, options.node}
  );
  dispatcher = system.spawn(
    dispatcher_behavior,
    dispatcher_options{
      .ledger = options.ledger,
      .ask = [&deeds](const auto& what, auto done) { deeds.request(what, std::move(done)); },
      .read = [&deeds](const auto& blob, auto done) { deeds.read(blob, std::move(done)); },
      .keep = keep,
    }
  );
  jobs = system.spawn(job_queue_behavior, job_queue_options{options.ledger, dispatcher});
  supervisor_options watched{
    .ledger = options.ledger,
    .ingress = options.router,
    .pool_listeners = {evaluator, mover, jobs},
    .send = options.send,
    .stop_process = options.stop_process,
    .epoch = options.term,
    .service = options.service,
    .ingresses = options.ingresses,
  };
  supervisor = system.spawn(supervisor_behavior, std::move(watched));
  for (const tables_listener& who :
       {tables_listener{supervisor},
        tables_listener{evaluator},
        tables_listener{mover},
        tables_listener{dispatcher},
        tables_listener{jobs}})
    caf::anon_send(options.ledger, listen_to_tables{who});
}

leading::~leading() {
  auto end = [](auto& who) { caf::anon_send_exit(who, caf::exit_reason::user_shutdown); };
  end(supervisor);
  end(jobs);
  end(dispatcher);
  end(mover);
  end(evaluator);
}

} // namespace assay::app
