#pragma once
// How words of the command line are declared: what their options fill in, and the deed of each.
//
// Included by src/cli/main.cpp and src/cli/words_*.cpp alone, the only files that see CLI11.

#include "src/cli/commands.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace assay::cli {

/// Everything the options fill in, and the deed that was chosen.
struct chosen {
  std::string server;
  format how = format::table;
  std::string kind, name, reason, status = "production", subject, text;
  apply_options apply;
  explain_options explain;
  submit_options submit;
  chat_options chat;
  wait_options wait;
  served_options served;
  std::vector<int> gates;
  int hours = 24;
  int limit = 20;
  int seconds = 0;
  bool no_stream = false;
  bool is_ingress = false;
  bool leaves_hosts = false;
  std::function<int(const context&)> deed;
};

inline CLI::App* word(CLI::App& parent, const char* name, const char* about, const char* example) {
  auto* app = parent.add_subcommand(name, about);
  app->footer(std::string{"\nExample:\n  "} + example + "\n");
  return app;
}

/// What the word does once the command line is read.
template <class Deed>
void does(CLI::App* app, chosen& o, Deed deed) {
  app->callback([&o, deed] { o.deed = [&o, deed](const context& c) { return deed(c, o); }; });
}

inline CLI::Option* takes_reason(CLI::App* app, chosen& o) {
  return app->add_option("--reason", o.reason, "Why; it is kept in the ledger");
}

inline void takes_wait(CLI::App* app, chosen& o) {
  app->add_flag("--wait", o.wait.wait, "Follow it to its end, with progress");
  app
    ->add_option_function<int>(
      "--timeout",
      [&o](int seconds) { o.wait.limit = std::chrono::seconds{seconds}; },
      "Seconds to follow it for (900)"
    )
    ->check(CLI::PositiveNumber);
}

/// `cluster` and `host` (words_cluster.cpp).
void add_members(CLI::App& app, chosen& o);

} // namespace assay::cli
