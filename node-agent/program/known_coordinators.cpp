#include "node-agent/program/known_coordinators.hpp"

#include "node-agent/host/process.hpp"
#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"
#include "src/fabric/curve_keys.hpp"
#include "src/fabric/line.hpp"

#include <boost/json.hpp>

#include <optional>

namespace assay::agent {

namespace {

namespace json = boost::json;

constexpr std::string_view configured_key = "configured";
constexpr std::string_view learned_key = "learned";

problem damaged(const std::filesystem::path& file) {
  return {
    problem_kind::invalid,
    "the list of coordinators that this agent was told of cannot be read",
    file.native(),
    "nothing is to be done: those of the configuration are dialled, and the list is written anew"};
}

json::array to_json(const coordinators& list) {
  json::array out;
  for (const auto& one : list)
    out.push_back({{"address", one.address}, {"key", fabric::to_text(one.key)}});
  return out;
}

std::optional<std::string> text_at(const json::object& in, std::string_view key) {
  const auto* value = in.if_contains(key);
  if (value == nullptr || !value->is_string())
    return {};
  return std::string{value->get_string()};
}

std::optional<fabric::coordinator_at> parse_one(const json::value& in) {
  if (!in.is_object())
    return {};
  auto address = text_at(in.get_object(), "address");
  auto key = fabric::parse_public_key(text_at(in.get_object(), "key").value_or(""));
  if (!address || !key || !fabric::can_be_dialled(*address))
    return {};
  return fabric::coordinator_at{*address, *key};
}

std::optional<coordinators> parse_list(const json::object& in, std::string_view key) {
  const auto* list = in.if_contains(key);
  if (list == nullptr || !list->is_array() || list->get_array().size() > limits::peers)
    return {};
  coordinators out;
  for (const auto& element : list->get_array()) {
    auto one = parse_one(element);
    if (!one)
      return {};
    out.push_back(*std::move(one));
  }
  return out;
}

} // namespace

std::filesystem::path known_coordinators_path(const std::filesystem::path& data) {
  return data / "agent/coordinators.json";
}

result<coordinators, problem>
read_known_coordinators(const std::filesystem::path& file, const coordinators& configured) {
  std::error_code unreadable;
  if (!std::filesystem::exists(file, unreadable))
    return coordinators{};
  boost::system::error_code bad;
  auto root = json::parse(read_small_file(file).value_or(""), bad);
  if (bad || !root.is_object())
    return unexpected{damaged(file)};
  auto belongs_to = parse_list(root.get_object(), configured_key);
  auto learned = parse_list(root.get_object(), learned_key);
  if (!belongs_to || !learned)
    return unexpected{damaged(file)};
  return *belongs_to == configured ? *std::move(learned) : coordinators{};
}

result<void, problem> write_known_coordinators(
  const std::filesystem::path& file, const coordinators& configured, const coordinators& learned
) {
  json::object root{{configured_key, to_json(configured)}, {learned_key, to_json(learned)}};
  return replace_file(file, json::serialize(root) + '\n', 0600);
}

void coordinator_memory::learn(coordinators learned) {
  std::lock_guard hold{mutex_};
  learned_ = std::move(learned);
}

void coordinator_memory::keep() {
  std::lock_guard write_alone{writing_};
  coordinators newest;
  {
    std::lock_guard hold{mutex_};
    newest = learned_;
  }
  if (auto kept = write_known_coordinators(file_, configured_, newest); !kept)
    log::warn("coordinators_not_kept", {{"why", to_text(kept.error())}});
}

} // namespace assay::agent
