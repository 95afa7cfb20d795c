// The beginning of a replica: artifact, ports, command, holder; or what an earlier agent left.

#include "node-agent/host/artifact_check.hpp"
#include "node-agent/host/folder_watch.hpp"
#include "node-agent/runtime/launch_plan.hpp"
#include "node-agent/runtime/replica.hpp"
#include "src/base/log.hpp"

#include <boost/json.hpp>
#include <unistd.h>

namespace assay::agent {

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto endpoint_file = "endpoint.json";
constexpr auto holder_patience = 10s; ///< From fork to holder.json; a busy disk may take its time.
constexpr auto holder_look = 200ms;   ///< For a holder that ends and writes nothing.

} // namespace

life::event replica::launch() {
  auto result = launch_now();
  launching_ = false;
  return result;
}

life::event replica::launch_now() {
  if (const auto* adopt = std::get_if<fabric::adopt_replica>(&order_))
    return watch(*adopt);
  if (taken_over_)
    return resume();
  if (auto verified = verify_artifact(); !verified)
    return life::launch_failed{to_text(verified.error())};
  if (stop_asked_ || around_.ending)
    return life::launch_failed{"it was stopped before it started"};
  if (auto started = start(std::get<fabric::start_replica>(order_)); !started)
    return life::launch_failed{to_text(started.error())};
  if (auto runs = wait_for_runtime(); !runs)
    return life::launch_failed{to_text(runs.error())};
  return life::launched{std::chrono::steady_clock::now()};
}

/// What was proven stays proven as long as it lives and answers.
life::event replica::resume() {
  auto now = std::chrono::steady_clock::now();
  if (!proven_)
    return life::launched{now};
  auto seen = look_now(true);
  const auto* answer = std::get_if<life::sighted>(&seen);
  if (!answer)
    return seen;
  auto is_well =
    answer->verdict == life::verdict::good || answer->verdict == life::verdict::saturated;
  return life::launched{now, is_well};
}

life::event replica::watch(const fabric::adopt_replica& order) {
  auto address = http::parse_client_address(order.url);
  if (!address)
    return life::launch_failed{"the URL cannot be used: " + address.error()};
  {
    std::lock_guard guard{mutex_};
    address_ = *address;
    started_at_ = wall_now();
    make_prober({{"served_name", catalog::served_name(order.model)}});
  }
  return resume();
}

result<void, problem> replica::verify_artifact() {
  const auto& artifact = std::get<fabric::start_replica>(order_).artifact;
  if (artifact.kind == catalog::artifact_kind::adopted)
    return {};
  catalog::artifact declared;
  declared.id = artifact.id;
  declared.files = artifact.files;
  fabric::artifact_report report{artifact.id, catalog::manifest_digest(declared)};
  auto tell = [&](fabric::artifact_state state, const artifact_progress& progress) {
    if (!listener_)
      return;
    auto copy = report;
    copy.state = state;
    copy.checked_bytes = progress.checked_bytes;
    copy.total_bytes = progress.total_bytes;
    listener_(copy);
  };
  auto checked = check_artifact(
    artifact.location,
    artifact.files,
    *around_.digests,
    [&](const artifact_progress& p) {
      // One message for each 256 MiB is enough for a progress bar.
      if (p.checked_bytes >> 28 != report.checked_bytes >> 28)
        tell(fabric::artifact_state::verifying, p);
    },
    [&] { return stop_asked_ || around_.ending; }
  );
  if (checked) {
    tell(fabric::artifact_state::verified, *checked);
    if (auto saved = around_.digests->save(); !saved)
      log::warn("digest_cache_not_saved", {{"why", to_text(saved.error())}});
    return {};
  }
  report.problem = to_text(checked.error().why);
  if (checked.error().fault != artifact_fault::cancelled)
    tell(
      checked.error().fault == artifact_fault::mismatched ? fabric::artifact_state::mismatched
                                                          : fabric::artifact_state::unreadable,
      {}
    );
  return unexpected{checked.error().why};
}

result<void, problem> replica::find_ports() {
  std::lock_guard ports{around_.ports_mutex};
  std::lock_guard guard{mutex_};
  auto next = [&]() { return find_free_port(around_.ports, around_.ports_taken); };
  auto main = next();
  if (!main)
    return unexpected{main.error()};
  port_ = *main;
  around_.ports_taken.insert(port_);
  for (const auto& plan : profile_->ports) {
    if (plan.slot == "port")
      continue;
    auto port = next();
    if (!port)
      return unexpected{port.error()};
    around_.ports_taken.insert(*port);
    more_ports_[plan.slot] = *port;
  }
  return {};
}

void replica::give_ports_back() {
  std::lock_guard ports{around_.ports_mutex};
  std::lock_guard guard{mutex_};
  around_.ports_taken.erase(port_);
  for (const auto& [slot, port] : more_ports_)
    around_.ports_taken.erase(port);
}

result<void, problem> replica::start(const fabric::start_replica& order) {
  if (auto found = find_ports(); !found)
    return unexpected{found.error()};
  launch_place place;
  if (order.plaintext_accepted) // It may look up names, so nobody waits for it.
    place.address = around_.address();
  std::lock_guard guard{mutex_};
  // A profile without `auth: bearer` has an engine that would refuse or ignore a key.
  if (profile_->api.auth == catalog::replica_auth::bearer)
    secret_ = make_secret();
  place.port = port_;
  place.more_ports = more_ports_;
  place.secret = secret_;
  place.cache_directory = around_.replicas_directory.parent_path() / "cache";
  place.path = around_.path;
  place.inherited = own_environment();
  auto bound = around_.bind(*profile_, order.devices);
  if (!bound)
    return unexpected{bound.error()};
  place.devices = *std::move(bound);
  auto plan = plan_launch(*profile_, order, place);
  if (!plan)
    return unexpected{plan.error()};
  launch_text_ = launch_text(*profile_, slots_of(order, place));
  started_at_ = wall_now();
  address_ = {place.address, port_, {}};
  if (auto saved = save_endpoint(); !saved)
    return unexpected{saved.error()};
  auto holder = start_holder(directory_, *plan, around_.holder_program);
  if (!holder)
    return unexpected{holder.error()};
  holder_ = *holder;
  make_prober(slots_of(order, place).system);
  return {};
}

void replica::make_prober(std::map<std::string, std::string> slots) {
  prober_ =
    std::make_unique<prober>(profile_, replica_endpoint{address_, secret_, std::move(slots)});
}

result<void, problem> replica::wait_for_runtime() {
  folder_watch files{directory_};
  auto until = std::chrono::steady_clock::now() + holder_patience;
  while (std::chrono::steady_clock::now() < until) {
    auto starting = false;
    auto ended = look_at_process(starting);
    if (ended)
      return unexpected{problem{
        problem_kind::unavailable, std::get<life::ended>(*ended).meaning, directory_.native()}};
    if (!starting)
      return {};
    files.wait(holder_look);
  }
  return unexpected{problem{
    problem_kind::unavailable,
    "the holder did not start within 10 s",
    (directory_ / "holder.log").native(),
    "look into the file; the disk may be too slow or full"}};
}

result<void, problem> replica::save_endpoint() const {
  json::object ports;
  for (const auto& [slot, port] : more_ports_)
    ports[slot] = port;
  auto text = json::serialize(json::object{
    {"address", address_.host},
    {"port", port_},
    {"more_ports", ports},
    {"secret", secret_},
    {"launch", launch_text_},
    {"started_ms", started_at_.value}});
  return replace_file(directory_ / endpoint_file, text, 0600);
}

result<void, problem> replica::load_endpoint() {
  auto text = read_small_file(directory_ / endpoint_file);
  try {
    auto document = json::parse(text.value_or(""));
    const auto& object = document.as_object();
    std::lock_guard ports{around_.ports_mutex};
    std::lock_guard guard{mutex_};
    port_ = object.at("port").to_number<std::uint16_t>();
    for (const auto& [slot, port] : object.at("more_ports").as_object())
      more_ports_[std::string{slot}] = port.to_number<std::uint16_t>();
    secret_ = object.at("secret").as_string();
    launch_text_ = object.at("launch").as_string();
    started_at_ = {object.at("started_ms").to_number<std::int64_t>()};
    around_.ports_taken.insert(port_);
    for (const auto& [slot, port] : more_ports_)
      around_.ports_taken.insert(port);
    launch_place place;
    if (const auto* address = object.if_contains("address")) // An older agent had one only.
      place.address = address->as_string();
    place.port = port_;
    address_ = {place.address, port_, {}};
    make_prober(slots_of(std::get<fabric::start_replica>(order_), place).system);
  } catch (const std::exception& why) {
    return unexpected{problem{
      problem_kind::invalid,
      std::string{"the replica's endpoint cannot be read: "} + why.what(),
      (directory_ / endpoint_file).native(),
      "remove the folder; the coordinator starts another replica"}};
  }
  return {};
}

} // namespace assay::agent
