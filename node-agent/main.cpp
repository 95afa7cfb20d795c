// assay-agent: one program for the agent and for the holders that it starts.

#include "node-agent/families/probe_main.hpp"
#include "node-agent/program/agent.hpp"
#include "node-agent/program/command_line.hpp"
#include "node-agent/program/control.hpp"
#include "node-agent/runtime/holder.hpp"
#include "src/base/overloaded.hpp"

#include <cstdio>

namespace {

using namespace assay;

int adopt(const agent::adopt_command& command) {
  auto sent = agent::send_offer(command.data, command.offer);
  if (!sent) {
    std::fprintf(stderr, "assay-agent: %s\n", to_text(sent.error()).c_str());
    return exit_code(sent.error().kind);
  }
  std::printf(
    "%s serves %s as %s\nonce it is proven: assay qualify %s --wait\n",
    command.offer.url.c_str(),
    command.offer.model.c_str(),
    sent->value.c_str(),
    sent->value.c_str()
  );
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  return std::visit(
    overloaded{
      [](const agent::run_command& c) { return agent::run_agent(c.config); },
      [](const agent::stop_command& c) { return agent::stop_agent(c.data, c.stop_replicas); },
      [](const agent::hold_command& c) { return agent::hold(c.directory); },
      [](const agent::probe_command& c) { return agent::run_probe(c.family, c.root); },
      [](const agent::adopt_command& c) { return adopt(c); },
      [](const agent::join_command& c) { return agent::join_host(c); },
      [](const agent::just_exit& c) { return c.code; },
    },
    agent::parse_command_line(argc, argv)
  );
}
