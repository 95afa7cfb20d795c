#pragma once
// What an operator declares, as values. YAML becomes these (src/catalog/parse.hpp), the ledger
// keeps them.
//
// A declaration grants nothing: `status` in a file is the status that is wanted, and `assay apply`
// prints what is missing for it. Numbers that take part in decisions are scaled integers; ppm is
// parts per million.

#include "src/base/digest.hpp"
#include "src/base/ids.hpp"
#include "src/contract/contract.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::catalog {

/// One accelerator family is one way to discover, bind and watch devices.
enum class family : std::uint8_t { cpu, nvidia, amd, neuron, tpu, plugin };

/// Hosts of one accelerator family and stack; a failure domain.
struct pool {
  pool_id name;
  catalog::family family = family::cpu;
  bool compatibility = false;            ///< Home of shapes and models without enough evidence.
  bool plaintext_accepted = false;       ///< Clear traffic to replicas on other hosts is allowed.
  std::vector<std::string> data_classes; ///< Empty: any.
  std::map<std::string, std::string> labels;

  friend bool operator==(const pool&, const pool&) = default;
};

struct artifact_file {
  std::string path;        ///< Relative to the artifact's location, no `..`.
  std::uint64_t bytes = 0; ///< 0: not stated.
  digest sha256;

  friend auto operator<=>(const artifact_file&, const artifact_file&) = default;
};

enum class artifact_kind : std::uint8_t {
  gguf,
  huggingface,
  onnx,
  engine,
  neff,
  stablehlo,
  repository,
  adopted
};

/// Content-addressed, hardware-specific thing that runs. Its identity is the manifest, not the
/// place.
struct artifact {
  artifact_id id; ///< `MODEL/NAME`
  model_id model;
  artifact_kind kind = artifact_kind::gguf;
  std::string location; ///< Directory on every host of the pool. A hint: files are verified there
                        ///< before launch. Of an adopted server: its URL, seen from its host.
  std::vector<artifact_file> files; ///< Sorted by path.
  std::optional<profile_id>
    profile; ///< The runtime profile that runs it, unless the implementation names one.
  std::string licence;
  std::string source;

  friend bool operator==(const artifact&, const artifact&) = default;
};

/// SHA-256 over the sorted (path, bytes, sha256) of all files; for an adopted server, over its URL
/// too.
digest manifest_digest(const artifact& a);

/// A status that people read and write. The wanted one stands in the file; the true one is derived
/// from qualification and route (src/ledger/status.hpp).
enum class implementation_status : std::uint8_t {
  draft,
  canary,
  production,
  batch_only,
  suspended,
  retired
};

struct replica_bounds {
  std::uint32_t min = 1;
  std::uint32_t max = 1;

  friend bool operator==(const replica_bounds&, const replica_bounds&) = default;
};

/// Logical model version x pool x artifact x runtime profile x limits.
struct implementation {
  implementation_id id;
  model_id model;
  pool_id pool;
  artifact_id artifact;
  std::optional<profile_id> profile; ///< As written; `profile_of` adds the artifact's.
  replica_bounds replicas;
  std::uint32_t devices = 0; ///< Devices per replica; 0 on a CPU pool.
  std::uint32_t slots = 1;   ///< Requests that one replica works on at a time.
  contract::request_limits
    limits; ///< Hard limits of this implementation, set at the engine's launch.
  std::map<std::string, std::string> args; ///< Values for the profile's slots, e.g. `threads: "2"`.
  implementation_status wanted = implementation_status::draft;

  friend bool operator==(const implementation&, const implementation&) = default;
};

/// A logical model version with its contract. Its implementations are declared in the same document
/// and live as declarations of their own.
struct model {
  model_id id;
  std::string name;
  std::uint32_t version = 1;
  contract::service_contract promises;
  policy_id evaluation_policy; ///< A bare suite name stands for the default policy over that suite.
  std::string owner;

  friend bool operator==(const model&, const model&) = default;
};

/// A runtime profile or a suite is data that is identified by its digest: the ledger keeps the text
/// as it was written, and src/catalog/profile.hpp and src/qualification/suite.hpp read it.
struct profile_document {
  profile_id name;
  std::string text;
  digest sha256; ///< Of `text`.

  friend bool operator==(const profile_document&, const profile_document&) = default;
};

struct suite_document {
  suite_id name;
  std::string text;
  digest sha256;

  friend bool operator==(const suite_document&, const suite_document&) = default;
};

/// When a qualification passes, how long it holds, and who must agree.
struct policy {
  policy_id name;
  suite_id suite;
  std::uint32_t score_at_least_ppm = 0; ///< The one-sided lower bound of the score must reach this.
  std::uint32_t confidence_ppm = 950'000;
  std::uint32_t items_at_least = 20;
  std::uint32_t distinct_answers_at_least =
    2; ///< A runtime that says the same to everything fails.
  std::chrono::seconds valid_for = std::chrono::hours{24 * 90};
  std::optional<std::uint64_t> cost_ceiling_nano_per_unit; ///< Currency x 1e-9 per accepted unit.
  std::string cost_currency; ///< `EUR`; set exactly when there is a ceiling.
  bool suspend_on_drift =
    false; ///< true: any drift suspends; false: only with no qualified replica left.
  std::uint32_t approvals = 1;

  friend bool operator==(const policy&, const policy&) = default;
};

struct project {
  project_id name;
  std::vector<std::string> data_classes; ///< Empty: any.

  friend bool operator==(const project&, const project&) = default;
};

/// A key as declared. Its secret is made by the coordinator, shown once, and kept only as a hash.
struct key {
  key_id name;
  project_id project;
  contract::traffic_class traffic = contract::traffic_class::interactive;
  std::vector<std::string> models; ///< Names without version; empty: all.

  friend bool operator==(const key&, const key&) = default;
};

using declaration = std::variant<
  pool,
  model,
  artifact,
  implementation,
  profile_document,
  suite_document,
  policy,
  project,
  key>;

/// `pool`, `model`, `artifact`, `implementation`, `runtime-profile`, `suite`, `policy`, `project`,
/// `key`.
std::string_view kind_of(const declaration& d);
std::string name_of(const declaration& d);

std::string_view name(family f);
std::string_view name(artifact_kind k);
std::string_view name(implementation_status s);
std::optional<family> parse_family(std::string_view text);
std::optional<artifact_kind> parse_artifact_kind(std::string_view text);
std::optional<implementation_status> parse_implementation_status(std::string_view text);

/// `NAME` or `NAME@VERSION` of a model; `MODEL/POOL/ARTIFACT[#PROFILE]` of an implementation.
model_id make_model_id(std::string_view name, std::uint32_t version);
implementation_id make_implementation_id(
  const model_id& model,
  const pool_id& pool,
  std::string_view artifact_name,
  std::string_view profile
);

/// 1 to 64 bytes of `[A-Za-z0-9._-]`, and not `.` or `..`, which would be a path.
bool is_name(std::string_view text);

/// `MODEL/NAME`
artifact_id make_artifact_id(const model_id& model, std::string_view name);

/// The parts of `MODEL[@VERSION]/POOL/ARTIFACT[#PROFILE]`; nothing when it is not of that form.
struct implementation_parts {
  model_id model;
  pool_id pool;
  std::string artifact_name;
  std::optional<profile_id> profile;

  friend bool operator==(const implementation_parts&, const implementation_parts&) = default;
};
std::optional<implementation_parts> split_implementation_id(std::string_view text);

struct model_parts {
  std::string name;
  std::uint32_t version = 1;

  friend bool operator==(const model_parts&, const model_parts&) = default;
};
/// `NAME` or `NAME@VERSION`; `NAME@1` is refused, since version 1 has one spelling only.
std::optional<model_parts> split_model_id(std::string_view text);

/// What every engine calls the model, and is asked for: its name without a version, since a replica
/// serves one version only.
std::string served_name(const model_id& model);

/// The profile that runs an implementation: its own, else its artifact's. `a` may be null.
std::optional<profile_id> profile_of(const implementation& i, const artifact* a);

/// What a bare suite name as evaluation policy stands for: the lower bound of the score at 95 % has
/// to reach 0.4 on at least 20 items; valid for 90 days.
policy default_policy(const suite_id& suite);

} // namespace assay::catalog
