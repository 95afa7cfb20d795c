#include "src/base/log.hpp"

#include "src/base/text.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

namespace assay::log {

namespace {

/// Among them is what steers a terminal.
bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool needs_quotes(std::string_view value) {
  return value.empty() || value.find_first_of(" \"=\\") != std::string_view::npos
         || std::ranges::any_of(value, is_control);
}

void append_quoted(std::string& line, std::string_view value) {
  line += '"';
  for (auto c : value) {
    if (c == '"' || c == '\\')
      line += '\\';
    // A log line stays one line whatever a peer put into its name.
    line += is_control(c) ? ' ' : c;
  }
  line += '"';
}

std::string compose(std::string_view event, std::initializer_list<field> fields) {
  std::string line{event};
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    auto told = shortened(value);
    if (needs_quotes(told))
      append_quoted(line, told);
    else
      line += told;
  }
  return line;
}

} // namespace

void open(std::string_view program, const std::string& path) {
  std::vector<spdlog::sink_ptr> sinks{std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  if (!path.empty())
    sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
  auto logger = std::make_shared<spdlog::logger>(std::string{program}, sinks.begin(), sinks.end());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %n %v", spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void info(std::string_view event, std::initializer_list<field> fields) {
  spdlog::info("{}", compose(event, fields));
}

void warn(std::string_view event, std::initializer_list<field> fields) {
  spdlog::warn("{}", compose(event, fields));
}

void error(std::string_view event, std::initializer_list<field> fields) {
  spdlog::error("{}", compose(event, fields));
}

} // namespace assay::log
