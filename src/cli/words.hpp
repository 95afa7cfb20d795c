#pragma once
// How words of the command line are declared: what their options fill in, and the deed of each.
//
// Included by src/cli/main.cpp and src/cli/words_*.cpp alone, the only files that see CLI11.

#include "src/base/text.hpp"
#include "src/cli/commands.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace assay::cli {

inline constexpr std::int64_t most_number = 1'000'000'000;

/// Everything the options fill in, and the deed that was chosen.
struct chosen {
  std::string server;
  format how = format::table;
  std::string kind, name, reason, subject, text;
  apply_options apply;
  promote_options promote;
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
  // Names are those of deploy/try, so that they can be typed there (tests/cli compares them).
  app->footer(std::string{"\nExample:\n  "} + example + "\n");
  return app;
}

/// A number that CLI11 would name by the bounds of its type.
inline CLI::Validator whole_number(std::int64_t from, std::int64_t to) {
  auto check = [from, to](const std::string& text) -> std::string {
    std::int64_t number = 0;
    auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (bad == std::errc{} && end == text.data() + text.size() && number >= from && number <= to)
      return {};
    auto what = "'" + shortened(text) + "' is not a whole number from " + std::to_string(from);
    return what + (to == most_number ? " on" : " to " + std::to_string(to));
  };
  return {check, ""};
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
    ->check(whole_number(1, most_number));
}

/// What is missing is left out on a command line: an empty word is a variable that was not set.
inline void refuse_empty(CLI::App& app) {
  auto check = [](const std::string& text) {
    return text.empty() ? std::string{"is empty; was a variable of the shell not set?"}
                        : std::string{};
  };
  for (auto* option : app.get_options())
    if (option->get_type_size() != 0) // Not a flag.
      option->check(CLI::Validator{check, ""});
  for (auto* word : app.get_subcommands([](CLI::App*) { return true; }))
    refuse_empty(*word);
}

/// `submit`, `queue`, `job` and `chat` (words_jobs.cpp).
void add_jobs(CLI::App& app, chosen& o);
/// `cluster` and `host` (words_cluster.cpp).
void add_members(CLI::App& app, chosen& o);

} // namespace assay::cli
