#include "node-agent/program/control.hpp"

#include "src/base/overloaded.hpp"
#include "src/http/client.hpp"
#include "src/telemetry/native.hpp"

#include <boost/json.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_actor.hpp>

#include <algorithm>
#include <map>

namespace assay::agent {

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto question_patience = 2s;

problem no_answer(const caf::error&) {
  return {
    problem_kind::unavailable,
    "the agent does not answer itself in time",
    "UPLINK",
    "look into the agent's log"};
}

http::service_response refuse(const problem& why) {
  return {
    http_status(why.kind),
    "application/json",
    json::serialize(json::object{{"what", why.what}, {"where", why.where}, {"next", why.next}})};
}

http::service_response taken(const implementation_id& as) {
  return {200, "application/json", json::serialize(json::object{{"implementation", as.value}})};
}

problem no_outcome(const fabric::adopt_offer& offer) {
  return {
    problem_kind::unavailable,
    "the coordinator has not said what became of the offer",
    offer.url,
    "assay get implementations shows whether it was taken; if not, its log says why"};
}

http::service_response
take_offer(caf::actor_system& system, const uplink_actor& uplink, const std::string& body) {
  auto offer = parse_offer(body);
  if (!offer)
    return refuse(offer.error());
  caf::scoped_actor self{system};
  http::service_response response;
  self->request(uplink, limits::adoption_patience, adopt_question{*offer})
    .receive(
      [&](const adopt_answer& answer) {
        response = answer.taken ? taken(*answer.taken) : refuse(answer.taken.error());
      },
      [&](const caf::error&) { response = refuse(no_outcome(*offer)); }
    );
  return response;
}

telemetry::sample from_fabric(const fabric::native_sample& sample) {
  telemetry::sample result;
  result.family = catalog::name(sample.family);
  result.name = sample.name;
  result.unit = sample.unit;
  result.device = sample.device;
  result.taken = sample.at;
  result.reading = std::visit(
    overloaded{
      [](double value) -> telemetry::reading { return value; },
      [](fabric::unsupported) -> telemetry::reading { return telemetry::unsupported{}; },
      [](fabric::unavailable) -> telemetry::reading { return telemetry::unavailable{}; },
      [](fabric::failed f) -> telemetry::reading {
        return telemetry::failed{f.code, ""};
      },
      [](const std::string& text) -> telemetry::reading { return text; },
    },
    sample.value
  );
  return result;
}

problem no_agent(const std::filesystem::path& data) {
  return {
    problem_kind::unavailable,
    "no agent runs on this data directory",
    data.native(),
    "start one with `assay-agent run --data DIR --coordinator HOST:PORT`, or name another --data"};
}

std::string text_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value && value->is_string() ? std::string{value->as_string()} : std::string{};
}

} // namespace

std::filesystem::path control_socket(const std::filesystem::path& data) {
  return data / "agent/run.sock";
}

result<status_answer, problem> ask_status(caf::actor_system& system, const uplink_actor& uplink) {
  caf::scoped_actor self{system};
  result<status_answer, problem> answer = unexpected{no_answer({})};
  self->request(uplink, question_patience, status_question{})
    .receive(
      [&](const status_answer& status) { answer = status; },
      [&](const caf::error& why) { answer = unexpected{no_answer(why)}; }
    );
  return answer;
}

/// A figure that is old must look old.
std::string ages_text(const status_answer& status) {
  std::map<std::string, std::int64_t> oldest;
  auto now = wall_now();
  for (const auto& one : status.samples) {
    auto& age = oldest[std::string{catalog::name(one.family)}];
    age = std::max(age, now.value - one.at.value);
  }
  std::string text;
  for (const auto& [family, age] : oldest)
    text += "assay_agent_sample_age_seconds{family=\"" + family + "\"} "
            + std::to_string(static_cast<double>(age) / 1'000) + '\n';
  return text;
}

std::string metrics_text(const status_answer& status) {
  std::vector<telemetry::sample> samples;
  for (const auto& sample : status.samples)
    samples.push_back(from_fabric(sample));
  return std::string{"assay_agent_sessions "} + (status.has_session ? '1' : '0')
         + "\nassay_agent_replicas " + std::to_string(status.replicas.size()) + '\n'
         + ages_text(status) + telemetry::to_prometheus(samples);
}

result<std::unique_ptr<http::service_listener>, problem> open_control(
  caf::actor_system& system, const uplink_actor& uplink, const std::filesystem::path& data
) {
  http::service_options options;
  options.unix_path = control_socket(data).native();
  options.threads = 1;
  options.connections = 16;
  return http::service_listener::open(options, [&system, uplink](const http::service_request& r) {
    if (r.method == "POST" && r.path == "/adopt")
      return take_offer(system, uplink, r.body);
    return refuse({problem_kind::not_found, "there is nothing at " + r.path, "", "POST /adopt"});
  });
}

result<std::unique_ptr<http::service_listener>, problem>
open_monitor(caf::actor_system& system, const uplink_actor& uplink, const monitor_address& where) {
  http::service_options options;
  options.host = where.host;
  options.port = where.port;
  options.threads = 1;
  options.connections = 16;
  auto opened =
    http::service_listener::open(options, [&system, uplink](const http::service_request& r) {
      auto status = ask_status(system, uplink);
      if (!status)
        return refuse(status.error());
      if (r.path == "/metrics")
        return http::service_response{200, "text/plain; version=0.0.4", metrics_text(*status)};
      if (r.path == "/healthz")
        return http::service_response{
          200,
          "application/json",
          json::serialize(json::object{
            {"sessions", status->has_session ? 1 : 0},
            {"replicas", status->replicas.size()},
            {"draining", status->draining}})};
      return refuse(
        {problem_kind::not_found, "there is nothing at " + r.path, "", "/metrics or /healthz"}
      );
    });
  if (opened)
    return opened;
  auto why = opened.error();
  why.where += " (monitor)";
  return unexpected{why};
}

std::string to_json(const fabric::adopt_offer& offer) {
  return json::serialize(json::object{
    {"url", offer.url},
    {"model", offer.model},
    {"profile", offer.profile.value},
    {"project", offer.project.value}});
}

result<fabric::adopt_offer, problem> parse_offer(const std::string& body) {
  problem damaged{
    problem_kind::invalid,
    "the request is not {url, model, profile, project}",
    "adopt",
    "use `assay-agent adopt`"};
  boost::system::error_code error;
  auto document = json::parse(body, error);
  if (error || !document.is_object())
    return unexpected{damaged};
  const auto& object = document.as_object();
  fabric::adopt_offer offer{
    text_at(object, "url"),
    text_at(object, "model"),
    {text_at(object, "profile")},
    {text_at(object, "project")}};
  if (offer.url.empty() || offer.model.empty() || offer.profile.value.empty())
    return unexpected{damaged};
  return offer;
}

result<implementation_id, problem>
send_offer(const std::filesystem::path& data, const fabric::adopt_offer& offer) {
  http::client_address address;
  address.unix_path = control_socket(data).native();
  http::client_request request{"POST", "/adopt", {{"Content-Type", "application/json"}}, {}};
  request.body = to_json(offer);
  auto got = http::exchange(address, request, {1s, limits::adoption_patience + 2s, 5s, 1 << 16});
  if (!got)
    return unexpected{no_agent(data)};
  boost::system::error_code error;
  auto document = json::parse(got->body, error);
  auto answer = !error && document.is_object() ? document.as_object() : json::object{};
  auto as = text_at(answer, "implementation");
  if (got->status == 200 && !as.empty())
    return implementation_id{std::move(as)};
  problem why{
    kind_of_status(got->status).value_or(problem_kind::unavailable),
    text_at(answer, "what"),
    text_at(answer, "where"),
    text_at(answer, "next")};
  if (why.what.empty()) {
    why.what = "the agent answered with status " + std::to_string(got->status) + " and no reason";
    why.where = data.native();
    why.next = "see that assay-agent is of the version of the agent that runs";
  }
  return unexpected{why};
}

} // namespace assay::agent
