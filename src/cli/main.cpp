// The program `assay`: words of the command line to functions of src/cli/commands.hpp.
//
// Every word has an example in its --help, and
// docs/cli.md holds the same table (tests/cli compares them).

#include "src/cli/words.hpp"

#include <algorithm>
#include <cstdio>

namespace assay::cli {

namespace {

constexpr auto usage_error = 2;

void add_catalog(CLI::App& app, chosen& o) {
  auto* apply_word = word(
    app,
    "apply",
    "Declare what the files say; grants nothing by itself",
    "assay apply -f catalog/ --dry-run"
  );
  apply_word
    ->add_option(
      "-f,--file", o.apply.paths, "A file, a directory of .yaml files, or - for standard input"
    )
    ->required();
  apply_word->add_flag("--dry-run", o.apply.dry_run, "Say what would change and change nothing");
  does(apply_word, o, [](const context& c, const chosen& o) { return apply(c, o.apply); });

  auto* get_word = word(app, "get", "List things of one kind", "assay get implementations");
  get_word->add_option("kind", o.kind, "One of: " + kind_names())->required();
  does(get_word, o, [](const context& c, const chosen& o) { return get(c, o.kind); });

  auto* describe_word = word(
    app,
    "describe",
    "Show one thing with its history; -o yaml as it was declared, -o json with all that is known",
    "assay describe model smollm2\n"
    "  assay describe implementation smollm2/local-cpu/smollm2-135m-q4\n"
    "  assay describe pool local-cpu -o yaml"
  );
  describe_word->add_option("kind", o.kind, "One of: " + kind_names())->required();
  describe_word->add_option("name", o.name, "As assay get KIND prints it")->required();
  does(describe_word, o, [](const context& c, const chosen& o) {
    return describe(c, o.kind, o.name);
  });

  auto* matrix_word = word(
    app,
    "matrix",
    "Every implementation of a model: evidence, what it covers, and what it carries",
    "assay matrix smollm2"
  );
  matrix_word->add_option("model", o.name, "As assay get models prints it")->required();
  does(matrix_word, o, [](const context& c, const chosen& o) { return matrix(c, o.name); });

  auto* delete_word = word(
    app,
    "delete",
    "Retire a declaration; refused while something depends on it",
    "assay delete key tryout-batch --reason \"nobody uses it\"\n"
    "  assay delete pool local-cpu    # refused: its implementation depends on it"
  );
  delete_word
    ->add_option("kind", o.kind, "Of what assay apply declares: pool, model, artifact, ...")
    ->required();
  delete_word->add_option("name", o.name, "As assay get KIND prints it")->required();
  takes_reason(delete_word, o);
  does(delete_word, o, [](const context& c, const chosen& o) {
    return remove(c, o.kind, o.name, o.reason);
  });
}

void add_moves(CLI::App& app, chosen& o) {
  auto* qualify_word = word(
    app,
    "qualify",
    "Run an implementation's suite on its own replicas and record the verdict",
    "assay qualify smollm2/local-cpu/smollm2-135m-q4 --wait --reason \"new driver\"\n"
    "  assay get qualifications        # what became of it"
  );
  qualify_word->add_option("implementation", o.name, "As assay get implementations prints it")
    ->required();
  takes_reason(qualify_word, o);
  takes_wait(qualify_word, o);
  does(qualify_word, o, [](const context& c, const chosen& o) {
    return qualify(c, o.name, o.reason, o.wait);
  });

  auto* promote_word = word(
    app,
    "promote",
    "Move traffic to a qualified implementation",
    "assay promote smollm2/local-cpu/smollm2-135m-q4 --status production --reason \"first\" "
    "--wait\n"
    "  assay promote smollm2/local-cpu/smollm2-135m-q8 --status canary --share \"10 %\" --bake \"1 "
    "h\""
  );
  promote_word->add_option("implementation", o.name, "A qualified one")->required();
  promote_word
    ->add_option("--status", o.promote.status, "production (default), canary or batch-only")
    ->check(CLI::IsMember({"production", "canary", "batch-only"}));
  promote_word->add_option("--share", o.promote.share, "Of a canary, \"20 %\"; 5 % unless said");
  promote_word->add_option(
    "--hold", o.promote.hold, "How long the new shares are held before they are observed, \"5 min\""
  );
  promote_word->add_option(
    "--bake", o.promote.bake, "How long they are observed before the move is committed, \"1 h\""
  );
  takes_reason(promote_word, o);
  takes_wait(promote_word, o);
  does(promote_word, o, [](const context& c, const chosen& o) {
    return promote(c, o.name, o.promote, o.reason, o.wait);
  });

  auto* reverse_word = word(
    app,
    "reverse",
    "Undo a move by its inverse, checked again now",
    "assay reverse \"$(assay get moves -o name | tail -n 1)\" --reason \"worse answers\" --wait"
  );
  reverse_word->add_option("move", o.name, "As assay get moves and assay history print it")
    ->required();
  takes_reason(reverse_word, o);
  takes_wait(reverse_word, o);
  does(reverse_word, o, [](const context& c, const chosen& o) {
    return reverse(c, o.name, o.reason, o.wait);
  });

  auto* waive_word = word(
    app,
    "waive",
    "Let an implementation past named gates for a time, on the record",
    "assay waive smollm2/local-cpu/smollm2-135m-q4 --gate 4 --gate 5 --hours 2 --reason \"demo\""
  );
  waive_word->add_option("implementation", o.name, "As assay get implementations prints it")
    ->required();
  waive_word->add_option("--gate", o.gates, "Gate number; repeat it for more")->required();
  waive_word->add_option("--reason", o.reason, "Why; it is kept in the ledger")->required();
  waive_word->add_option("--hours", o.hours, "How long it holds (24 at most)")
    ->check(whole_number(1, 24));
  does(waive_word, o, [](const context& c, const chosen& o) {
    return waive(c, o.name, o.gates, o.hours, o.reason);
  });

  auto* revoke_word = word(
    app,
    "revoke",
    "Withdraw a qualification, key or host for good; close a waiver",
    "assay revoke key tryout-batch --reason \"lost\""
  );
  revoke_word->add_option("kind", o.kind, "qualification, key, host or waiver")
    ->required()
    ->check(CLI::IsMember({"qualification", "key", "host", "waiver"}));
  revoke_word->add_option("name", o.name, "As assay get KIND prints it")->required();
  takes_reason(revoke_word, o);
  does(revoke_word, o, [](const context& c, const chosen& o) {
    return revoke(c, o.kind, o.name, o.reason);
  });

  auto* approve_word = word(
    app,
    "approve",
    "Let an adopted server serve every project",
    "assay approve smollm2/adopted-node-17-8000 --reason \"ours\""
  );
  approve_word->add_option("artifact", o.name, "The adopted artifact")->required();
  takes_reason(approve_word, o)->required();
  does(approve_word, o, [](const context& c, const chosen& o) {
    return approve(c, o.name, o.reason);
  });

  auto* explain_word = word(
    app,
    "explain",
    "Every gate for every implementation, for a request that was made or could be",
    "assay explain --model smollm2 --input-tokens 900"
  );
  auto* decision =
    explain_word->add_option("--decision", o.explain.decision, "The x-assay-decision of an answer");
  auto* model =
    explain_word->add_option("--model", o.explain.model, "A hypothetical request to this model");
  decision->excludes(model);
  explain_word->require_option(1, 0);
  explain_word->add_option("--key", o.explain.key, "Name of the key that would ask");
  explain_word->add_option("--input-tokens", o.explain.input_tokens, "Of the prompt (0)")
    ->check(whole_number(0, most_number));
  explain_word->add_option("--output-tokens", o.explain.output_tokens, "At most asked for (0)")
    ->check(whole_number(0, most_number));
  explain_word->add_flag("--stream", o.explain.stream, "It would be streamed");
  does(explain_word, o, [](const context& c, const chosen& o) { return explain(c, o.explain); });
}

void takes_file(CLI::App* app, std::string& to) {
  app->add_option("--file", to, "An exported ledger to read instead of asking a server");
}

/// The words of an auditor; those with a file need no server.
void add_audit(CLI::App& app, CLI::App& ledger, chosen& o) {
  auto* export_word = word(
    ledger,
    "export",
    "All of it as one signed file, for who does not want to believe us",
    "assay ledger export audit.ledger"
  );
  export_word->add_option("file", o.text, "Where to, or - for standard output")->required();
  does(export_word, o, [](const context& c, const chosen& o) { return ledger_export(c, o.text); });

  auto* diff_word = word(
    ledger,
    "diff",
    "Where two exports part, and what each has beyond the other",
    "assay ledger diff monday.ledger tuesday.ledger"
  );
  diff_word->add_option("a", o.name, "An exported ledger")->required();
  diff_word->add_option("b", o.text, "Another one")->required();
  does(diff_word, o, [](const context& c, const chosen& o) {
    return ledger_diff(c, o.name, o.text);
  });

  auto* served_word = word(
    app,
    "who-served",
    "Who served a route at an instant, on what evidence, and how to undo it",
    "assay who-served smollm2 --at 2026-12-02T09:14:03Z --file audit.ledger"
  );
  served_word->add_option("route", o.served.route, "The model that clients name")->required();
  served_word->add_option("--at", o.served.at, "A time as RFC 3339 has it, or now (the default)");
  takes_file(served_word, o.served.file);
  does(served_word, o, [](const context& c, const chosen& o) { return who_served(c, o.served); });

  auto* history_word =
    word(app, "history", "How a route came to be, newest first", "assay history smollm2");
  history_word->add_option("route", o.name, "The model that clients name")->required();
  history_word->add_option("--limit", o.limit, "How many, of the newest (20)")
    ->check(whole_number(1, 1000));
  takes_file(history_word, o.text);
  does(history_word, o, [](const context& c, const chosen& o) {
    return history(c, o.name, o.limit, o.text);
  });
}

void add_cluster(CLI::App& app, chosen& o) {
  auto* status_word = word(app, "status", "Is it there, and how is it", "assay status --wait 60");
  status_word->add_option("--wait", o.seconds, "Seconds to wait for it")
    ->check(whole_number(0, most_number));
  does(status_word, o, [](const context& c, const chosen& o) {
    return status(c, std::chrono::seconds{o.seconds});
  });

  auto* ledger =
    word(app, "ledger", "The record of everything that was decided", "assay ledger log --limit 20");
  ledger->require_subcommand(1);
  auto* log_word = word(*ledger, "log", "The last records", "assay ledger log --subject smollm2");
  log_word->add_option("--limit", o.limit, "How many, of the newest (20)")
    ->check(whole_number(1, 1000));
  log_word->add_option("--subject", o.subject, "Only records about this thing");
  does(log_word, o, [](const context& c, const chosen& o) {
    return ledger_log(c, o.limit, o.subject);
  });
  auto* show_word = word(*ledger, "show", "One record, whole", "assay ledger show 12");
  show_word->add_option("record", o.name, "Its number or its id")->required();
  does(show_word, o, [](const context& c, const chosen& o) { return ledger_show(c, o.name); });
  auto* blob_word = word(
    *ledger,
    "blob",
    "What a record names by its digest, such as evidence, as it is",
    "assay ledger blob sha256:9f86... > evidence.jsonl"
  );
  blob_word->add_option("digest", o.name, "As ledger show and who-served print it")->required();
  does(blob_word, o, [](const context& c, const chosen& o) { return ledger_blob(c, o.name); });
  auto* verify_word = word(
    *ledger,
    "verify",
    "Check chain, signatures and invariants from the first record",
    "assay ledger verify audit.ledger"
  );
  verify_word->add_option("file", o.text, "An exported ledger; without it the server's own");
  does(verify_word, o, [](const context& c, const chosen& o) {
    return o.text.empty() ? ledger_verify(c) : ledger_verify(c, o.text);
  });
  add_audit(app, *ledger, o);

  auto* env_word =
    word(app, "env", "Print how an OpenAI client reaches a standalone", "eval \"$(assay env)\"");
  does(env_word, o, [](const context& c, const chosen&) { return env(c); });
}

void build(CLI::App& app, chosen& o) {
  app.description("Assay: a control plane for AI accelerators without Kubernetes");
  app.set_version_flag("--version", ASSAY_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option(
    "--server", o.server, "unix:PATH or http://IP:PORT of an admin API ($ASSAY_SERVER)"
  );
  app
    .add_option_function<std::string>(
      "-o,--output",
      [&o](const std::string& text) {
        o.how = text == "json"   ? format::json
                : text == "yaml" ? format::yaml
                : text == "name" ? format::name
                                 : format::table;
      },
      "table, json, yaml or name"
    )
    ->check(CLI::IsMember({"table", "json", "yaml", "name"}));
  app.name("assay");
  app.footer("\nassay help WORD is assay WORD --help.\n"
             "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 5 unavailable.\n"
             "Example:\n  assay apply -f catalog/ && assay qualify "
             "smollm2/local-cpu/smollm2-135m-q4 --wait\n");
  add_catalog(app, o);
  add_moves(app, o);
  add_cluster(app, o);
  add_members(app, o);
  add_jobs(app, o);
  refuse_empty(app);
}

/// CLI11 only says that a subcommand is missing. Empty: every word is known, as far as words go.
std::string unknown_word(const CLI::App& app, const std::vector<std::string>& words) {
  const auto* at = &app;
  std::string path = "assay";
  for (const auto& word : words) {
    std::string allowed;
    const CLI::App* next = nullptr;
    for (const auto* one : at->get_subcommands([](const CLI::App*) { return true; })) {
      allowed += (allowed.empty() ? "" : ", ") + one->get_name();
      if (one->get_name() == word)
        next = one;
    }
    if (allowed.empty() || word.starts_with('-'))
      return {};
    if (!next)
      return "'" + shortened(word) + "' is no word of `" + path + "`; allowed: " + allowed;
    at = next;
    path += " " + word;
  }
  return {};
}

/// `help WORD` is `WORD --help`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() != "help")
    return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

/// As a shell takes it for one word.
std::string in_one_word(const std::string& word) {
  constexpr auto plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@%+,-";
  return word.find_first_not_of(plain) == std::string::npos ? word : "'" + word + "'";
}

int run(int argc, char** argv) {
  CLI::App app;
  chosen o;
  build(app, o);
  auto words = words_of(argc, argv);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend())
    ); // It takes them from the back.
  } catch (const CLI::ParseError& why) {
    if (auto unknown = unknown_word(app, words); !unknown.empty()) {
      std::fprintf(stderr, "assay: %s\n", unknown.c_str());
      return usage_error;
    }
    return app.exit(why) == 0 ? 0 : usage_error;
  }
  auto server = find_server(o.server);
  if (!server)
    return complain(server.error());
  auto self = o.server.empty() ? std::string{"assay"} : "assay --server " + in_one_word(o.server);
  return o.deed(context{
    admin_client{std::move(*server)}, o.how, look_at_terminal(), std::move(self)});
}

} // namespace

} // namespace assay::cli

int main(int argc, char** argv) {
  try {
    return assay::cli::run(argc, argv);
  } catch (const std::exception& why) {
    // An answer without a field that the API promises: the server is of another version.
    std::fprintf(
      stderr,
      "assay: unexpected answer: %s; do assay and assayd have the same version?\n",
      why.what()
    );
    return 1;
  }
}
