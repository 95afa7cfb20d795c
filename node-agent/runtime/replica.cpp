#include "node-agent/runtime/replica.hpp"

#include "node-agent/host/artifact_check.hpp"
#include "node-agent/host/folder_watch.hpp"
#include "node-agent/runtime/launch_plan.hpp"
#include "node-agent/runtime/log_file.hpp"
#include "src/base/log.hpp"
#include "src/base/overloaded.hpp"
#include "src/wire/fabric_codec.hpp"

#include <boost/json.hpp>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <span>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto order_file = "order.capnp";
constexpr auto endpoint_file = "endpoint.json";
constexpr auto proof_file = "proved"; ///< The engine's version, once a real generation succeeded.
constexpr auto holder_patience = 10s; ///< From fork to holder.json; a busy disk may take its time.
constexpr auto holder_look = 200ms;   ///< For a holder that ends and writes nothing.
constexpr std::size_t folder_name_bytes = 100;

const catalog::artifact_kind adopted_kind = catalog::artifact_kind::adopted;

template <class Field>
auto field_of(const replica_order& order, Field field) {
  return std::visit([&](const auto& o) { return field(o); }, order);
}

replica_id id_of(const replica_order& order) {
  return field_of(order, [](const auto& o) { return o.replica; });
}

std::uint64_t generation_of(const replica_order& order) {
  return field_of(order, [](const auto& o) { return o.generation; });
}

std::string profile_text_of(const replica_order& order) {
  return field_of(order, [](const auto& o) { return o.profile_text; });
}

bool is_adopted(const replica_order& order) {
  return std::holds_alternative<fabric::adopt_replica>(order);
}

std::string encode_order(const replica_order& order) {
  return std::visit(
    [](const auto& o) { return wire::encode(fabric::coordinator_message{o}); }, order
  );
}

result<replica_order, problem> read_order(const fs::path& directory) {
  auto path = directory / order_file;
  auto bytes = read_small_file(path);
  problem damaged{
    problem_kind::invalid,
    "the order of this replica is missing or damaged",
    path.native(),
    "remove the folder; the coordinator starts another replica"};
  if (!bytes)
    return unexpected{damaged};
  auto message = wire::decode_coordinator_message(std::as_bytes(std::span{*bytes}));
  if (!message)
    return unexpected{damaged};
  if (auto* start = std::get_if<fabric::start_replica>(&*message))
    return replica_order{std::move(*start)};
  if (auto* adopt = std::get_if<fabric::adopt_replica>(&*message))
    return replica_order{std::move(*adopt)};
  return unexpected{damaged};
}

result<catalog::runtime_profile, problem> read_profile(const replica_order& order) {
  auto profile = catalog::parse_profile("profile", profile_text_of(order));
  if (profile)
    return std::move(*profile);
  return unexpected{
    profile.error().empty() ? problem{problem_kind::invalid, "the runtime profile is not readable"}
                            : profile.error().front()};
}

life::rules rules_of(const catalog::runtime_profile& profile, bool ours) {
  const auto& phases = profile.phases;
  return {
    phases.ready_times,
    phases.live ? phases.live->failures : phases.ready.failures,
    profile.phases.cold_start.limit,
    limits::suspicion,
    ours};
}

std::string signal_name(int number) {
  const auto* name = ::sigabbrev_np(number);
  return name ? std::string{"SIG"} + name : "signal " + std::to_string(number);
}

std::string how_it_ended(const exit_record& record) {
  return record.signal ? "ended by " + signal_name(*record.signal)
                       : "ended with exit code " + std::to_string(record.code.value_or(0));
}

/// The last line of the log that the profile knows, as its meaning.
std::string meaning_of_log(const catalog::runtime_profile& profile, const std::string& tail) {
  std::string meaning;
  for (std::size_t begin = 0; begin < tail.size();) {
    auto end = std::min(tail.find('\n', begin), tail.size());
    auto line = std::string_view{tail}.substr(begin, end - begin);
    if (const auto* rule = catalog::match_log(profile, line))
      meaning = rule->means + " (" + std::string{line.substr(0, 200)} + ')';
    begin = end + 1;
  }
  return meaning;
}

std::string last_line(const std::string& tail) {
  auto end = tail.find_last_not_of("\n\r ");
  if (end == std::string::npos)
    return {};
  auto begin = tail.rfind('\n', end);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return tail.substr(begin, std::min<std::size_t>(end + 1 - begin, 300));
}

/// Folders of ended replicas are kept for their logs, the newest of them.
void prune_ended(const fs::path& replicas) {
  std::multimap<fs::file_time_type, fs::path> ended;
  std::error_code error;
  for (fs::directory_iterator entry{replicas, error}, end; !error && entry != end;
       entry.increment(error))
    if (!fs::exists(entry->path() / order_file, error))
      ended.emplace(entry->last_write_time(error), entry->path());
  for (; ended.size() > limits::ended_replicas_kept; ended.erase(ended.begin()))
    fs::remove_all(ended.begin()->second, error);
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> result;
  for (auto** entry = environ; entry && *entry; ++entry)
    if (const auto* equals = std::strchr(*entry, '='))
      result.emplace(std::string(*entry, static_cast<std::size_t>(equals - *entry)), equals + 1);
  return result;
}

} // namespace

std::string folder_name(const replica_id& replica, std::uint64_t generation) {
  auto readable = replica.value.substr(0, folder_name_bytes);
  for (auto& c : readable)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_')
      c = '_';
  // Two ids may read alike after that; their digests do not.
  return readable + '-' + to_text(sha256(replica.value)).substr(7, 12) + '.'
         + std::to_string(generation);
}

replica::replica(
  replica_surroundings& around,
  replica_order order,
  catalog::runtime_profile profile,
  artifact_listener listener
)
  : around_{around}, order_{std::move(order)},
    profile_{std::make_shared<const catalog::runtime_profile>(std::move(profile))},
    listener_{std::move(listener)}, rules_{rules_of(*profile_, !is_adopted(order_))},
    directory_{around.replicas_directory / folder_name(id_of(order_), generation_of(order_))} {}

replica::~replica() {
  give_ports_back();
}

result<std::unique_ptr<replica>, problem>
replica::make(replica_surroundings& around, replica_order order, artifact_listener listener) {
  auto profile = read_profile(order);
  if (!profile)
    return unexpected{profile.error()};
  std::unique_ptr<replica> made{
    new replica{around, std::move(order), std::move(*profile), std::move(listener)}};
  std::error_code error;
  fs::create_directories(made->directory_, error);
  if (error)
    return unexpected{problem{
      problem_kind::unavailable,
      "the replica's folder cannot be made: " + error.message(),
      made->directory_.native(),
      "check the data directory and its disk"}};
  fs::permissions(made->directory_, fs::perms::owner_all, error);
  if (auto written = replace_file(made->directory_ / order_file, encode_order(made->order_), 0600);
      !written)
    return unexpected{written.error()};
  return made;
}

result<std::unique_ptr<replica>, problem> replica::take_over(
  replica_surroundings& around, const fs::path& directory, artifact_listener listener
) {
  auto order = read_order(directory);
  if (!order)
    return unexpected{order.error()};
  auto profile = read_profile(*order);
  if (!profile)
    return unexpected{profile.error()};
  std::unique_ptr<replica> made{
    new replica{around, std::move(*order), std::move(*profile), std::move(listener)}};
  made->directory_ = directory;
  made->taken_over_ = true;
  made->rules_.found = true;
  if (auto version = read_small_file(directory / proof_file)) {
    made->proven_ = true;
    made->engine_version_ = *version;
  }
  if (!is_adopted(made->order_))
    if (auto loaded = made->load_endpoint(); !loaded)
      return unexpected{loaded.error()};
  return made;
}

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
    make_prober({{"served_name", order.model.value}});
  }
  return resume();
}

result<void, problem> replica::verify_artifact() {
  const auto& artifact = std::get<fabric::start_replica>(order_).artifact;
  if (artifact.kind == adopted_kind)
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
  auto plan = plan_launch(*profile_, order, place);
  if (!plan)
    return unexpected{plan.error()};
  launch_text_ = launch_text(*profile_, slots_of(order, place));
  started_at_ = wall_now();
  if (auto saved = save_endpoint(); !saved)
    return unexpected{saved.error()};
  auto holder = start_holder(directory_, *plan, around_.holder_program);
  if (!holder)
    return unexpected{holder.error()};
  holder_ = *holder;
  address_ = {"127.0.0.1", port_, {}};
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
    address_ = {"127.0.0.1", port_, {}};
    launch_place place;
    place.port = port_;
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

std::optional<holding> replica::held() const {
  std::lock_guard guard{mutex_};
  return held_;
}

std::optional<life::event> replica::look_at_process(bool& starting) {
  std::optional<process_ref> started;
  {
    std::lock_guard guard{mutex_};
    started = holder_;
  }
  return std::visit(
    overloaded{
      [&](const holder_starting&) -> std::optional<life::event> {
        starting = true;
        return {};
      },
      [&](const holder_alive& alive) -> std::optional<life::event> {
        std::lock_guard guard{mutex_};
        held_ = alive.held;
        return {};
      },
      [&](const holder_ended& end) -> std::optional<life::event> { return end_with(end.record); },
      [&](const holder_lost& lost) -> std::optional<life::event> {
        auto killed = end_leftovers(directory_);
        return life::ended{
          lost.why + "; " + std::to_string(killed) + " processes that it left were ended"};
      },
    },
    look_at_holder(directory_, started)
  );
}

life::event replica::end_with(const exit_record& record) {
  auto tail = log_tail(limits::log_tail_bytes);
  if (!record.not_started.empty()) {
    std::lock_guard guard{mutex_};
    log_tail_ = tail;
    return life::ended{record.not_started};
  }
  auto phase = record.asked  ? catalog::run_phase::stopping
               : has_served_ ? catalog::run_phase::serving
                             : catalog::run_phase::loading;
  auto meaning = catalog::classify_exit(*profile_, phase, {record.code, record.signal});
  auto text = how_it_ended(record) + ": " + meaning.means;
  if (record.oom_kills > 0)
    text += "; the kernel killed " + std::to_string(record.oom_kills) + " processes for memory";
  if (!record.asked) {
    auto known = meaning_of_log(*profile_, tail);
    auto last = known.empty() ? last_line(tail) : known;
    if (!last.empty())
      text += "; its log: " + last;
  }
  std::lock_guard guard{mutex_};
  log_tail_ = tail;
  exit_ = fabric::exit_report{
    record.signal.has_value(), record.signal ? *record.signal : record.code.value_or(0), text};
  return life::ended{text};
}

life::event replica::look(bool serving) {
  life::sighted nothing{
    std::chrono::steady_clock::now(), life::verdict::unreachable, "it does not run yet"};
  return launching_ ? nothing : look_now(serving);
}

life::event replica::look_now(bool serving) {
  if (serving)
    has_served_ = true;
  if (!is_adopted(order_)) {
    auto starting = false;
    if (auto ended = look_at_process(starting))
      return *ended;
    if (stop_asked_) // An engine that ends is not asked how it is.
      return life::sighted{
        std::chrono::steady_clock::now(), life::verdict::unreachable, "it is ending"};
  }
  auto seen = prober_->look(serving, held());
  seen.now = std::chrono::steady_clock::now();
  return seen;
}

life::event replica::prove() {
  auto proof = prober_->prove(held());
  auto now = std::chrono::steady_clock::now();
  if (!proof.failure.empty())
    return life::proof_failed{now, proof.failure};
  // Without the file the next agent proves it again, which costs no more than a pause.
  if (auto kept = replace_file(directory_ / proof_file, proof.engine_version, 0600); !kept)
    log::warn("proof_not_kept", {{"why", to_text(kept.error())}});
  std::lock_guard guard{mutex_};
  engine_version_ = proof.engine_version;
  return life::proved{now};
}

void replica::stop() {
  stop_asked_ = true;
  if (!is_adopted(order_))
    ask_to_stop(directory_);
}

void replica::forget() {
  std::error_code error;
  fs::remove(directory_ / order_file, error);
  prune_ended(around_.replicas_directory);
}

std::string replica::log_tail(std::size_t bytes) const {
  auto errors = read_log_tail(directory_ / "stderr.log", bytes);
  auto rest = bytes - std::min(bytes, errors.size());
  return read_log_tail(directory_ / "stdout.log", rest) + errors;
}

fabric::replica_report replica::describe() const {
  fabric::replica_report report;
  report.replica = id_of(order_);
  report.generation = generation_of(order_);
  report.implementation = field_of(order_, [](const auto& o) { return o.implementation; });
  report.slots = field_of(order_, [](const auto& o) { return o.slots; });
  report.adopted = is_adopted(order_);
  auto fields = around_.stack ? around_.stack->current().fields : stack_fields{};
  fields["profile"] = to_text(sha256(profile_text_of(order_)));
  std::lock_guard guard{mutex_};
  fields["launch"] = launch_text_;
  fields["engine"] = profile_->runtime + ' ' + engine_version_;
  report.fingerprint = make_fingerprint(std::move(fields)).sum;
  report.address = address_.host;
  report.port = address_.port;
  report.secret = secret_;
  report.exit = exit_;
  report.log_tail = log_tail_;
  report.started_at = started_at_;
  return report;
}

} // namespace assay::agent
