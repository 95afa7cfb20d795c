#pragma once
// Every key that a declaration or a runtime profile may have. docs/declarations.md shows the same
// tables, and a test compares them.

#include "src/catalog/reader.hpp"

#include <span>

namespace assay::catalog::keys {

extern const key_table pool;
extern const key_table model;
extern const key_table contract;
extern const key_table request_limits;
extern const key_table objective;
extern const key_table safety;
extern const key_table implementation_entry; ///< In a model's list.
extern const key_table implementation;       ///< A document of its own.
extern const key_table replicas;
extern const key_table artifact;
extern const key_table artifact_file;
extern const key_table policy;
extern const key_table project;
extern const key_table key;

extern const key_table profile;
extern const key_table profile_applies;
extern const key_table profile_question;
extern const key_table profile_launch;
extern const key_table profile_arg;
extern const key_table profile_device;
extern const key_table profile_port;
extern const key_table profile_phases;
extern const key_table profile_observation;
extern const key_table profile_cold_start;
extern const key_table profile_stop;
extern const key_table profile_exit;
extern const key_table profile_log;
extern const key_table profile_metrics;
extern const key_table profile_signal;
extern const key_table profile_api;
extern const key_table profile_stream;
extern const key_table profile_artifact;

/// All of the above, in this order.
std::span<const key_table* const> all();

} // namespace assay::catalog::keys
