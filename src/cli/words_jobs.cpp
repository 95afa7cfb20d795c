// The words that use models: `chat`, and `submit`, `queue` and `job` for batch jobs.

#include "src/cli/words.hpp"

#include <tuple>

namespace assay::cli {

namespace {

void add_job_words(CLI::App& app, chosen& o) {
  auto* submit_word = word(
    app,
    "submit",
    "Run a JSONL file of requests as a batch job",
    "assay submit deploy/tryout/job.jsonl --model smollm2 --wait"
  );
  submit_word->add_option("file", o.submit.file, "JSONL, or - for standard input")->required();
  submit_word->add_option("--model", o.submit.model, "Which answers; each line may say less")
    ->required();
  submit_word->add_option("--name", o.submit.name, "What to call it (the file's name)");
  submit_word->add_option("--priority", o.submit.priority, "urgent, normal (default) or backfill")
    ->check(CLI::IsMember({"urgent", "normal", "backfill"}));
  takes_wait(submit_word, o);
  does(submit_word, o, [](const context& c, const chosen& o) {
    auto options = o.submit;
    options.wait = o.wait;
    return submit(c, options);
  });

  auto* queue_word = word(app, "queue", "Jobs, newest first", "assay queue");
  does(queue_word, o, [](const context& c, const chosen&) { return queue(c); });

  // The newest one, so that an example can be typed as it is.
  const std::string newest = "\"$(assay queue -o name | head -n 1)\"";
  auto* job = word(
    app,
    "job",
    "One batch job; assay queue lists them, assay submit makes one",
    ("assay job show " + newest).c_str()
  );
  job->require_subcommand(1);
  auto takes_job = [&o](CLI::App* of) {
    of->add_option("job", o.name, "As assay submit and assay queue print it")->required();
  };
  auto* show_word =
    word(*job, "show", "Its state, and why it waits", ("assay job show " + newest).c_str());
  takes_job(show_word);
  does(show_word, o, [](const context& c, const chosen& o) { return job_show(c, o.name); });
  for (const auto& [verb, what, about] : {
         std::tuple{"results", "output", "Its output, one JSON line for each item"},
         std::tuple{"errors", "errors", "The items that failed, with the reason"},
       }) {
    auto* app_word = word(
      *job, verb, about, ("assay job " + std::string{verb} + " " + newest + " > out.jsonl").c_str()
    );
    takes_job(app_word);
    does(app_word, o, [what](const context& c, const chosen& o) {
      return job_download(c, o.name, what);
    });
  }
  auto* cancel_word = word(
    *job,
    "cancel",
    "Stop it and keep what is done",
    ("assay job cancel " + newest + " --reason \"wrong file\"").c_str()
  );
  takes_job(cancel_word);
  takes_reason(cancel_word, o);
  does(cancel_word, o, [](const context& c, const chosen& o) {
    return job_change(c, o.name, "cancel", o.reason);
  });
}

void add_chat_word(CLI::App& app, chosen& o) {
  auto* chat_word = word(
    app,
    "chat",
    "Talk to a model through the ingress",
    "assay chat --model smollm2 \"Tell me a joke.\""
  );
  chat_word->add_option("text", o.chat.text, "What to say; without it a conversation begins");
  chat_word->add_option("--model", o.chat.model, "As assay get models prints it")->required();
  chat_word
    ->add_option("--max-tokens", o.chat.max_tokens, "Of the answer; else what the contract allows")
    ->check(whole_number(1, most_number));
  chat_word->add_flag("--no-stream", o.no_stream, "Show the answer when it is whole");
  does(chat_word, o, [](const context& c, const chosen& o) {
    auto options = o.chat;
    options.stream = !o.no_stream;
    return chat(c, options);
  });
}

} // namespace

void add_jobs(CLI::App& app, chosen& o) {
  add_job_words(app, o);
  add_chat_word(app, o);
}

} // namespace assay::cli
