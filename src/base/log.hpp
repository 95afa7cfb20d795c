#pragma once
// One line per event, `key=value`, no prompt text and no secret. spdlog stays behind this wrapper.

#include <initializer_list>
#include <string>
#include <string_view>

namespace assay::log {

struct field {
  std::string_view key;
  std::string value;
};

/// Logs to standard error, and to `path` as well when it is not empty. Call once, before threads
/// start.
void open(std::string_view program, const std::string& path = {});

void info(std::string_view event, std::initializer_list<field> fields = {});
void warn(std::string_view event, std::initializer_list<field> fields = {});
void error(std::string_view event, std::initializer_list<field> fields = {});

} // namespace assay::log
