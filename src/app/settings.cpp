#include "src/app/settings.hpp"

#include <boost/asio/ip/address.hpp>

#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <yaml-cpp/yaml.h>

namespace assay::app {

namespace {

/// Collects what is wrong while it reads, so that a person mends the file once.
class reader {
public:
  explicit reader(std::string file) : file_{std::move(file)} {}

  using handler = std::function<void(const YAML::Node&, const std::string& path)>;

  void
  map(const YAML::Node& node, const std::string& path, const std::map<std::string, handler>& keys) {
    if (!node.IsMap())
      return complain(
        node, path.empty() ? "the file" : path, "is not a mapping", "write `key: value` lines"
      );
    std::map<std::string, bool> seen;
    for (const auto& pair : node) {
      auto key = pair.first.IsScalar() ? pair.first.Scalar() : std::string{"?"};
      auto where = path.empty() ? key : path + "." + key;
      auto found = keys.find(key);
      if (found == keys.end())
        complain(pair.first, where, "unknown key", "allowed: " + names(keys));
      else if (std::exchange(seen[key], true))
        complain(pair.first, where, "stands here twice", "keep one");
      else
        found->second(pair.second, where);
    }
  }

  std::optional<std::string> text(const YAML::Node& node, const std::string& path) {
    if (node.IsScalar() && !node.Scalar().empty())
      return node.Scalar();
    complain(node, path, "is not a word", "write `" + path + ": VALUE`");
    return {};
  }

  void address(const YAML::Node& node, const std::string& path, listen_address& into) {
    auto word = text(node, path);
    if (!word)
      return;
    auto colon = word->rfind(':');
    auto host = colon == std::string::npos ? *word : word->substr(0, colon);
    auto port = colon == std::string::npos ? std::string{} : word->substr(colon + 1);
    boost::system::error_code bad;
    boost::asio::ip::make_address(host, bad);
    std::uint16_t number = 0;
    auto [end, why] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (bad || why != std::errc{} || end != port.data() + port.size())
      return complain(
        node, path, "'" + *word + "' is no address", "write IP:PORT, for example 127.0.0.1:7100"
      );
    into = {host, number};
  }

  void count(
    const YAML::Node& node, const std::string& path, unsigned least, unsigned most, unsigned& into
  ) {
    auto word = text(node, path);
    if (!word)
      return;
    unsigned number = 0;
    auto [end, why] = std::from_chars(word->data(), word->data() + word->size(), number);
    if (why != std::errc{} || end != word->data() + word->size() || number < least || number > most)
      return complain(
        node,
        path,
        "'" + *word + "' is no number from " + std::to_string(least) + " to "
          + std::to_string(most),
        {}
      );
    into = number;
  }

  void complain(
    const YAML::Node& node,
    const std::string& path,
    const std::string& what,
    const std::string& next
  ) {
    // yaml-cpp counts lines from zero.
    auto line = std::to_string(node.Mark().line + 1);
    problems.push_back({problem_kind::invalid, what, file_ + ":" + line + ": " + path, next});
  }

  std::vector<problem> problems;

private:
  static std::string names(const std::map<std::string, handler>& keys) {
    std::string text;
    for (const auto& [key, ignored] : keys)
      text += (text.empty() ? "" : ", ") + key;
    return text;
  }

  std::string file_;
};

void read_ingress(reader& r, const YAML::Node& node, const std::string& path, settings& s) {
  r.map(
    node,
    path,
    {
      {"listen", [&](const auto& n, const auto& p) { r.address(n, p, s.ingress); }},
      {"threads", [&](const auto& n, const auto& p) { r.count(n, p, 1, 64, s.ingress_threads); }},
      {"plaintext",
       [&](const auto& n, const auto& p) {
         auto word = r.text(n, p);
         if (word && *word != "accepted" && *word != "refused")
           r.complain(n, p, "'" + *word + "' is not known", "allowed: accepted, refused");
         s.plaintext_accepted = word == "accepted";
       }},
    }
  );
}

void read_listener(
  reader& r, const YAML::Node& node, const std::string& path, listen_address& into
) {
  r.map(node, path, {{"listen", [&](const auto& n, const auto& p) { r.address(n, p, into); }}});
}

} // namespace

result<settings, std::vector<problem>>
parse_settings(const std::string& name, const std::string& text) {
  reader r{name};
  settings s;
  try {
    r.map(
      YAML::Load(text),
      {},
      {
        {"data",
         [&](const auto& n, const auto& p) {
           if (auto word = r.text(n, p))
             s.data = *word;
         }},
        {"ingress", [&](const auto& n, const auto& p) { read_ingress(r, n, p, s); }},
        {"monitor", [&](const auto& n, const auto& p) { read_listener(r, n, p, s.monitor); }},
        {"agents", [&](const auto& n, const auto& p) { read_listener(r, n, p, s.agents); }},
      }
    );
  } catch (const YAML::Exception& why) {
    r.problems.push_back(
      {problem_kind::invalid,
       why.msg,
       name + ":" + std::to_string(why.mark.line + 1),
       "mend the YAML"}
    );
  }
  if (r.problems.empty() && s.data.empty())
    r.problems.push_back({problem_kind::invalid, "no `data:`", name, "add `data: /var/lib/assay`"});
  if (!r.problems.empty())
    return unexpected{std::move(r.problems)};
  return s;
}

settings standalone_settings(std::filesystem::path data) {
  settings s;
  s.data = std::move(data);
  s.standalone = true;
  s.ingress.port = s.monitor.port = s.agents.port = 0;
  return s;
}

} // namespace assay::app
