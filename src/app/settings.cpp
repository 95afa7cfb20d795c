#include "src/app/settings.hpp"

#include "src/catalog/declarations.hpp"
#include "src/catalog/units.hpp"

#include <boost/asio/ip/address.hpp>
#include <unistd.h>

#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <yaml-cpp/yaml.h>

namespace assay::app {

namespace {

constexpr unsigned map_mib_least = 32;        // Three of the largest batches in what may be used.
constexpr unsigned map_mib_most = 16'777'216; // 16 TiB; address space costs nothing else.

/// A member's key names begin with what the key is for, and names have 64 bytes at most.
bool is_member_name(const std::string& text) {
  return catalog::is_name(text) && text.size() <= 40;
}

bool is_loopback(const listen_address& a) {
  return boost::asio::ip::make_address(a.host).is_loopback();
}

std::string name_of_machine() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()}
                                                          : std::string{};
}

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

  void duration(
    const YAML::Node& node,
    const std::string& path,
    std::chrono::milliseconds most,
    std::chrono::milliseconds& into
  ) {
    auto word = text(node, path);
    if (!word)
      return;
    auto read = catalog::parse_duration(*word);
    if (!read)
      return complain(node, path, read.error().what, read.error().next);
    if (*read <= std::chrono::milliseconds{} || *read > most)
      return complain(
        node,
        path,
        "'" + *word + "' is out of bounds",
        "allowed: above 0, at most " + catalog::duration_text(most)
      );
    into = *read;
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

void read_limits(
  reader& r, const YAML::Node& node, const std::string& path, http::relay_limits& into
) {
  using namespace std::chrono_literals;
  auto limit = [&](std::chrono::milliseconds most, std::chrono::milliseconds& to) {
    return [&r, most, &to](const auto& n, const auto& p) { r.duration(n, p, most, to); };
  };
  r.map(
    node,
    path,
    {
      {"connect", limit(1min, into.connect)},
      {"first_token", limit(24h, into.first_token)},
      {"gap", limit(24h, into.gap)},
      {"total", limit(24h, into.total)},
    }
  );
}

void read_ingress(reader& r, const YAML::Node& node, const std::string& path, settings& s) {
  r.map(
    node,
    path,
    {
      {"listen", [&](const auto& n, const auto& p) { r.address(n, p, s.ingress); }},
      {"threads", [&](const auto& n, const auto& p) { r.count(n, p, 1, 64, s.ingress_threads); }},
      {"limits", [&](const auto& n, const auto& p) { read_limits(r, n, p, s.relay); }},
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

void read_roles(reader& r, const YAML::Node& node, const std::string& path, settings& s) {
  s.is_coordinator = s.has_ingress = false;
  if (!node.IsSequence() || node.size() == 0)
    return r.complain(node, path, "is no list of roles", "write `roles: [coordinator, ingress]`");
  for (const auto& one : node) {
    auto word = r.text(one, path);
    if (!word)
      continue;
    auto& role = *word == "coordinator" ? s.is_coordinator : s.has_ingress;
    if (*word != "coordinator" && *word != "ingress")
      r.complain(one, path, "'" + *word + "' is no role", "allowed: coordinator, ingress");
    else if (std::exchange(role, true))
      r.complain(one, path, "'" + *word + "' stands here twice", "keep one");
  }
}

/// What others are told to dial has to be dialled from elsewhere.
void read_dialled(
  reader& r, const YAML::Node& node, const std::string& path, listen_address& into
) {
  r.address(node, path, into);
  if (into.host == "0.0.0.0" || into.host == "::")
    r.complain(node, path, "others cannot dial " + into.host, "write the address of this machine");
  if (into.port == 0)
    r.complain(node, path, "others dial this port, so it must be known", "write one, usually 7104");
}

void read_name(reader& r, const YAML::Node& node, const std::string& path, settings& s) {
  auto word = r.text(node, path);
  if (word && !is_member_name(*word))
    r.complain(
      node,
      path,
      "'" + *word + "' is no name",
      "letters, digits, dots, dashes and underscores, at most 40"
    );
  if (word)
    s.name = *word;
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
  s.name = name_of_machine();
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
        {"name", [&](const auto& n, const auto& p) { read_name(r, n, p, s); }},
        {"roles", [&](const auto& n, const auto& p) { read_roles(r, n, p, s); }},
        {"ingress", [&](const auto& n, const auto& p) { read_ingress(r, n, p, s); }},
        {"monitor", [&](const auto& n, const auto& p) { read_listener(r, n, p, s.monitor); }},
        {"agents", [&](const auto& n, const auto& p) { read_listener(r, n, p, s.agents); }},
        {"ledger",
         [&](const auto& n, const auto& p) {
           r.map(n, p, {{"map_mib", [&](const auto& m, const auto& q) {
                           r.count(m, q, map_mib_least, map_mib_most, s.map_mib);
                         }}});
         }},
        {"peers",
         [&](const auto& n, const auto& p) {
           r.map(n, p, {{"listen", [&](const auto& m, const auto& q) {
                           read_dialled(r, m, q, s.peers);
                         }}});
         }},
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
  if (r.problems.empty() && s.has_ingress && !is_loopback(s.ingress) && !s.plaintext_accepted)
    r.problems.push_back(
      {problem_kind::invalid,
       "the ingress would answer in clear on " + s.ingress.host + ", and there is no TLS yet",
       name,
       "listen on loopback behind a proxy, or add `plaintext: accepted` under `ingress:`"}
    );
  if (r.problems.empty() && !is_member_name(s.name))
    r.problems.push_back(
      {problem_kind::invalid,
       "the machine's name '" + s.name + "' cannot name a coordinator",
       name,
       "add `name:` with at most 40 letters, digits, dots, dashes and underscores"}
    );
  if (!r.problems.empty())
    return unexpected{std::move(r.problems)};
  return s;
}

settings standalone_settings(std::filesystem::path data) {
  settings s;
  s.data = std::move(data);
  s.standalone = true;
  s.name = "local";
  s.ingress.port = s.monitor.port = s.agents.port = 0;
  return s;
}

} // namespace assay::app
