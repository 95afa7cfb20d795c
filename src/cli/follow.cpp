#include "src/cli/commands.hpp"

#include <condition_variable>
#include <mutex>

namespace assay::cli {

namespace {

constexpr std::chrono::milliseconds poll_every{250};

} // namespace

void pause(std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock{mutex};
  never.wait_for(lock, time, [] { return false; });
}

result<json::object, problem> follow(
  const context& c,
  const std::string& path,
  std::chrono::seconds limit,
  const std::function<bool(const json::object&)>& is_done,
  const std::function<void(const json::object&)>& tell
) {
  auto until = std::chrono::steady_clock::now() + limit;
  while (true) {
    auto answer = c.server.get(path);
    if (!answer)
      return unexpected{answer.error()};
    const auto* item = answer->if_contains("item");
    const auto& seen = item && item->is_object() ? item->get_object() : *answer;
    tell(seen);
    if (is_done(seen))
      return seen;
    if (std::chrono::steady_clock::now() >= until)
      return unexpected{problem{
        problem_kind::unavailable,
        "not finished after " + std::to_string(limit.count()) + " s",
        path,
        "it goes on by itself; look again, or wait longer with --timeout"}};
    pause(poll_every);
  }
}

std::string text_at(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  return value ? (value->is_string() ? std::string{value->get_string()} : cell(key, *value))
               : std::string{};
}

std::int64_t number_at(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  if (!value || !value->is_number())
    return 0;
  boost::system::error_code inexact; // A number that does not fit is shown as nothing.
  auto number = value->to_number<std::int64_t>(inexact);
  return inexact ? 0 : number;
}

} // namespace assay::cli
