// The words `cluster` and `host`: who holds the ledger, and where runtimes run.

#include "src/cli/words.hpp"

#include <unistd.h>

#include <filesystem>

namespace assay::cli {

namespace {

/// Registering a host happens on the host: the agent holds the keys.
int join_host(const std::string& token, const std::vector<std::string>& rest) {
  auto self = std::filesystem::read_symlink("/proc/self/exe");
  auto agent = (self.parent_path() / "assay-agent").string();
  std::vector<std::string> words{agent, "join", token};
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& one : words)
    argv.push_back(one.data());
  argv.push_back(nullptr);
  ::execv(agent.c_str(), argv.data());
  return complain(
    {problem_kind::unavailable,
     "the agent's program is not there",
     agent,
     "install assay-agent beside assay"}
  );
}

void add_backup_words(CLI::App& cluster, chosen& o) {
  auto* backup_word = word(
    cluster,
    "backup",
    "Write all that this coordinator knows, and its signing key, to a file (run it there)",
    "assay cluster backup /backup/lab.assay"
  );
  backup_word
    ->add_option(
      "file",
      o.text,
      "An older backup there is replaced, anything else refused; readable by assayd's user"
    )
    ->required();
  does(backup_word, o, [](const context& c, const chosen& o) { return cluster_backup(c, o.text); });
  auto* restore_word = word(
    cluster,
    "restore",
    "When every member is lost: go on from a backup, alone (run it on an empty assayd)",
    "assay cluster restore /backup/lab.assay"
  );
  restore_word->add_option("file", o.text, "What assay cluster backup wrote")->required();
  does(restore_word, o, [](const context& c, const chosen& o) {
    return cluster_restore(c, o.text);
  });
}

void add_cluster_words(CLI::App& app, chosen& o) {
  auto* cluster = word(app, "cluster", "The coordinators together", "assay cluster status");
  cluster->require_subcommand(1);
  auto* clock_word = word(
    *cluster,
    "trust-clock",
    "Accept the time after the clock jumped, so that what is due expires again",
    "assay cluster trust-clock --reason \"the machine was suspended\""
  );
  takes_reason(clock_word, o)->required();
  does(clock_word, o, [](const context& c, const chosen& o) { return trust_clock(c, o.reason); });
  auto* init_word = word(
    *cluster,
    "init",
    "Found a cluster on this coordinator (run it there, once); others join it",
    "assay cluster init --name lab"
  );
  init_word->add_option("--name", o.name, "What to call the cluster (assay)");
  does(init_word, o, [](const context& c, const chosen& o) { return cluster_init(c, o.name); });
  auto* token_word = word(
    *cluster,
    "token",
    "A token by which one coordinator may join, once, within 15 minutes",
    "assay cluster token > token"
  );
  token_word->add_flag("--ingress", o.is_ingress, "For a separate ingress, which never votes");
  does(token_word, o, [](const context& c, const chosen& o) {
    return cluster_token(c, o.is_ingress);
  });
  auto* join_word = word(
    *cluster,
    "join",
    "Make this assayd a member (run it there); the token best on standard input",
    "assay cluster join - < token"
  );
  join_word->add_option("token", o.text, "The token, or - to read it from standard input")
    ->required();
  does(join_word, o, [](const context& c, const chosen& o) { return cluster_join(c, o.text); });
  auto* status_word =
    word(*cluster, "status", "Members, who leads, and what is wrong", "assay cluster status");
  does(status_word, o, [](const context& c, const chosen&) { return cluster_status(c); });
  auto* transfer_word = word(
    *cluster,
    "transfer",
    "Hand leadership over, to the most level coordinator or the one named",
    "assay cluster transfer node-b"
  );
  transfer_word->add_option("member", o.name, "As assay cluster status prints it");
  does(transfer_word, o, [](const context& c, const chosen& o) {
    return cluster_transfer(c, o.name);
  });
  auto* remove_word = word(
    *cluster,
    "remove",
    "Take a member out for good; its disk can join again under a new id",
    "assay cluster remove node-c --reason \"disk lost\""
  );
  remove_word->add_option("member", o.name, "As assay cluster status prints it")->required();
  takes_reason(remove_word, o);
  does(remove_word, o, [](const context& c, const chosen& o) {
    return cluster_remove(c, o.name, o.reason);
  });
  auto* rotate_word = word(
    *cluster,
    "rotate-keys",
    "Give every member new keys, or one of them, while the cluster runs; the leader hands over "
    "first",
    "assay cluster rotate-keys --reason \"an administrator left\""
  );
  rotate_word->add_option("member", o.name, "Only this one; else one after the other");
  takes_reason(rotate_word, o);
  rotate_word->add_flag(
    "--leave-hosts", o.leaves_hosts, "Even if a host is away, which then has to join anew"
  );
  does(rotate_word, o, [](const context& c, const chosen& o) {
    return cluster_rotate_keys(c, o.name, o.reason, o.leaves_hosts);
  });
  add_backup_words(*cluster, o);
}

/// What one host may be used for; each decision is on record, with its reason.
void add_host_duties(CLI::App& host, chosen& o) {
  struct verb {
    const char* name;
    const char* about;
    const char* example;
  };
  constexpr verb verbs[] = {
    {"drain",
     "End what a host runs once nothing of it is in flight, and start nothing new there",
     "assay host drain local --reason \"a new fan\""},
    {"quarantine",
     "Send nothing to a host from now on; what it runs stays, to be looked at",
     "assay host quarantine local --reason \"wrong answers\""},
    {"resume",
     "Let a drained or quarantined host work again",
     "assay host resume local --reason \"the fan is in\""},
  };
  for (const auto& one : verbs) {
    auto* said = word(host, one.name, one.about, one.example);
    said->add_option("host", o.name, "As assay get hosts prints it")->required();
    takes_reason(said, o)->required();
    does(said, o, [name = one.name](const context& c, const chosen& o) {
      return host_change(c, o.name, name, o.reason);
    });
  }
}

void add_host_words(CLI::App& app, chosen& o) {
  auto* host = word(app, "host", "Hosts and their agents", "assay host token --name node-17");
  host->require_subcommand(1);
  auto* token_word = word(
    *host,
    "token",
    "A token by which one host may join, once, within 15 minutes",
    "assay host token --name node-17 > token"
  );
  token_word->add_option(
    "--name", o.name, "For which host, as the record says; it may join under any name"
  );
  does(token_word, o, [](const context& c, const chosen& o) { return host_token(c, o.name); });
  auto* join_word = word(
    *host,
    "join",
    "Register this host (run it there); --data DIR, --host NAME and --path DIR (its runtimes) may "
    "follow the token",
    "assay host join - --data /var/lib/assay --path /opt/assay/llama/bin < token"
  );
  join_word->add_option("token", o.text, "The token, or - to read it from standard input")
    ->required();
  join_word->allow_extras();
  join_word->fallthrough(false); // What follows the token is the agent's, and in this order.
  join_word->callback([&o, join_word] {
    o.deed = [&o, rest = join_word->remaining()](const context&) {
      return join_host(o.text, rest);
    };
  });
  auto* show_host =
    word(*host, "show", "One host: devices, fingerprint, replicas", "assay host show local");
  show_host->add_option("name", o.name, "As assay get hosts prints it")->required();
  does(show_host, o, [](const context& c, const chosen& o) {
    return describe(c, "hosts", o.name);
  });
  add_host_duties(*host, o);
}

} // namespace

void add_members(CLI::App& app, chosen& o) {
  add_cluster_words(app, o);
  add_host_words(app, o);
}

} // namespace assay::cli
