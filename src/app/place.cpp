#include "src/app/place.hpp"

#include "src/store/private_files.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>

namespace assay::app {

namespace {

namespace json = boost::json;

std::filesystem::path path_of(const store::data_directory& directory) {
  return directory.root() / "member.json";
}

json::object to_json(const peers::peer& p) {
  return {
    {"node", p.node}, {"address", p.address}, {"key", fabric::to_text(p.key)}, {"disk", p.disk}};
}

/// Throws what Boost.JSON throws for a missing field or another type.
peers::peer to_peer(const json::object& from) {
  auto key = fabric::parse_public_key(json::value_to<std::string>(from.at("key")));
  if (!key)
    throw std::runtime_error{"a peer's key is no CURVE key"};
  return {
    from.at("node").to_number<std::uint64_t>(),
    json::value_to<std::string>(from.at("address")),
    *key,
    json::value_to<std::string>(from.at("disk"))};
}

place parse(const std::string& text) {
  auto all = json::parse(text).as_object();
  auto cluster = parse_uuid(json::value_to<std::string>(all.at("cluster")));
  if (!cluster)
    throw std::runtime_error{"`cluster` is no UUID"};
  place out{
    *cluster,
    json::value_to<std::string>(all.at("cluster_name")),
    all.at("node").to_number<std::uint64_t>(),
    json::value_to<std::string>(all.at("name")),
    {}};
  for (const auto& one : all.at("first_peers").as_array())
    out.first_peers.push_back(to_peer(one.as_object()));
  return out;
}

} // namespace

result<std::optional<place>, problem> read_place(const store::data_directory& directory) {
  auto text = store::read_private_file(path_of(directory));
  if (!text && text.error().kind == problem_kind::not_found)
    return std::optional<place>{};
  if (!text)
    return unexpected{text.error()};
  try {
    return std::optional{parse(*text)};
  } catch (const std::exception& why) {
    return unexpected{problem{
      problem_kind::invalid,
      std::string{"says not which member of which cluster this is: "} + why.what(),
      path_of(directory).string(),
      "restore the file from a backup; without it, join anew with an empty data directory"}};
  }
}

result<void, problem> write_place(const store::data_directory& directory, const place& what) {
  json::array first_peers;
  for (const auto& p : what.first_peers)
    first_peers.push_back(to_json(p));
  json::object document{
    {"cluster", to_text(what.cluster)},
    {"cluster_name", what.cluster_name},
    {"node", what.node},
    {"name", what.name},
    {"first_peers", std::move(first_peers)}};
  return store::write_private_file(path_of(directory), json::serialize(document) + "\n");
}

} // namespace assay::app
