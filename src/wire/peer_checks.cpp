#include "src/wire/peer_checks.hpp"

#include "src/base/overloaded.hpp"
#include "src/base/peer_limits.hpp"
#include "src/consensus/configuration.hpp"
#include "src/wire/peer_check_words.hpp"

namespace assay::peers {

namespace {

/// The end of a log: its index and the term of the entry there, both 0 when it is empty.
verdict refuse_end(
  const std::string& where, std::uint64_t index, std::uint64_t term, std::uint64_t message_term
) {
  if ((index == 0) != (term == 0))
    return wrong(
      where,
      "index " + text(index) + " and term " + text(term) + " contradict each other",
      "both are 0, or neither is"
    );
  if (auto bad = refuse_more(where + ".index", index, number_max))
    return bad;
  return refuse_more(where + ".term", term, message_term);
}

verdict refuse_members(const std::string& where, const consensus::configuration& members) {
  if (members.empty() || members.size() > consensus::members_max)
    return wrong(where, "has " + text(members.size()) + " members", "allowed are 1 to 64");
  for (const auto& m : members)
    if (m.address.empty() || m.address.size() > limits::peer_address_bytes)
      return wrong(
        where,
        "member " + text(m.id) + " has an address of " + text(m.address.size()) + " bytes",
        "allowed are 1 to " + text(limits::peer_address_bytes)
      );
  return {};
}

verdict refuse_entry(
  const std::string& where,
  const consensus::entry& e,
  std::uint64_t term_before,
  std::uint64_t message_term
) {
  if (e.term == 0 || e.term < term_before || e.term > message_term)
    return wrong(
      where + ".term",
      "is " + text(e.term),
      "allowed is 1 and more, from " + text(term_before) + " to " + text(message_term)
    );
  auto kind = static_cast<unsigned>(e.kind);
  if (kind < 1 || kind > 3)
    return wrong(where + ".kind", "is " + text(kind), "allowed are 1, 2 and 3");
  if (auto bad = refuse_more(where + ".bytes", e.bytes.size(), limits::batch_frame_bytes))
    return bad;
  if (e.kind != consensus::entry_kind::change)
    return {};
  auto members = consensus::decode_configuration(e.bytes);
  if (!members)
    return wrong(where + ".bytes", std::string{members.error()}, "a change holds a configuration");
  return refuse_members(where + ".bytes", *members);
}

verdict refuse_body(const consensus::request_vote& m, const consensus::message& whole) {
  if (m.candidate != whole.from)
    return wrong(
      "request_vote.candidate",
      "is " + text(m.candidate),
      "a coordinator asks for itself, here " + text(whole.from)
    );
  return refuse_end("request_vote.last", m.last_index, m.last_term, m.term);
}

verdict refuse_body(const consensus::request_vote_result&, const consensus::message&) {
  return {};
}

verdict refuse_body(const consensus::append_entries& m, const consensus::message&) {
  if (auto bad = refuse_end("append_entries.previous", m.previous_index, m.previous_term, m.term))
    return bad;
  if (auto bad = refuse_more("append_entries.commit", m.commit, number_max))
    return bad;
  if (auto bad = refuse_more("append_entries.entries", m.entries.size(), limits::peer_entries))
    return bad;
  if (m.count != m.entries.size())
    return wrong(
      "append_entries.count",
      "is " + text(m.count),
      "it is the number of entries, " + text(m.entries.size())
    );
  auto before = m.previous_term;
  for (std::size_t i = 0; i < m.entries.size(); ++i) {
    auto where = "append_entries.entries[" + text(i) + "]";
    if (auto bad = refuse_entry(where, m.entries[i], before, m.term))
      return bad;
    before = m.entries[i].term;
  }
  return {};
}

verdict refuse_body(const consensus::append_entries_result& m, const consensus::message&) {
  if (auto bad = refuse_more("append_entries_result.rejected", m.rejected, number_max))
    return bad;
  return refuse_more("append_entries_result.last_index", m.last_index, number_max);
}

verdict refuse_body(const consensus::install_snapshot& m, const consensus::message&) {
  if (auto bad = refuse_number("install_snapshot.index", m.mark.index))
    return bad;
  if (auto bad = refuse_number("install_snapshot.term", m.mark.term))
    return bad;
  if (auto bad = refuse_more("install_snapshot.term", m.mark.term, m.term))
    return bad;
  const auto at = m.mark.configuration_index;
  if (auto bad = refuse_number("install_snapshot.configuration_index", at))
    return bad;
  if (auto bad = refuse_more("install_snapshot.configuration_index", at, m.mark.index))
    return bad;
  return refuse_members("install_snapshot.configuration", m.mark.configuration);
}

verdict refuse_body(const consensus::timeout_now& m, const consensus::message&) {
  return refuse_end("timeout_now.last", m.last_index, m.last_term, m.term);
}

verdict refuse_one(const consensus::message& m) {
  if (m.from == 0 || m.to == 0 || m.from == m.to)
    return wrong(
      "consensus.from",
      "a message from " + text(m.from) + " to " + text(m.to),
      "sender and receiver are two coordinators, neither of them 0"
    );
  if (auto bad = refuse_number("consensus.run", m.run))
    return bad;
  if (auto bad = refuse_number("consensus.sequence", m.sequence))
    return bad;
  auto term = std::visit([](const auto& body) { return body.term; }, m.body);
  if (auto bad = refuse_number("consensus.term", term))
    return bad;
  return std::visit([&](const auto& body) { return refuse_body(body, m); }, m.body);
}

verdict refuse_one(const hello& m) {
  if (auto bad = refuse_number("hello.node", m.node))
    return bad;
  if (auto bad = refuse_number("hello.session", m.session))
    return bad;
  if (m.cluster == uuid{})
    return wrong("hello.cluster", "is missing", "a cluster has an id of 16 bytes");
  if (m.disk.empty() || m.disk.size() > limits::name_bytes)
    return wrong(
      "hello.disk",
      "has " + text(m.disk.size()) + " bytes",
      "allowed are 1 to " + text(limits::name_bytes)
    );
  if (static_cast<std::size_t>(m.lane) >= lanes)
    return wrong("hello.lane", "is unknown", "allowed are consensus, bulk and service");
  return {};
}

verdict refuse_one(const welcome& m) {
  return refuse_number("welcome.session", m.session);
}

verdict refuse_one(const beat&) {
  return {};
}

verdict refuse_one(const closing& m) {
  if (auto bad = refuse_more("closing.text", m.text.size(), limits::text_bytes))
    return bad;
  return refuse_more(
    "closing.reason",
    static_cast<std::uint64_t>(m.reason),
    static_cast<std::uint64_t>(closing_reason::other_disk)
  );
}

verdict refuse_ends(const std::string& where, std::uint64_t from, std::uint64_t to) {
  if (auto bad = refuse_number(where + ".from", from))
    return bad;
  return refuse_number(where + ".to", to);
}

verdict refuse_one(const state_request& m) {
  if (auto bad = refuse_ends("state_request", m.from, m.to))
    return bad;
  if (auto bad = refuse_number("state_request.attempt", m.attempt))
    return bad;
  if (auto bad = refuse_more("state_request.at_least", m.at_least, number_max))
    return bad;
  return refuse_more("state_request.after", m.after.size(), limits::key_bytes);
}

/// Each is behind the one before it, the first behind what the asker has.
verdict refuse_rows(const state_page& page) {
  const auto* before = &page.after;
  for (std::size_t i = 0; i < page.rows.size(); ++i) {
    auto where = "state_page.rows[" + text(i) + "]";
    const auto& [key, value] = page.rows[i];
    if (key.empty() || key.size() > limits::key_bytes)
      return wrong(
        where + ".key",
        "has " + text(key.size()) + " bytes",
        "allowed are 1 to " + text(limits::key_bytes)
      );
    if (key <= *before)
      return wrong(where + ".key", "is not behind the key before it", "keys ascend");
    if (auto bad = refuse_more(where + ".value", value.size(), limits::row_bytes))
      return bad;
    before = &key;
  }
  return {};
}

verdict refuse_one(const state_page& m) {
  if (auto bad = refuse_ends("state_page", m.from, m.to))
    return bad;
  if (auto bad = refuse_number("state_page.attempt", m.attempt))
    return bad;
  if (auto bad = refuse_more("state_page.after", m.after.size(), limits::key_bytes))
    return bad;
  if (m.is_refused && (m.is_last || !m.rows.empty()))
    return wrong("state_page", "a source that refused sent rows", "it sends none");
  if (auto bad = refuse_more("state_page.rows", m.rows.size(), limits::peer_page_rows))
    return bad;
  if (auto bad = refuse_rows(m))
    return bad;
  if (auto bad = refuse_more("state_page.index", m.index, number_max))
    return bad;
  if (auto bad = refuse_more("state_page.term", m.term, number_max))
    return bad;
  if (m.is_last && (m.index == 0 || m.term == 0))
    return wrong("state_page.index", "is missing", "the last page says what the state holds");
  return {};
}

template <class Message>
verdict refuse_from_to(
  const std::string& where, const Message& what, std::uint64_t key_of, std::uint64_t self
) {
  if (what.from != key_of || key_of == self)
    return wrong(
      where + ".from",
      "is " + text(what.from),
      "the sender's key belongs to coordinator " + text(key_of)
    );
  if (what.to != self)
    return wrong(where + ".to", "is " + text(what.to), "we are coordinator " + text(self));
  return {};
}

} // namespace

std::optional<problem> refuse(const message& what) {
  return std::visit([](const auto& m) { return refuse_one(m); }, what);
}

std::optional<problem> refuse_route(const message& what, std::uint64_t key_of, std::uint64_t self) {
  return std::visit(
    overloaded{
      [&](const consensus::message& m) { return refuse_from_to("consensus", m, key_of, self); },
      [&](const state_request& m) { return refuse_from_to("state_request", m, key_of, self); },
      [&](const state_page& m) { return refuse_from_to("state_page", m, key_of, self); },
      [](const auto&) { return verdict{}; }, // The connection itself says from whom and for whom.
    },
    what
  );
}

} // namespace assay::peers
