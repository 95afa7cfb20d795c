#include "tests/unit/catalog/chance.hpp"

#include <algorithm>

namespace assay::catalog::testing {

namespace {

constexpr const char* texts[] = {
  "plain words",
  "",
  "true",
  "null",
  "~",
  "42",
  "0x10",
  "1e3",
  "a: b",
  "a #b",
  "# a",
  "- a",
  "-",
  "---",
  "'quoted'",
  "\"double\"",
  "back\\slash \\n",
  "[list]",
  "{map: x}",
  "*alias",
  "&anchor",
  "!tag",
  "%directive",
  "@at",
  "`tick`",
  "a, b",
  " leading",
  "trailing ",
  "a:",
  "?",
  "? a",
  "|",
  ">",
  "caf\xc3\xa9 \xf0\x9f\x8d\x89",
  "https://example.org/a?b=c&d=e#f",
  "Apache-2.0",
  "...",
  "${slot}",
};

} // namespace

std::uint64_t chance::number(std::uint64_t least, std::uint64_t most) {
  return std::uniform_int_distribution<std::uint64_t>{least, most}(engine_);
}

std::string chance::name() {
  constexpr std::string_view bytes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  std::string made;
  do {
    made.clear();
    for (auto left = number(1, coin() ? 4 : 64); left > 0; --left)
      made += bytes[number(0, bytes.size() - 1)];
  } while (!is_name(made));
  return made;
}

std::string chance::text() {
  return texts[number(0, std::size(texts) - 1)];
}

std::vector<std::string> chance::names() {
  std::vector<std::string> made;
  for (auto left = number(0, 3); left > 0; --left)
    if (auto next = name(); std::ranges::find(made, next) == made.end())
      made.push_back(std::move(next));
  return made;
}

contract::request_limits chance::limits() {
  contract::request_limits made;
  if (coin())
    made.context_tokens = static_cast<std::uint32_t>(number(1, 1 << 20));
  const auto most = made.context_tokens == 0 ? 4'000'000'000 : made.context_tokens;
  made.input_tokens = some<std::uint32_t>(most);
  made.output_tokens = some<std::uint32_t>(most);
  made.body_bytes = coin() ? number(0, 64) << 20 : number(0, 64 << 20);
  return made;
}

contract::objective chance::objective() {
  constexpr const char* metrics[] = {"ttft", "inter_token", "total", "availability"};
  contract::objective made{.metric = metrics[number(0, 3)]};
  if (made.metric != "availability")
    made.limit = std::chrono::milliseconds{number(1, 86'400'000)};
  made.share_ppm = static_cast<std::uint32_t>(number(1, 1'000'000));
  made.window = std::chrono::seconds{number(60, 7'776'000)};
  return made;
}

contract::service_contract chance::contract() {
  contract::service_contract made;
  made.task = some<contract::task>(4);
  made.streaming = coin();
  made.cancellation = coin();
  made.features = names();
  made.limits = limits();
  made.data_class = name();
  for (auto left = number(0, 2); left > 0; --left)
    made.objectives.push_back(objective());
  made.degraded = some<contract::degraded_rule>(2);
  made.queue_keepalive = coin();
  made.expose_metadata = coin();
  made.safety_policy = text();
  return made;
}

digest chance::hash() {
  digest made;
  for (auto& byte : made.bytes)
    byte = some<std::uint8_t>(255);
  return made;
}

artifact_file chance::file() {
  auto path = name();
  for (auto left = number(0, 2); left > 0; --left)
    path += "/" + name();
  return {path, coin() ? 0 : number(1, std::uint64_t{1} << 50), hash()};
}

model_id chance::model_name() {
  return make_model_id(name(), coin() ? 1 : static_cast<std::uint32_t>(number(1, 1'000'000)));
}

catalog::pool chance::pool() {
  catalog::pool made{{name()}, some<family>(5), coin(), coin(), names(), {}};
  for (auto left = number(0, 3); left > 0; --left)
    made.labels[name()] = text();
  return made;
}

catalog::model chance::model() {
  catalog::model made;
  made.name = name();
  made.version = static_cast<std::uint32_t>(number(1, 3));
  made.id = make_model_id(made.name, made.version);
  made.promises = contract();
  if (coin())
    made.evaluation_policy.value = name();
  made.owner = text();
  return made;
}

catalog::artifact chance::artifact() {
  catalog::artifact made;
  made.model = model_name();
  made.id = make_artifact_id(made.model, name());
  made.kind = some<artifact_kind>(7);
  const bool adopted = made.kind == artifact_kind::adopted;
  if (!adopted || coin())
    made.location = "/" + text();
  for (auto left = number(adopted ? 0 : 1, 3); left > 0; --left)
    made.files.push_back(file());
  std::ranges::sort(made.files);
  const auto [first, last] = std::ranges::unique(made.files, {}, &artifact_file::path);
  made.files.erase(first, last);
  if (coin())
    made.profile = profile_id{name()};
  made.licence = text();
  made.source = text();
  return made;
}

catalog::implementation chance::implementation() {
  catalog::implementation made;
  made.model = model_name();
  made.pool = {name()};
  const auto artifact_name = name();
  made.artifact = make_artifact_id(made.model, artifact_name);
  if (coin())
    made.profile = profile_id{name()};
  const bool shares = made.profile && coin();
  made.id = make_implementation_id(
    made.model, made.pool, artifact_name, shares ? made.profile->value : std::string{}
  );
  made.replicas.max = static_cast<std::uint32_t>(number(1, 10'000));
  made.replicas.min = some<std::uint32_t>(made.replicas.max);
  made.devices = some<std::uint32_t>(1'024);
  made.slots = static_cast<std::uint32_t>(number(1, 65'536));
  made.limits = limits();
  for (auto left = number(0, 3); left > 0; --left) {
    auto slot = name();
    if (!slot.starts_with('-'))
      std::ranges::replace(slot, '_', '-');
    made.args[slot] = text();
  }
  made.wanted = some<implementation_status>(5);
  return made;
}

suite_document chance::suite() {
  const auto called = name();
  const auto body = "suite: \"" + called + "\"\nitems: [1, two]\n";
  return {{called}, body, sha256(body)};
}

catalog::policy chance::policy() {
  catalog::policy made;
  made.name = {name()};
  made.suite = {name()};
  made.score_at_least_ppm = some<std::uint32_t>(1'000'000);
  made.confidence_ppm = static_cast<std::uint32_t>(number(500'000, 999'999));
  made.items_at_least = static_cast<std::uint32_t>(number(1, 1'000'000));
  made.distinct_answers_at_least = static_cast<std::uint32_t>(number(1, made.items_at_least));
  made.valid_for = std::chrono::seconds{number(60, 315'360'000)};
  made.suspend_on_drift = coin();
  made.approvals = static_cast<std::uint32_t>(number(1, 2));
  return made;
}

catalog::project chance::project() {
  return {{name()}, names()};
}

catalog::key chance::key() {
  return {{name()}, {name()}, some<contract::traffic_class>(1), names()};
}

catalog::declaration chance::declaration() {
  switch (number(0, 7)) {
  case 0:
    return pool();
  case 1:
    return model();
  case 2:
    return artifact();
  case 3:
    return implementation();
  case 4:
    return suite();
  case 5:
    return policy();
  case 6:
    return project();
  default:
    return key();
  }
}

} // namespace assay::catalog::testing
