#include "src/app/waiting_room.hpp"

#include "src/app/founding.hpp"
#include "src/app/joining.hpp"
#include "src/app/member_address.hpp"
#include "src/app/monitor.hpp"
#include "src/app/restoring.hpp"
#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/catalog/declarations.hpp"
#include "src/http/service_listener.hpp"
#include "src/ledger/record.hpp"
#include "src/store/ledger_engine.hpp"
#include "src/store/moments.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <mutex>

namespace assay::app {

namespace {

namespace json = boost::json;

constexpr auto what_to_do =
  "assay cluster init founds a cluster here; assay cluster join - takes a token of one that exists";

http::service_response refuse(const problem& p) {
  json::object error{
    {"kind", name(p.kind)}, {"what", p.what}, {"where", p.where}, {"next", p.next}};
  return {
    http_status(p.kind),
    "application/json",
    json::serialize(json::object{{"error", std::move(error)}})};
}

problem bad_name() {
  return {
    problem_kind::invalid,
    "a cluster cannot have this name",
    "name",
    "take 1 to " + std::to_string(limits::name_bytes) + " letters, digits, '.', '_' and '-'"};
}

/// Each call takes one word, and only `init` can do without.
std::optional<problem> wrong_body(const json::object& body, std::string_view key) {
  for (const auto& [word, value] : body)
    if (word != key)
      return problem{
        problem_kind::invalid,
        "this word is not known here",
        std::string{word}.substr(0, limits::name_bytes),
        "allowed: " + std::string{key}};
  const auto* value = body.if_contains(key);
  if (!value && key != "name")
    return problem{problem_kind::invalid, "is missing", std::string{key}, "give a JSON string"};
  if (value && !value->is_string())
    return problem{problem_kind::invalid, "is no string", std::string{key}, "give a JSON string"};
  return {};
}

class waiting_room {
public:
  waiting_room(const settings& how, const store::data_directory& directory, own_secrets secrets)
    : how_{how}, directory_{directory}, secrets_{std::move(secrets)} {}

  http::service_response serve(const http::service_request& request) {
    if (!request.peer_uid)
      return refuse({problem_kind::forbidden, "the admin API needs its socket", {}, {}});
    boost::system::error_code bad;
    auto body = request.body.empty() ? json::value(json::object()) : json::parse(request.body, bad);
    if (bad || !body.is_object())
      return refuse({problem_kind::invalid, "the body is not a JSON object", request.path, {}});
    if (request.method == "POST" && request.path == "/assay/v1/cluster/init")
      return take(body.get_object(), "name", [this](const auto& name) { return found(name); });
    if (request.method == "POST" && request.path == "/assay/v1/cluster/join")
      return take(body.get_object(), "token", [this](const auto& token) { return join(token); });
    if (request.method == "POST" && request.path == "/assay/v1/cluster/restore")
      return take(body.get_object(), "file", [this](const auto& file) {
        return restore_member(how_, directory_, file);
      });
    return refuse(
      {problem_kind::unavailable, "this assayd belongs to no cluster yet", how_.name, what_to_do}
    );
  }

  std::optional<place> decided() const {
    std::lock_guard hold{mutex_};
    return decided_;
  }

private:
  template <class Deed>
  http::service_response take(const json::object& body, std::string_view key, Deed deed) {
    if (auto wrong = wrong_body(body, key))
      return refuse(*wrong);
    const auto* value = body.if_contains(key);
    std::lock_guard hold{mutex_};
    if (decided_)
      return refuse({problem_kind::refused, "it is decided already and starts now", {}, {}});
    auto got = deed(value ? std::string{value->get_string()} : std::string{});
    if (!got)
      return refuse(got.error());
    if (auto done = write_place(directory_, *got); !done)
      return refuse(done.error());
    decided_ = *got;
    json::object document{
      {"cluster", to_text(got->cluster)},
      {"cluster_name", got->cluster_name},
      {"name", got->name},
      {"node", got->node}};
    return {200, "application/json", json::serialize(document)};
  }

  /// A cluster of one, which others can join. Begun again after a crash: what is there stays.
  result<place, problem> found(const std::string& name) {
    if (!how_.is_coordinator)
      return unexpected{problem{
        problem_kind::refused,
        "a separate ingress cannot found a cluster",
        how_.name,
        "found it on a coordinator, then join here with a token: assay cluster token --ingress"}};
    if (!name.empty() && !catalog::is_name(name))
      return unexpected{bad_name()};
    if (auto half = half_restored())
      return unexpected{*half};
    if (store::ledger_engine::is_prepared_to_join(directory_))
      return unexpected{half_done("a join", "assay cluster join")};
    place out{new_uuid7(), name.empty() ? "assay" : name, 1, how_.name, {}};
    store::engine_options options;
    options.server_id = out.node;
    options.address = member_addresses(how_).peers;
    if (!store::ledger_engine::is_bootstrapped(directory_))
      if (auto done = store::ledger_engine::bootstrap(directory_, options); !done)
        return unexpected{done.error()};
    return out;
  }

  result<place, problem> join(const std::string& token) {
    if (auto half = half_restored())
      return unexpected{*half};
    auto is_begun = store::ledger_engine::is_bootstrapped(directory_);
    if (is_begun && !store::ledger_engine::is_prepared_to_join(directory_))
      return unexpected{half_done("a cluster of its own", "assay cluster init")};
    return join_as_member(how_, directory_, secrets_, token);
  }

  problem half_done(const std::string& what, const std::string& command) const {
    return {
      problem_kind::refused,
      what + " was begun here before",
      directory_.root().string(),
      "say " + command + " again, or stop assayd and empty the directory"};
  }

  std::optional<problem> half_restored() const {
    if (!store::holds_a_restore(directory_))
      return {};
    return problem{
      problem_kind::refused,
      "a restore was cut here before this assayd became a member",
      directory_.root().string(),
      "say assay cluster restore again, or stop assayd and empty the directory"};
  }

  const settings& how_;
  const store::data_directory& directory_;
  const own_secrets secrets_;
  mutable std::mutex mutex_;
  std::optional<place> decided_;
};

result<std::optional<place>, problem> wait_in(
  const settings& how,
  const store::data_directory& directory,
  const std::function<bool()>& is_asked_to_end
) {
  auto secrets = load_secrets(directory, true);
  if (!secrets)
    return unexpected{secrets.error()};
  waiting_room room{how, directory, std::move(*secrets)};
  http::service_options socket;
  socket.unix_path = (directory.run() / "admin.sock").string();
  auto opened =
    http::service_listener::open(std::move(socket), [&room](const http::service_request& request) {
      return room.serve(request);
    });
  if (!opened)
    return unexpected{opened.error()};
  http::service_options watched;
  watched.host = how.monitor.host;
  watched.port = how.monitor.port;
  auto monitor = http::service_listener::open(std::move(watched), serve_waiting_monitor);
  if (!monitor)
    return unexpected{at_key(monitor.error(), "monitor.listen")};
  log::info("waits_for_a_cluster", {{"data", how.data.string()}, {"next", what_to_do}});
  while (!is_asked_to_end())
    if (auto decided = room.decided())
      return decided; // The listener answers who decided before it ends.
  return std::optional<place>{};
}

} // namespace

result<std::optional<place>, problem>
find_place(const settings& how, const std::function<bool()>& is_asked_to_end) {
  auto directory = store::data_directory::open(how.data);
  if (!directory)
    return unexpected{directory.error()};
  auto known = read_place(*directory);
  if (!known || *known)
    return known;
  return wait_in(how, *directory, is_asked_to_end);
}

} // namespace assay::app
