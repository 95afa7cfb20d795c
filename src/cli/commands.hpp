#pragma once
// What each word of the command line does. Every function talks to the admin API, prints, and
// returns the exit code: 0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 5 unavailable.

#include "src/cli/admin_client.hpp"
#include "src/cli/output.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::cli {

/// For an answer to what reads or writes whole disks.
inline constexpr std::chrono::hours file_patience{6};

/// What every command gets: where the server is and how to show things.
struct context {
  admin_client server;
  format how = format::table;
  terminal where;
  /// `assay`, with --server when it was given: how a command that we suggest begins.
  std::string self = "assay";
};

// -- declarations (commands_catalog.cpp) --------------------------------------------------------

struct apply_options {
  std::vector<std::string> paths; ///< Files or directories; `-` is standard input.
  bool dry_run = false;
};
int apply(const context& c, const apply_options& options);
int get(const context& c, const std::string& kind);
int describe(const context& c, const std::string& kind, const std::string& name);
int matrix(const context& c, const std::string& model);
int remove(
  const context& c, const std::string& kind, const std::string& name, const std::string& reason
);

/// Of all kinds, for who has to choose one.
std::string kind_names();

/// `pool`, `pools` and short forms to the admin API's word; a problem that names what is allowed.
result<std::string, problem> kind_path(const std::string& word);

// -- qualification and moves (commands_moves.cpp) -----------------------------------------------

struct wait_options {
  bool wait = false;
  std::chrono::seconds limit{900};
};
int qualify(
  const context& c, const std::string& implementation, const std::string& reason, wait_options wait
);
/// As people write them; empty is the plan's default.
struct promote_options {
  std::string status = "production";
  std::string share; ///< Of a canary: `20 %`.
  std::string hold;  ///< `5 min`
  std::string bake;  ///< `1 h`
};
int promote(
  const context& c,
  const std::string& implementation,
  const promote_options& how,
  const std::string& reason,
  wait_options wait
);
int reverse(
  const context& c, const std::string& move, const std::string& reason, wait_options wait
);
int waive(
  const context& c,
  const std::string& implementation,
  const std::vector<int>& gates,
  int hours,
  const std::string& reason
);
int revoke(
  const context& c, const std::string& kind, const std::string& name, const std::string& reason
);
int approve(const context& c, const std::string& artifact, const std::string& reason);

struct explain_options {
  std::string decision;
  std::string model;
  std::string key;
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  bool stream = false;
};
int explain(const context& c, const explain_options& options);

// -- ledger, hosts, the cluster (commands_cluster.cpp) --------------------------------------------

int status(const context& c, std::chrono::seconds wait);
int ledger_log(const context& c, std::int64_t limit, const std::string& subject);
int ledger_show(const context& c, const std::string& record);
int ledger_verify(const context& c);
/// As `POST ledger/verify` answers it.
int show_verdict(const context& c, const json::object& verdict);
int trust_clock(const context& c, const std::string& reason);
int cluster_init(const context& c, const std::string& name);
int cluster_token(const context& c, bool is_ingress);
int cluster_join(const context& c, const std::string& token);
int cluster_status(const context& c);
int cluster_transfer(const context& c, const std::string& to);
int cluster_rotate_keys(
  const context& c, const std::string& name, const std::string& reason, bool leaves_hosts
);
int cluster_remove(const context& c, const std::string& name, const std::string& reason);
int cluster_backup(const context& c, const std::string& file);
int cluster_restore(const context& c, const std::string& file);
int host_token(const context& c, const std::string& name);
/// `verb`: `drain`, `quarantine` or `resume`.
int host_change(
  const context& c, const std::string& host, const std::string& verb, const std::string& reason
);
int env(const context& c);

// -- audits (commands_audit.cpp, commands_served.cpp) ---------------------------------------------

int ledger_export(const context& c, const std::string& file);
int ledger_verify(const context& c, const std::string& file);
/// 0 also when one is a prefix of the other.
int ledger_diff(const context& c, const std::string& a, const std::string& b);

struct served_options {
  std::string route;
  std::string at = "now"; ///< RFC 3339.
  std::string file;       ///< An export; empty: ask the server.
};
int who_served(const context& c, const served_options& options);
int history(
  const context& c, const std::string& route, std::int64_t limit, const std::string& file
);

// -- jobs (commands_jobs.cpp) ---------------------------------------------------------------------

struct submit_options {
  std::string file; ///< JSONL; `-` is standard input.
  std::string model;
  std::string name;
  std::string priority = "normal";
  wait_options wait;
};
int submit(const context& c, const submit_options& options);
int queue(const context& c);
int job_show(const context& c, const std::string& job);
int job_download(const context& c, const std::string& job, const std::string& what);
/// What a record names by its digest: evidence, a job's input, a part of its output.
int ledger_blob(const context& c, const std::string& digest);
int job_change(
  const context& c, const std::string& job, const std::string& verb, const std::string& reason
);

// -- chat (commands_chat.cpp) ---------------------------------------------------------------------

struct chat_options {
  std::string model;
  std::string text; ///< Empty on a terminal: a conversation until end of input.
  bool stream = true;
  std::uint32_t max_tokens = 0; ///< 0: as many as the model's contract allows.
};
/// Uses `$OPENAI_BASE_URL` and `$OPENAI_API_KEY` when they are set, else the standalone's try-out
/// key.
int chat(const context& c, const chat_options& options);

// -- shared ---------------------------------------------------------------------------------------

/// The admin API has no push; between two looks we wait on a condition that nobody signals.
void pause(std::chrono::milliseconds time);

/// Polls `path` until `is_done(item)` or the limit; `tell` draws what it sees.
result<json::object, problem> follow(
  const context& c,
  const std::string& path,
  std::chrono::seconds limit,
  const std::function<bool(const json::object&)>& is_done,
  const std::function<void(const json::object&)>& tell
);

std::string text_at(const json::object& from, std::string_view key);
std::int64_t number_at(const json::object& from, std::string_view key);

} // namespace assay::cli
