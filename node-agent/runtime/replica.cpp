#include "node-agent/runtime/replica.hpp"

#include "node-agent/runtime/exit_text.hpp"
#include "node-agent/runtime/log_file.hpp"
#include "src/base/log.hpp"
#include "src/base/loopback.hpp"
#include "src/base/overloaded.hpp"

#include <map>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;

constexpr auto proof_file = "proved"; ///< The engine's version, once a real generation succeeded.
constexpr std::size_t folder_name_bytes = 100;
/// An adopted server is asked for its version: what changed is known within 10 s, look included.
constexpr std::chrono::seconds version_every{5};

/// Folders of ended replicas are kept for their logs, the newest of them.
void prune_ended(const fs::path& replicas) {
  std::multimap<fs::file_time_type, fs::path> ended;
  std::error_code error;
  for (fs::directory_iterator entry{replicas, error}, end; !error && entry != end;
       entry.increment(error))
    if (!has_order(entry->path()))
      ended.emplace(entry->last_write_time(error), entry->path());
  for (; ended.size() > limits::ended_replicas_kept; ended.erase(ended.begin()))
    fs::remove_all(ended.begin()->second, error);
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
  if (auto written = write_order(made->directory_, made->order_); !written)
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
  std::lock_guard guard{mutex_};
  log_tail_ = tail;
  if (!record.not_started.empty())
    return life::ended{record.not_started};
  auto text = exit_text(*profile_, record, tail, has_served_);
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
  auto is_well = seen.verdict == life::verdict::good || seen.verdict == life::verdict::saturated;
  if (!is_well) {
    version_due_ = seen.now; // It may come back as another one.
  } else if (is_adopted(order_) && seen.now >= version_due_.load()) {
    version_due_ = seen.now + version_every;
    ask_version();
  }
  return seen;
}

/// A server that somebody else starts may be another one from one look to the next.
void replica::ask_version() {
  auto version = prober_->version();
  if (version.empty()) // One that could not be read says nothing new.
    return;
  std::lock_guard guard{mutex_};
  engine_version_ = version;
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
  forget_order(directory_);
  prune_ended(around_.replicas_directory);
}

std::string replica::log_tail(std::size_t bytes) const {
  auto errors = read_log_tail(directory_ / "stderr.log", bytes);
  auto rest = bytes - std::min(bytes, errors.size());
  return read_log_tail(directory_ / "stdout.log", rest) + errors;
}

std::string replica::engine_version() const {
  std::lock_guard guard{mutex_};
  return engine_version_;
}

fabric::replica_report replica::describe() const {
  fabric::replica_report report;
  report.replica = id_of(order_);
  report.generation = generation_of(order_);
  report.implementation = implementation_of(order_);
  report.slots = slots_of(order_);
  report.adopted = is_adopted(order_);
  if (const auto* start = std::get_if<fabric::start_replica>(&order_))
    report.devices = start->devices;
  auto fields = around_.stack ? around_.stack->current().fields : stack_fields{};
  fields["profile"] = to_text(sha256(profile_text_of(order_)));
  std::lock_guard guard{mutex_};
  fields["launch"] = launch_text_;
  fields["engine"] = profile_->runtime + ' ' + engine_version_;
  report.fingerprint = make_fingerprint(std::move(fields)).sum;
  report.engine = engine_version_;
  report.address = address_.host;
  report.port = address_.port;
  report.loopback = own_loopback();
  report.secret = secret_;
  report.exit = exit_;
  report.log_tail = log_tail_;
  report.started_at = started_at_;
  return report;
}

} // namespace assay::agent
