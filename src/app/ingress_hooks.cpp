#include "src/app/ingress_hooks.hpp"

#include <caf/send.hpp>

namespace assay::app {

http::ingress_hooks hooks_to(const ingress_actor& router) {
  return {
    .on_outcomes = [&router](std::vector<routing::outcome> all
                   ) { caf::anon_send(router, outcomes{std::move(all)}); },
    .ask_ticket =
      [&router](http::ticket_request request, http::ticket_completion done) {
        ticket_wanted wanted{
          .ticket =
            {.ticket = request.number,
             .traffic = request.traffic,
             .project = request.project,
             .acceptable = request.acceptable,
             .excluded = request.excluded,
             .deadline = request.deadline},
          .answer =
            [done](std::variant<pool::admit_ticket, pool::refuse_ticket> answer) {
              if (const auto* admitted = std::get_if<pool::admit_ticket>(&answer))
                return done(http::ticket_admitted{admitted->endpoint});
              const auto& refused = std::get<pool::refuse_ticket>(answer);
              done(http::ticket_refused{refused.why, refused.retry_after});
            },
        };
        caf::anon_send(router, std::move(wanted));
      },
    .withdraw_ticket = [&router](std::uint64_t number
                       ) { caf::anon_send(router, ticket_dropped{number}); },
    .settle_ticket = [&router](std::uint64_t number
                     ) { caf::anon_send(router, ticket_settled{number}); },
  };
}

} // namespace assay::app
