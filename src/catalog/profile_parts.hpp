#pragma once
// The parts of a runtime profile, each read from the mapping that holds it. What is wrong is told;
// what comes out beside that is never used (src/catalog/profile_reader.cpp).

#include "src/catalog/profile.hpp"
#include "src/catalog/reader.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::catalog::parts {

// -- small readings
void read_path(mapping_reader& r, std::string_view key, std::string& into);
void read_paths(mapping_reader& r, std::string_view key, std::vector<std::string>& into);
void read_json_path(mapping_reader& r, std::string& into);
std::optional<pattern> read_pattern(mapping_reader& r, std::string_view key);
void read_optional_text(mapping_reader& r, std::string_view key, std::optional<std::string>& into);
std::optional<question> read_question(std::optional<mapping_reader> r);

// -- parts
void read_launch(mapping_reader& parent, std::optional<launch_plan>& into);
void read_devices(mapping_reader& parent, std::map<family, device_binding>& into);
void read_ports(mapping_reader& parent, std::vector<port_plan>& into);
void read_phases(mapping_reader& parent, phase_rules& into);
void read_metrics(mapping_reader& parent, metrics_plan& into);
void read_api(mapping_reader& parent, api_plan& into);

} // namespace assay::catalog::parts
