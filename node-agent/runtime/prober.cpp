#include "node-agent/runtime/prober.hpp"

#include "node-agent/runtime/holder_link.hpp"

#include <algorithm>

namespace assay::agent {

namespace {

using outcome = catalog::sighting::outcome;

constexpr std::size_t body_bytes_max = 4 << 20; ///< A scrape of a large engine.
constexpr std::size_t detail_bytes = 200;       ///< Of a body, in a reason.
constexpr auto scrape_patience = std::chrono::milliseconds{2'000};

std::string shortened(std::string_view body) {
  std::string result{body.substr(0, detail_bytes)};
  for (auto& c : result)
    if (static_cast<unsigned char>(c) < 0x20)
      c = ' ';
  return result;
}

outcome outcome_of(http::client_failure failure) {
  switch (failure) {
  case http::client_failure::refused:
    return outcome::refused;
  case http::client_failure::timeout:
    return outcome::timed_out;
  case http::client_failure::cut:
  case http::client_failure::too_large:
  case http::client_failure::malformed:
  case http::client_failure::cancelled:
    return outcome::reset;
  }
  return outcome::reset;
}

double token_count(const std::map<std::string, catalog::signal_reading>& signals) {
  double sum = 0;
  for (const auto* name : {"tokens_in", "tokens_out"}) {
    auto found = signals.find(name);
    if (found != signals.end() && found->second.what == catalog::signal_reading::state::value)
      sum += found->second.value;
  }
  return sum;
}

std::string key_of(const catalog::observation& o) {
  return std::to_string(static_cast<int>(o.method)) + ' ' + o.path + '\n' + o.body;
}

} // namespace

void add_secret(http::client_request& request, const std::string& secret) {
  if (!secret.empty())
    request.headers.emplace_back("Authorization", "Bearer " + secret);
}

prober::prober(std::shared_ptr<const catalog::runtime_profile> profile, replica_endpoint endpoint)
  : profile_{std::move(profile)}, endpoint_{std::move(endpoint)} {}

life::sighted prober::look(bool serving, const std::optional<holding>& held) {
  switch (owner(held)) {
  case port_owner::nobody:
    return {{}, life::verdict::unreachable, "nobody listens on its port"};
  case port_owner::stranger:
    return {{}, life::verdict::stranger, stranger_text()};
  case port_owner::ours:
    break;
  }
  round asked;
  auto seen = classify(asked, serving);
  if (seen.verdict != life::verdict::unreachable && seen.verdict != life::verdict::loading)
    scrape(seen);
  return seen;
}

proof prober::prove(const std::optional<holding>& held) {
  if (owner(held) != port_owner::ours)
    return {stranger_text(), {}};
  if (auto other = identify(); !other.empty())
    return {other, {}};
  proof result{.engine_version = version()};
  round asked;
  if (!says_yes(asked, profile_->phases.deep))
    result.failure =
      "one real generation did not work: " + ask(asked, profile_->phases.deep).detail;
  return result;
}

std::string prober::version() {
  if (!profile_->version)
    return {};
  auto seen = get(profile_->version->get);
  return catalog::read_answer(*profile_->version, seen.body).value_or("");
}

port_owner prober::owner(const std::optional<holding>& held) {
  if (!held)
    return port_owner::ours;
  auto sockets = sockets_listening_on(endpoint_.address.port);
  if (sockets.empty())
    return port_owner::nobody;
  // The walk through /proc is dear; a socket that was ours stays ours.
  std::lock_guard guard{mutex_};
  if (sockets == proven_sockets_)
    return port_owner::ours;
  auto found = owner_of_port(endpoint_.address.port, process_tree(*held));
  if (found == port_owner::ours)
    proven_sockets_ = std::move(sockets);
  return found;
}

std::string prober::stranger_text() const {
  return "port " + std::to_string(endpoint_.address.port) + " is held by another program";
}

prober::answer
prober::exchange(http::client_request request, std::chrono::milliseconds patience) const {
  add_secret(request, endpoint_.secret);
  auto asked = request.method + ' ' + request.target;
  auto got =
    http::exchange(endpoint_.address, request, {patience, patience, patience, body_bytes_max});
  if (!got)
    return {outcome_of(got.error().kind), 0, {}, asked + ": " + got.error().text};
  auto detail = asked + " answered " + std::to_string(got->status) + ' ' + shortened(got->body);
  return {outcome::answered, got->status, std::move(got->body), std::move(detail)};
}

prober::answer prober::get(const std::string& path) const {
  return exchange({"GET", path, {}, {}}, scrape_patience);
}

const prober::answer& prober::ask(round& asked, const catalog::observation& o) const {
  auto [place, is_new] = asked.try_emplace(key_of(o));
  if (!is_new)
    return place->second;
  http::client_request request;
  request.method = o.method == catalog::probe_method::post ? "POST" : "GET";
  auto path = catalog::fill_template(o.path.empty() ? "/" : o.path, endpoint_.slots);
  auto body = catalog::fill_template(o.body, endpoint_.slots, true);
  if (!path || !body) {
    place->second.outcome = outcome::reset;
    place->second.detail = to_text(path ? body.error() : path.error());
    return place->second;
  }
  request.target = *path;
  request.body = *body;
  if (!request.body.empty())
    request.headers.emplace_back("Content-Type", "application/json");
  place->second = exchange(std::move(request), o.timeout);
  return place->second;
}

bool prober::says_yes(round& asked, const catalog::observation& o) const {
  const auto& seen = ask(asked, o);
  return catalog::matches(o, {seen.outcome, seen.status, seen.body}, endpoint_.slots);
}

bool prober::any_says_yes(round& asked, const std::vector<catalog::observation>& list) const {
  return std::any_of(list.begin(), list.end(), [&](const auto& o) { return says_yes(asked, o); });
}

life::sighted prober::classify(round& asked, bool serving) const {
  const auto& phases = profile_->phases;
  const auto& main = serving && phases.live ? *phases.live : phases.ready;
  auto good = says_yes(asked, main);
  const auto& seen = ask(asked, main);
  if (any_says_yes(asked, phases.saturated))
    return {{}, life::verdict::saturated, seen.detail};
  if (good)
    return {{}, life::verdict::good, seen.detail};
  if (seen.outcome == outcome::refused || seen.outcome == outcome::timed_out)
    return {{}, life::verdict::unreachable, seen.detail};
  if (any_says_yes(asked, phases.loading))
    return {{}, life::verdict::loading, seen.detail};
  return {{}, life::verdict::unclassified, seen.detail};
}

void prober::scrape(life::sighted& seen) {
  const auto& plan = profile_->metrics;
  auto now = std::chrono::steady_clock::now();
  if (plan.path.empty() || now - scraped_at_ < plan.every)
    return;
  scraped_at_ = now;
  auto got = get(plan.path);
  if (got.outcome != outcome::answered || got.status != 200)
    return; // No metrics are no reason to doubt a replica; the signals stay as old as they are.
  signals_ = catalog::extract_signals(*profile_, got.body);
  auto tokens = token_count(signals_);
  seen.progressed = tokens_ >= 0 && tokens > tokens_;
  tokens_ = tokens;
  auto running = signals_.find("running");
  if (running != signals_.end() && running->second.what == catalog::signal_reading::state::value)
    seen.running = running->second.value;
}

/// Empty when it is the engine that the profile is for.
std::string prober::identify() const {
  for (const auto& question : profile_->identify) {
    auto seen = get(question.get);
    auto text = catalog::read_answer(question, seen.body);
    if (!text || (question.equals && *text != *question.equals))
      return "it is not " + profile_->runtime + ": " + seen.detail;
  }
  return {};
}

} // namespace assay::agent
