// The program `assayd`: reads how it is to run, runs, and ends when asked.
//
// The only translation unit of assayd that includes CLI11. Exit codes: 0 ended when asked, 1 could
// not start, 2 usage, 4 ended by itself after an error that must not be survived, 74 the same after
// a failed commit (the log's last line says which).

#include "src/app/node.hpp"
#include "src/app/waiting_room.hpp"
#include "src/base/log.hpp"

#include <CLI/CLI.hpp>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace {

int complain(const assay::problem& p) {
  std::fprintf(stderr, "assayd: %s\n", assay::to_text(p).c_str());
  return 1;
}

/// SIGTERM and SIGINT are taken by `sigwait` on the main thread; every other thread inherits the
/// mask.
sigset_t block_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

/// Waits a moment for it.
bool is_asked_to_end(const sigset_t& signals) {
  timespec moment{0, 50'000'000};
  return sigtimedwait(&signals, nullptr, &moment) > 0;
}

int run(assay::app::settings how) {
  ::umask(077);
  assay::log::open("assayd");
  auto signals = block_signals();
  std::optional<assay::app::place> place;
  if (!how.standalone) {
    auto found = assay::app::find_place(how, [&] { return is_asked_to_end(signals); });
    if (!found)
      return complain(found.error());
    if (!*found)
      return 0;
    place = std::move(*found);
  }
  auto node = assay::app::node::start(std::move(how), std::move(place));
  if (!node)
    return complain(node.error());
  int signal = 0;
  sigwait(&signals, &signal);
  assay::log::info("stopping", {{"signal", std::to_string(signal)}});
  node->reset();
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"Assay's daemon: the ledger, the ingress, and the coordinators of pools", "assayd"};
  std::string config, standalone;
  std::vector<std::string> runtime_path;
  app.set_version_flag("--version", "assayd " ASSAY_VERSION);
  auto* file = app.add_option("--config", config, "Run as this file says (docs/configuration.md)");
  auto* folder = app.add_option(
    "--standalone", standalone, "Run everything on this machine, with one agent, in this directory"
  );
  folder->excludes(file);
  app
    .add_option(
      "--runtime-path",
      runtime_path,
      "Standalone: a folder where its agent looks for runtimes; repeat it for more"
    )
    ->needs(folder);
  app.require_option(1, 0);
  app.footer("\nExamples:\n  assayd --standalone /var/lib/assay --runtime-path /opt/llama/bin\n  "
             "assayd --config /etc/assay/assayd.yaml\n");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& why) {
    return app.exit(why) == 0 ? 0 : 2;
  }
  if (!standalone.empty()) {
    auto how = assay::app::standalone_settings(standalone);
    how.runtime_path = runtime_path;
    return run(std::move(how));
  }
  std::ifstream in{config};
  if (!in)
    return complain({assay::problem_kind::not_found, "cannot be opened", config, "does it exist?"});
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  auto how = assay::app::parse_settings(config, text);
  if (how)
    return run(std::move(*how));
  for (const auto& problem : how.error())
    complain(problem);
  return 1;
}
