#include "node-agent/runtime/holder_files.hpp"

#include <boost/json.hpp>

namespace assay::agent {

namespace {

namespace json = boost::json;

constexpr auto launch_file = "launch.json";
constexpr auto holder_file = "holder.json";
constexpr auto exit_file = "exit.json";

/// Reads one file and hands its object to `read`, which may throw what Boost.JSON throws.
template <class T, class Read>
result<T, problem> parse_file(const std::filesystem::path& path, Read read) {
  auto text = read_small_file(path);
  if (!text)
    return unexpected{
      problem{problem_kind::not_found, "there is no such file", path.native(), "start it again"}};
  try {
    auto document = json::parse(*text);
    return read(document.as_object());
  } catch (const std::exception& why) {
    return unexpected{problem{
      problem_kind::invalid,
      std::string{"the file is damaged: "} + why.what(),
      path.native(),
      "remove the replica's folder; the coordinator starts another"}};
  }
}

json::object ref_json(const process_ref& who) {
  return {{"pid", who.pid}, {"start_ticks", who.start_ticks}};
}

process_ref ref_from(const json::value& value) {
  const auto& object = value.as_object();
  return {object.at("pid").to_number<pid_t>(), object.at("start_ticks").to_number<std::uint64_t>()};
}

std::optional<int> number_from(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  if (!value || value->is_null())
    return {};
  return value->to_number<int>();
}

json::value number_json(const std::optional<int>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

std::string text_from(const json::value& value) {
  return std::string{value.as_string()};
}

} // namespace

std::string to_json(const launch_order& order) {
  json::object env;
  for (const auto& [name, value] : order.env)
    env[name] = value;
  return json::serialize(json::object{
    {"argv", json::array(order.argv.begin(), order.argv.end())},
    {"env", env},
    {"stop_signal", order.stop_signal},
    {"stop_grace_ms", order.stop_grace.count()},
    {"stop_group", order.stop_group},
    {"log_bytes", order.log_bytes},
  });
}

std::string to_json(const holding& held) {
  return json::serialize(json::object{
    {"holder", ref_json(held.holder)},
    {"runtime", ref_json(held.runtime)},
    {"cgroup", held.cgroup},
    {"oom_kills_before", held.oom_kills_before},
  });
}

std::string to_json(const exit_record& record) {
  return json::serialize(json::object{
    {"code", number_json(record.code)},
    {"signal", number_json(record.signal)},
    {"not_started", record.not_started},
    {"asked", record.asked},
    {"forced", record.forced},
    {"stragglers", record.stragglers},
    {"oom_kills", record.oom_kills},
    {"started_ms", record.started.value},
    {"ended_ms", record.ended.value},
  });
}

result<launch_order, problem> read_launch_order(const std::filesystem::path& directory) {
  return parse_file<launch_order>(directory / launch_file, [](const json::object& object) {
    launch_order order;
    for (const auto& word : object.at("argv").as_array())
      order.argv.push_back(text_from(word));
    for (const auto& [name, value] : object.at("env").as_object())
      order.env[std::string{name}] = text_from(value);
    order.stop_signal = object.at("stop_signal").to_number<int>();
    order.stop_grace =
      std::chrono::milliseconds{object.at("stop_grace_ms").to_number<std::int64_t>()};
    order.stop_group = object.at("stop_group").as_bool();
    order.log_bytes = object.at("log_bytes").to_number<std::uint64_t>();
    if (order.argv.empty())
      throw std::runtime_error{"argv is empty"};
    return order;
  });
}

result<holding, problem> read_holding(const std::filesystem::path& directory) {
  return parse_file<holding>(directory / holder_file, [](const json::object& object) {
    return holding{
      ref_from(object.at("holder")),
      ref_from(object.at("runtime")),
      text_from(object.at("cgroup")),
      object.at("oom_kills_before").to_number<std::uint64_t>()};
  });
}

result<exit_record, problem> read_exit_record(const std::filesystem::path& directory) {
  return parse_file<exit_record>(directory / exit_file, [](const json::object& object) {
    exit_record record;
    record.code = number_from(object, "code");
    record.signal = number_from(object, "signal");
    record.not_started = text_from(object.at("not_started"));
    record.asked = object.at("asked").as_bool();
    record.forced = object.at("forced").as_bool();
    record.stragglers = object.at("stragglers").to_number<std::uint32_t>();
    record.oom_kills = object.at("oom_kills").to_number<std::uint64_t>();
    record.started = {object.at("started_ms").to_number<std::int64_t>()};
    record.ended = {object.at("ended_ms").to_number<std::int64_t>()};
    return record;
  });
}

result<void, problem> write(const std::filesystem::path& directory, const launch_order& order) {
  return replace_file(directory / launch_file, to_json(order), 0600);
}

result<void, problem> write(const std::filesystem::path& directory, const holding& held) {
  return replace_file(directory / holder_file, to_json(held), 0600);
}

result<void, problem> write(const std::filesystem::path& directory, const exit_record& record) {
  return replace_file(directory / exit_file, to_json(record), 0644);
}

std::string hold_mark(const process_ref& holder) {
  return std::string{hold_variable} + '=' + std::to_string(holder.pid) + '.'
         + std::to_string(holder.start_ticks);
}

} // namespace assay::agent
