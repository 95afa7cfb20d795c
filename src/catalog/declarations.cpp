#include "src/catalog/declarations.hpp"

#include "src/base/limits.hpp"
#include "src/base/overloaded.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace assay::catalog {

namespace {

constexpr std::array family_names{"cpu", "nvidia", "amd", "neuron", "tpu", "plugin"};
constexpr std::array artifact_names{
  "gguf", "huggingface", "onnx", "engine", "neff", "stablehlo", "repository", "adopted"};
constexpr std::array status_names{
  "draft", "canary", "production", "batch-only", "suspended", "retired"};
constexpr std::array kind_names{
  "pool",
  "model",
  "artifact",
  "implementation",
  "runtime-profile",
  "suite",
  "policy",
  "project",
  "key"};
static_assert(kind_names.size() == std::variant_size_v<declaration>);

template <class Enum, std::size_t Count>
std::optional<Enum> find(const std::array<const char*, Count>& names, std::string_view text) {
  const auto* at = std::ranges::find(names, text);
  if (at == names.end())
    return {};
  return static_cast<Enum>(at - names.begin());
}

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.'
         || c == '_' || c == '-';
}

} // namespace

digest manifest_digest(const artifact& a) {
  auto files = a.files;
  std::ranges::sort(files);
  hasher h{"assay artifact manifest 1"};
  for (const auto& file : files)
    h.add_field(file.path).add_field(file.bytes).add_field(file.sha256);
  // An adopted server shows us no files: the server itself is what was looked at.
  if (a.kind == artifact_kind::adopted)
    h.add_field(a.location);
  return h.finish();
}

std::string_view kind_of(const declaration& d) {
  return kind_names[d.index()];
}

std::string name_of(const declaration& d) {
  return std::visit(
    overloaded{
      [](const model& m) { return m.id.value; },
      [](const artifact& a) { return a.id.value; },
      [](const implementation& i) { return i.id.value; },
      [](const auto& other) { return other.name.value; },
    },
    d
  );
}

std::string_view name(family f) {
  return family_names[static_cast<std::size_t>(f)];
}

std::string_view name(artifact_kind k) {
  return artifact_names[static_cast<std::size_t>(k)];
}

std::string_view name(implementation_status s) {
  return status_names[static_cast<std::size_t>(s)];
}

std::optional<family> parse_family(std::string_view text) {
  return find<family>(family_names, text);
}

std::optional<artifact_kind> parse_artifact_kind(std::string_view text) {
  return find<artifact_kind>(artifact_names, text);
}

std::optional<implementation_status> parse_implementation_status(std::string_view text) {
  return find<implementation_status>(status_names, text);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= limits::name_bytes && text != "." && text != ".."
         && std::ranges::all_of(text, is_name_byte);
}

model_id make_model_id(std::string_view name, std::uint32_t version) {
  auto text = std::string{name};
  if (version != 1)
    text += "@" + std::to_string(version);
  return {std::move(text)};
}

artifact_id make_artifact_id(const model_id& model, std::string_view name) {
  return {model.value + "/" + std::string{name}};
}

implementation_id make_implementation_id(
  const model_id& model,
  const pool_id& pool,
  std::string_view artifact_name,
  std::string_view profile
) {
  auto text = model.value + "/" + pool.value + "/" + std::string{artifact_name};
  if (!profile.empty())
    text += "#" + std::string{profile};
  return {std::move(text)};
}

std::optional<model_parts> split_model_id(std::string_view text) {
  const auto at = text.find('@');
  model_parts parts{std::string{text.substr(0, at)}};
  if (!is_name(parts.name))
    return {};
  if (at == std::string_view::npos)
    return parts;
  const auto digits = text.substr(at + 1);
  const auto [end, error] =
    std::from_chars(digits.data(), digits.data() + digits.size(), parts.version);
  const bool canonical = !digits.empty() && digits.front() != '0';
  if (error != std::errc{} || end != digits.data() + digits.size() || !canonical)
    return {};
  if (parts.version < 2)
    return {};
  return parts;
}

std::string served_name(const model_id& model) {
  return model.value.substr(0, model.value.find('@'));
}

std::optional<implementation_parts> split_implementation_id(std::string_view text) {
  const auto first = text.find('/');
  const auto second = first == std::string_view::npos ? first : text.find('/', first + 1);
  if (second == std::string_view::npos)
    return {};
  const auto hash = text.find('#', second);
  const auto model = text.substr(0, first);
  const auto pool = text.substr(first + 1, second - first - 1);
  const auto artifact = text.substr(second + 1, hash == text.npos ? hash : hash - second - 1);
  if (!split_model_id(model) || !is_name(pool) || !is_name(artifact))
    return {};
  implementation_parts parts{{std::string{model}}, {std::string{pool}}, std::string{artifact}, {}};
  if (hash == std::string_view::npos)
    return parts;
  if (!is_name(text.substr(hash + 1)))
    return {};
  parts.profile = profile_id{std::string{text.substr(hash + 1)}};
  return parts;
}

std::optional<profile_id> profile_of(const implementation& i, const artifact* a) {
  if (i.profile || a == nullptr)
    return i.profile;
  return a->profile;
}

policy default_policy(const suite_id& suite) {
  return {.name = {suite.value}, .suite = suite, .score_at_least_ppm = 400'000};
}

} // namespace assay::catalog
