#include "node-agent/runtime/exit_text.hpp"

#include <signal.h>

#include <algorithm>
#include <cstring>

namespace assay::agent {

namespace {

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

} // namespace

std::string exit_text(
  const catalog::runtime_profile& profile,
  const exit_record& record,
  const std::string& log_tail,
  bool has_served
) {
  auto phase = record.asked ? catalog::run_phase::stopping
               : has_served ? catalog::run_phase::serving
                            : catalog::run_phase::loading;
  auto meaning = catalog::classify_exit(profile, phase, {record.code, record.signal});
  auto text = how_it_ended(record) + ": " + meaning.means;
  if (record.oom_kills > 0)
    text += "; the kernel killed " + std::to_string(record.oom_kills) + " processes for memory";
  if (record.asked)
    return text;
  auto known = meaning_of_log(profile, log_tail);
  auto last = known.empty() ? last_line(log_tail) : known;
  return last.empty() ? text : text + "; its log: " + last;
}

} // namespace assay::agent
