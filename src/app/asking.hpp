#pragma once
// A thread that may wait asks an actor and gets its answer, or a problem when there is none in
// time.

#include "src/base/limits.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <optional>

namespace assay::app {

template <class Reply, class Actor, class Message>
result<Reply, problem> ask(
  caf::actor_system& system,
  const Actor& who,
  Message what,
  std::chrono::milliseconds patience = limits::proposal_patience
) {
  caf::scoped_actor self{system};
  std::optional<Reply> got;
  std::string why;
  self->request(who, patience, std::move(what))
    .receive(
      [&](Reply& reply) { got.emplace(std::move(reply)); },
      [&](const caf::error& error) { why = caf::to_string(error); }
    );
  if (got)
    return std::move(*got);
  return unexpected{
    problem{problem_kind::unavailable, "no answer from inside assayd: " + why, {}, "try again"}};
}

} // namespace assay::app
