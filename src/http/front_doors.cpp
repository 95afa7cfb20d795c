#include "src/http/front_doors.hpp"

#include <algorithm>

namespace assay::http {

namespace {

using contract::failure;

int hex_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// What is not a valid escape stays as it is.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto is_escape = text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0
                     && hex_value(text[i + 2]) >= 0;
    if (!is_escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
    i += 2;
  }
  return out;
}

void quote(std::string& json, std::string_view text) {
  json += '"';
  for (auto c : text) {
    if (c == '"' || c == '\\')
      json += '\\';
    if (static_cast<unsigned char>(c) >= 0x20)
      json += c;
  }
  json += '"';
}

bool may_call(const routing::key& k, const routing::model& m) {
  return k.models.empty() || std::find(k.models.begin(), k.models.end(), m.name) != k.models.end();
}

bool has_route(const routing::model& m) {
  return std::any_of(m.routes.begin(), m.routes.end(), [](const auto& r) { return r.has_value(); });
}

void write_model(std::string& json, const routing::model& m) {
  json += R"({"id":)";
  quote(json, m.id.value);
  json += R"(,"object":"model","created":0,"owned_by":"assay")";
}

void write_limit(std::string& json, std::string_view name, std::uint64_t value) {
  json += ",\"";
  json += name;
  json += "\":";
  json += value == 0 ? "null" : std::to_string(value);
}

void write_contract(std::string& json, const routing::model& m) {
  const auto& c = m.promises;
  json += R"(,"contract":{"task":)";
  quote(json, contract::name(c.task));
  json += c.streaming ? R"(,"streaming":true)" : R"(,"streaming":false)";
  write_limit(json, "context_tokens", c.limits.context_tokens);
  write_limit(json, "input_tokens", c.limits.input_tokens);
  write_limit(json, "output_tokens", c.limits.output_tokens);
  write_limit(json, "body_bytes", c.limits.body_bytes);
  json += R"(,"data_class":)";
  quote(json, c.data_class);
  json += R"(,"features":)";
  json += c.features.empty() ? "null" : "[";
  for (const auto& feature : c.features) {
    if (&feature != &c.features.front())
      json += ',';
    quote(json, feature);
  }
  json += c.features.empty() ? "" : "]";
  if (!c.safety_policy.empty()) {
    json += R"(,"safety_policy":)";
    quote(json, c.safety_policy);
  }
  json +=
    R"(,"does_not_promise":"Answers may come from unlike hardware: equal tokenisation, numbers, latency or cost across implementations is not promised."})";
}

refusal wrong_method(std::string_view allowed) {
  return {
    failure::method_not_allowed,
    "this path takes " + std::string{allowed} + " only",
    {},
    0,
    allowed};
}

refusal unknown_path(std::string_view path) {
  std::string there;
  for (std::size_t i = 0; i < contract::operation_count; ++i)
    there += "POST " + std::string{describe(static_cast<contract::operation>(i)).path} + ", ";
  return {
    failure::unknown_path,
    "no such path: " + std::string{path.substr(0, 200)} + "; there are " + there
      + "GET /v1/models and GET /v1/models/NAME"};
}

} // namespace

result<door_choice, refusal>
choose_door(std::string_view method, std::string_view path, bool wants_upgrade) {
  constexpr std::string_view models = "/v1/models";
  if (wants_upgrade && method == "GET")
    return unexpected{refusal{
      failure::upgrade_required, "WebSocket is not offered; send the request over plain HTTP"}};
  if (auto operation = contract::find_operation(path)) {
    if (method == "POST")
      return door_choice{door::inference, *operation, {}};
    return unexpected{wrong_method("POST")};
  }
  auto is_model = path.size() > models.size() + 1 && path.substr(0, models.size()) == models
                  && path[models.size()] == '/';
  if (path == models || is_model) {
    if (method != "GET")
      return unexpected{wrong_method("GET")};
    if (!is_model)
      return door_choice{door::models, {}, {}};
    return door_choice{door::model, {}, percent_decoded(path.substr(models.size() + 1))};
  }
  return unexpected{unknown_path(path)};
}

std::string list_models(const routing::routing_snapshot& s, const routing::key& k) {
  std::string json = R"({"object":"list","data":[)";
  bool first = true;
  for (const auto& m : s.models()) {
    if (!may_call(k, m) || !has_route(m))
      continue;
    json += first ? "" : ",";
    first = false;
    write_model(json, m);
    json += '}';
  }
  return json + "]}";
}

std::optional<std::string>
show_model(const routing::routing_snapshot& s, const routing::key& k, std::string_view name) {
  auto at = s.find_model(name);
  if (at == routing::none || !may_call(k, s.models()[at]))
    return {};
  std::string json;
  write_model(json, s.models()[at]);
  write_contract(json, s.models()[at]);
  return json + "}";
}

} // namespace assay::http
