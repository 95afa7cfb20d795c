// Members of the cluster and hosts: found, join, look, hand over, leave.

#include "src/cli/commands.hpp"

#include <cstdio>
#include <filesystem>
#include <future>
#include <iostream>

namespace assay::cli {

namespace {

constexpr std::chrono::seconds start_patience{30};
constexpr std::chrono::seconds hand_over_patience{15};
constexpr std::chrono::seconds away_patience{10}; ///< A link is dialled again within five.

int print_token(const context& c, const json::object& answer, const char* whom, const char* next) {
  if (c.how != format::table) {
    std::fputs(show_object(answer, c.how, c.where).c_str(), stdout);
    return 0;
  }
  std::printf("%s\n", text_at(answer, "token").c_str());
  std::fprintf(
    stderr,
    "good for one %s until %s; %s\n",
    whom,
    cell("expires_at_ms", answer.at("expires_at_ms")).c_str(),
    next
  );
  return 0;
}

/// Asks until there is an answer other than that it is not there yet, or the time is over.
template <class Ask>
auto patiently(const context& c, std::chrono::seconds patience, const char* what, Ask ask) {
  auto until = std::chrono::steady_clock::now() + patience;
  progress_line line{c.where};
  while (true) {
    auto answer = ask();
    if (answer || answer.error().kind != problem_kind::unavailable || std::chrono::steady_clock::now() >= until) {
      line.clear();
      return answer;
    }
    line.show(0, 0, what);
    pause(std::chrono::milliseconds{200});
  }
}

/// After init and join: assayd starts now as what it became.
int await_member(const context& c, const json::object& became) {
  auto started = patiently(c, start_patience, "starting", [&c] { return c.server.get("cluster"); });
  if (!started)
    return complain(started.error());
  if (c.how != format::table)
    std::fputs(show_object(became, c.how, c.where).c_str(), stdout);
  else
    std::printf(
      "%s is member %lld of cluster %s (%s)\n",
      text_at(became, "name").c_str(),
      static_cast<long long>(number_at(became, "node")),
      text_at(became, "cluster_name").c_str(),
      text_at(became, "cluster").c_str()
    );
  return 0;
}

/// Asks for what reads or writes a whole file, and shows meanwhile how far a growing one is.
result<json::object, problem>
post_file(const context& c, const char* path, const std::string& file, const char* what) {
  auto asked = std::async(std::launch::async, [&c, path, &file] {
    return c.server.post(path, {{"file", file}}, file_patience);
  });
  progress_line line{c.where};
  auto until_shown = std::chrono::seconds{2};
  while (asked.wait_for(until_shown) != std::future_status::ready) {
    std::error_code none; // A file that is not there yet has no size.
    auto bytes = std::filesystem::file_size(file + ".partial", none);
    auto so_far = none ? std::string{} : ", " + std::to_string(bytes >> 20) + " MiB";
    line.show(0, 0, what + so_far);
    until_shown = std::chrono::seconds{1};
  }
  line.clear();
  return asked.get();
}

/// assayd has a working directory of its own.
std::string absolute(const std::string& file) {
  return std::filesystem::absolute(file).lexically_normal().string();
}

} // namespace

int cluster_backup(const context& c, const std::string& file) {
  auto answer = post_file(c, "cluster/backup", absolute(file), "writing");
  if (!answer)
    return complain(answer.error());
  if (c.how != format::table)
    std::fputs(show_object(*answer, c.how, c.where).c_str(), stdout);
  else
    std::printf(
      "%s: cluster %s as of seq %lld, %lld rows and %lld blobs, with the signing key of %s: keep "
      "it "
      "as safe as that\n",
      text_at(*answer, "file").c_str(),
      text_at(*answer, "name").c_str(),
      static_cast<long long>(number_at(*answer, "seq")),
      static_cast<long long>(number_at(*answer, "rows")),
      static_cast<long long>(number_at(*answer, "blobs")),
      text_at(*answer, "member").c_str()
    );
  return 0;
}

int cluster_restore(const context& c, const std::string& file) {
  auto answer = post_file(c, "cluster/restore", absolute(file), "reading");
  return answer ? await_member(c, *answer) : complain(answer.error());
}

int cluster_init(const context& c, const std::string& name) {
  auto answer = c.server.post("cluster/init", {{"name", name}});
  return answer ? await_member(c, *answer) : complain(answer.error());
}

int cluster_join(const context& c, const std::string& token) {
  auto text = token;
  if (token == "-")
    std::getline(std::cin, text);
  auto answer = c.server.post("cluster/join", {{"token", text}});
  return answer ? await_member(c, *answer) : complain(answer.error());
}

int cluster_token(const context& c, bool is_ingress) {
  auto answer = c.server.post("cluster/token", {{"role", is_ingress ? "ingress" : "coordinator"}});
  if (!answer)
    return complain(answer.error());
  return print_token(
    c, *answer, is_ingress ? "ingress" : "coordinator", "there: assay cluster join - < token"
  );
}

int cluster_status(const context& c) {
  auto answer = c.server.get("cluster");
  if (!answer)
    return complain(answer.error());
  if (c.how != format::table) {
    std::fputs(show_object(*answer, c.how, c.where).c_str(), stdout);
    return 0;
  }
  auto leader = text_at(*answer, "leader");
  std::printf(
    "cluster %s: %s, term %lld, seq %lld; %lld of %lld votes reached, %lld needed\n",
    text_at(*answer, "name").c_str(),
    leader.empty() ? "nobody leads" : (leader + " leads").c_str(),
    static_cast<long long>(number_at(*answer, "term")),
    static_cast<long long>(number_at(*answer, "seq")),
    static_cast<long long>(number_at(*answer, "reached")),
    static_cast<long long>(number_at(*answer, "voters")),
    static_cast<long long>(number_at(*answer, "needed"))
  );
  json::array rows;
  std::string away;
  for (const auto& item : answer->at("members").as_array()) {
    auto row = item.as_object();
    if (auto why = text_at(row, "why"); !why.empty())
      away += text_at(row, "name") + " is " + text_at(row, "state") + ": " + why + "\n";
    row.erase("why");
    rows.emplace_back(std::move(row));
  }
  std::fputs((show_items(rows, c.how, c.where) + "\n" + away).c_str(), stdout);
  for (const auto& problem : answer->at("problems").as_array())
    std::printf("! %s\n", std::string{problem.as_string()}.c_str());
  return 0;
}

int cluster_transfer(const context& c, const std::string& to) {
  auto answer = c.server.post("cluster/transfer", {{"to", to}});
  if (!answer)
    return complain(answer.error());
  auto from = text_at(*answer, "from");
  // The new leader may be the one named, or whoever was most level: it is what status says next.
  auto moved =
    patiently(c, hand_over_patience, "handing over", [&]() -> result<json::object, problem> {
      auto now = c.server.get("cluster");
      if (!now)
        return now;
      auto leader = text_at(*now, "leader");
      auto is_there = to.empty() ? !leader.empty() && leader != from : leader == to;
      if (is_there)
        return now;
      return unexpected{problem{
        problem_kind::unavailable,
        "leadership did not move: " + (leader.empty() ? "nobody leads" : leader + " leads"),
        {},
        "see assay cluster status, then try again"}};
    });
  if (!moved)
    return complain(moved.error());
  std::printf("%s leads\n", text_at(*moved, "leader").c_str());
  return 0;
}

int cluster_remove(const context& c, const std::string& name, const std::string& reason) {
  // A leader hands over first and says so; then the next one is asked.
  auto answer = patiently(c, hand_over_patience, "handing over", [&] {
    return c.server.post("cluster/remove", {{"name", name}, {"reason", reason}});
  });
  if (!answer)
    return complain(answer.error());
  if (c.how != format::table)
    std::fputs(show_object(*answer, c.how, c.where).c_str(), stdout);
  else
    std::printf("%s is no member any more\n", name.c_str());
  return 0;
}

namespace {

/// A host learns new keys from the coordinator that it is connected to.
std::optional<problem> hosts_away(const context& c) {
  auto all = c.server.get("hosts");
  if (!all)
    return all.error();
  std::string names;
  for (const auto& item : all->at("items").as_array())
    if (const auto& host = item.as_object(); text_at(host, "state") != "connected")
      names += (names.empty() ? "" : ", ") + text_at(host, "name");
  if (names.empty())
    return {};
  return problem{
    problem_kind::refused,
    "away now, so new keys would lock out: " + names + "; nobody's are changed",
    "hosts",
    "start their agents, or revoke what does not come back (" + c.self + " revoke host "
      + names.substr(0, names.find(',')) + "); --leave-hosts changes them all the same"};
}

/// Whoever leads last, because it hands over first.
result<std::vector<std::string>, problem> members_in_turn(const context& c) {
  auto now = c.server.get("cluster");
  if (!now)
    return unexpected{now.error()};
  std::vector<std::string> names;
  auto leader = text_at(*now, "leader");
  for (const auto& item : now->at("members").as_array())
    if (auto name = text_at(item.as_object(), "name"); name != leader)
      names.push_back(name);
  if (!leader.empty())
    names.push_back(leader);
  return names;
}

/// Until the member itself says that it has them.
result<json::object, problem>
rotate_one(const context& c, const std::string& name, const std::string& reason) {
  auto made = patiently(c, away_patience, ("changing " + name).c_str(), [&] {
    return c.server.post("cluster/rotate-keys", {{"name", name}, {"reason", reason}});
  });
  if (!made)
    return made;
  auto wanted = text_at(*made, "curve_public");
  return patiently(
    c,
    start_patience,
    (name + " changes").c_str(),
    [&]() -> result<json::object, problem> {
      auto has = c.server.get("cluster/keys/" + name);
      if (!has || text_at(*has, "curve_public") == wanted)
        return has;
      return unexpected{problem{
        problem_kind::unavailable,
        name + " has not taken its new keys yet; they are on record",
        name,
        "see assay cluster status and its log; it takes them by itself"}};
    }
  );
}

} // namespace

int cluster_rotate_keys(
  const context& c, const std::string& name, const std::string& reason, bool leaves_hosts
) {
  if (auto away = leaves_hosts ? std::nullopt : hosts_away(c)) {
    complain(*away);
    return 1;
  }
  auto names = name.empty() ? members_in_turn(c) : std::vector{name};
  if (!names)
    return complain(names.error());
  json::array changed;
  std::optional<problem> failed;
  std::string kept; // What keeps one from it keeps the others as well.
  for (const auto& one : *names) {
    auto has =
      failed ? result<json::object, problem>{unexpected{*failed}} : rotate_one(c, one, reason);
    if (!has) {
      kept += (kept.empty() ? "" : ", ") + one;
      failed = has.error();
      continue;
    }
    if (c.how == format::table)
      std::printf("%s has new keys\n", one.c_str());
    changed.emplace_back(*std::move(has));
  }
  if (c.how != format::table)
    std::fputs(show_items(changed, c.how, c.where).c_str(), stdout);
  if (!failed)
    return 0;
  complain(*failed);
  std::fprintf(stderr, "not changed: %s\n", kept.c_str());
  return 1;
}

int trust_clock(const context& c, const std::string& reason) {
  auto answer = c.server.post("clock/trust", {{"reason", reason}});
  if (!answer)
    return complain(answer.error());
  std::printf(
    "the clock is trusted at %s\n", date_text(number_at(*answer, "trusted_at_ms")).c_str()
  );
  return 0;
}

int host_token(const context& c, const std::string& name) {
  auto answer = c.server.post("hosts/token", {{"name", name}});
  if (!answer)
    return complain(answer.error());
  auto next = "put it into a file on that host, and there: assay host join - --data /var/lib/assay"
              + (name.empty() ? std::string{} : " --host " + name) + " < token";
  return print_token(c, *answer, "host", next.c_str());
}

int host_change(
  const context& c, const std::string& host, const std::string& verb, const std::string& reason
) {
  auto answer = c.server.post("hosts/" + host + "/" + verb, {{"reason", reason}});
  if (!answer)
    return complain(answer.error());
  if (c.how != format::table) {
    std::fputs(show_object(*answer, c.how, c.where).c_str(), stdout);
    return 0;
  }
  auto what = verb == "drain" ? "what it runs ends once nothing of it is in flight; nothing new "
                                "is started there"
              : verb == "quarantine" ? "nothing is sent there from now on; what it runs stays"
                                     : "it takes work again";
  std::printf("%s is %s: %s\n", host.c_str(), text_at(*answer, "duty").c_str(), what);
  return 0;
}

} // namespace assay::cli
