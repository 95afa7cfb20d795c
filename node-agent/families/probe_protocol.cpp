#include "node-agent/families/probe_protocol.hpp"

#include "src/base/device_limits.hpp"
#include "src/base/limits.hpp"
#include "src/base/overloaded.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <array>

namespace assay::agent {

namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 3> kind_words{"gauge", "counter", "state"};

/// What is wrong with a line, thrown up to `parse_look` and no further.
struct refused {
  std::string what;
};

// -- writing ----------------------------------------------------------------------------------

json::object to_json(const probed_device& d) {
  json::array processes;
  for (const auto& one : d.processes) {
    json::object made{{"pid", one.pid}};
    if (one.bytes)
      made["bytes"] = *one.bytes;
    processes.push_back(std::move(made));
  }
  json::object made{
    {"id", d.id},
    {"pci", d.pci},
    {"name", d.name},
    {"memory_bytes", d.memory_bytes},
    {"state", name(d.state)},
    {"why", d.why},
    {"processes", std::move(processes)}};
  if (d.used_bytes)
    made["used_bytes"] = *d.used_bytes;
  if (d.number)
    made["number"] = *d.number;
  return made;
}

json::object to_json(const telemetry::sample& s) {
  json::object made{
    {"device", s.device},
    {"name", s.name},
    {"unit", s.unit},
    {"kind", kind_words[static_cast<std::size_t>(s.kind)]},
    {"at_ms", s.taken.value}};
  std::visit(
    overloaded{
      [&](const telemetry::unsupported&) { made["state"] = "unsupported"; },
      [&](const telemetry::unavailable& u) {
        made["state"] = "unavailable";
        made["why"] = u.why;
      },
      [&](const telemetry::failed& f) {
        made["state"] = "failed";
        made["code"] = f.code;
        made["why"] = f.why;
      },
      [&](const auto& value) { made["value"] = value; },
    },
    s.reading
  );
  return made;
}

json::object to_json(const probed_event& e) {
  return {
    {"device", e.what.device},
    {"name", e.what.name},
    {"code", e.what.code},
    {"text", e.what.text},
    {"at_ms", e.what.at.value},
    {"sick", e.sick}};
}

// -- reading ----------------------------------------------------------------------------------

std::string text_at(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  if (!value)
    return {};
  if (!value->is_string() || value->get_string().size() > limits::probe_text_bytes)
    throw refused{"`" + std::string{key} + "` is no text, or a longer one than is allowed"};
  return std::string{value->get_string()};
}

template <class Number>
std::optional<Number> number_at(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  if (!value)
    return {};
  boost::system::error_code bad;
  auto number = value->to_number<Number>(bad);
  if (bad)
    throw refused{"`" + std::string{key} + "` is no whole number, or none that fits"};
  return number;
}

/// Each element of the list at `key`, which must be an object.
template <class Read>
void each(const json::object& from, std::string_view key, std::size_t most, Read read) {
  const auto* value = from.if_contains(key);
  if (!value)
    return;
  if (!value->is_array() || value->get_array().size() > most)
    throw refused{
      "`" + std::string{key} + "` is no list, or has more than " + std::to_string(most)
      + " entries"};
  for (const auto& one : value->get_array()) {
    if (!one.is_object())
      throw refused{"an entry of `" + std::string{key} + "` is no object"};
    read(one.get_object());
  }
}

template <std::size_t N>
std::size_t word_at(
  const json::object& from, std::string_view key, const std::array<std::string_view, N>& words
) {
  auto text = text_at(from, key);
  if (text.empty())
    return 0;
  auto at = std::ranges::find(words, text);
  if (at == words.end())
    throw refused{"`" + std::string{key} + "` is '" + text + "', which is no word for it"};
  return static_cast<std::size_t>(at - words.begin());
}

fabric::device_state state_at(const json::object& from) {
  using enum fabric::device_state;
  auto text = text_at(from, "state");
  for (auto state : {offered, withheld, sick, lost})
    if (text == name(state) || (text.empty() && state == offered))
      return state;
  throw refused{"`state` is '" + text + "', which is no word for it"};
}

probed_device device_of(const json::object& from) {
  probed_device d{
    .id = text_at(from, "id"),
    .pci = text_at(from, "pci"),
    .name = text_at(from, "name"),
    .memory_bytes = number_at<std::uint64_t>(from, "memory_bytes").value_or(0),
    .used_bytes = number_at<std::uint64_t>(from, "used_bytes"),
    .state = state_at(from),
    .why = text_at(from, "why"),
    .number = number_at<std::uint64_t>(from, "number"),
  };
  if (d.id.empty())
    throw refused{"a device has no `id`"};
  if (d.state == fabric::device_state::withheld)
    throw refused{"`state` is 'withheld': name the `processes`, who they belong to is not the "
                  "probe's to say"};
  each(from, "processes", limits::probe_list, [&](const json::object& one) {
    d.processes.push_back(
      {number_at<std::int64_t>(one, "pid").value_or(0), number_at<std::uint64_t>(one, "bytes")}
    );
  });
  return d;
}

telemetry::reading reading_of(const json::object& from) {
  auto state = text_at(from, "state");
  if (state == "unsupported")
    return telemetry::unsupported{};
  if (state == "unavailable")
    return telemetry::unavailable{text_at(from, "why")};
  if (state == "failed")
    return telemetry::failed{
      number_at<std::int64_t>(from, "code").value_or(0), text_at(from, "why")};
  if (!state.empty())
    throw refused{
      "`state` of a sample is '" + state + "'; allowed: unsupported, unavailable, failed"};
  const auto* value = from.if_contains("value");
  if (!value)
    throw refused{"a sample has neither `value` nor `state`"};
  switch (value->kind()) {
  case json::kind::uint64:
    return value->get_uint64();
  case json::kind::int64:
    if (value->get_int64() >= 0)
      return static_cast<std::uint64_t>(value->get_int64());
    return value->get_int64();
  case json::kind::double_:
    return value->get_double();
  case json::kind::string:
    return text_at(from, "value");
  default:
    throw refused{"the `value` of a sample is neither a number nor a text"};
  }
}

family_look look_of(std::string_view family, const json::object& from) {
  family_look look;
  look.fault = text_at(from, "fault");
  each(from, "devices", limits::probe_list, [&](const json::object& one) {
    look.devices.push_back(device_of(one));
  });
  if (const auto* stack = from.if_contains("stack")) {
    if (!stack->is_object())
      throw refused{"`stack` is no object"};
    for (const auto& [name, value] : stack->get_object())
      look.stack[std::string{name}] = text_at(stack->get_object(), name);
  }
  each(from, "samples", limits::fabric_items, [&](const json::object& one) {
    look.samples.push_back({
      .family = std::string{family},
      .name = text_at(one, "name"),
      .unit = text_at(one, "unit"),
      .kind = static_cast<telemetry::sample_kind>(word_at(one, "kind", kind_words)),
      .device = text_at(one, "device"),
      .reading = reading_of(one),
      .taken = {number_at<std::int64_t>(one, "at_ms").value_or(0)},
    });
  });
  each(from, "events", limits::probe_list, [&](const json::object& one) {
    look.events.push_back(
      {{
         .family = catalog::parse_family(family).value_or(catalog::family::plugin),
         .device = text_at(one, "device"),
         .name = text_at(one, "name"),
         .code = number_at<std::int64_t>(one, "code").value_or(0),
         .text = text_at(one, "text"),
         .at = {number_at<std::int64_t>(one, "at_ms").value_or(0)},
       },
       text_at(one, "sick")}
    );
  });
  return look;
}

problem no_look(std::string_view family, const std::string& why) {
  return {
    problem_kind::invalid,
    "the answer of the probe cannot be read: " + why,
    std::string{family},
    "docs/families.md says what a probe answers"};
}

} // namespace

std::string to_line(const family_look& look) {
  json::object made;
  json::array devices, samples, events;
  for (const auto& one : look.devices)
    devices.push_back(to_json(one));
  for (const auto& one : look.samples)
    samples.push_back(to_json(one));
  for (const auto& one : look.events)
    events.push_back(to_json(one));
  json::object stack;
  for (const auto& [name, value] : look.stack)
    stack[name] = value;
  made["devices"] = std::move(devices);
  made["stack"] = std::move(stack);
  made["samples"] = std::move(samples);
  made["events"] = std::move(events);
  if (!look.fault.empty())
    made["fault"] = look.fault;
  return json::serialize(made);
}

result<family_look, problem> parse_look(std::string_view family, std::string_view line) {
  boost::system::error_code bad;
  auto document = json::parse({line.data(), line.size()}, bad);
  if (bad || !document.is_object())
    return unexpected{no_look(family, bad ? bad.message() : "it is no JSON object")};
  try {
    return look_of(family, document.get_object());
  } catch (const refused& why) {
    return unexpected{no_look(family, why.what)};
  }
}

} // namespace assay::agent
