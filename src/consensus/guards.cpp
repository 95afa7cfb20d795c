#include "src/consensus/guards.hpp"

#include "src/base/overloaded.hpp"
#include "src/consensus/configuration.hpp"

#include <algorithm>
#include <limits>

namespace assay::consensus {

namespace {

using verdict = std::optional<std::string_view>;

/// Requests come from members that our log may not name yet: who lags behind a change that made a
/// leader would refuse that leader for ever. Answers are only for what we asked, so of members.
bool may_send(const message_body& body, const configuration* members, std::uint64_t id) {
  bool is_answer = std::holds_alternative<request_vote_result>(body)
                   || std::holds_alternative<append_entries_result>(body);
  if (!is_answer || members == nullptr)
    return true;
  return std::any_of(members->begin(), members->end(), [&](const member& m) { return m.id == id; });
}

std::uint64_t term_of(const message_body& body) {
  return std::visit([](const auto& m) { return m.term; }, body);
}

verdict refuse_sender(const message& what, const situation& here) {
  if (what.from == 0 || what.from == here.self)
    return "the sender's id is 0 or our own";
  if (!may_send(what.body, here.members, what.from))
    return "the answer is not a member's";
  auto term = term_of(what.body);
  if (term == 0 || term > here.term + term_leap_max)
    return "the term is 0 or implausibly far ahead";
  return {};
}

verdict refuse_entries(const append_entries& m) {
  auto last_term = m.previous_term;
  for (const auto& e : m.entries) {
    if (e.term == 0 || e.term < last_term || e.term > m.term)
      return "the terms of the entries are not in order";
    if (e.kind < entry_kind::command || e.kind > entry_kind::change)
      return "an entry is of an unknown kind";
    if (e.kind == entry_kind::change && !decode_configuration(e.bytes))
      return "an entry holds a malformed configuration";
    last_term = e.term;
  }
  return {};
}

verdict refuse_append(const append_entries& m, const situation& here) {
  if (here.is_leader && m.term == here.term)
    return "two leaders in one term";
  if ((m.previous_index == 0) != (m.previous_term == 0))
    return "previous index and term contradict each other";
  if (m.previous_index > std::numeric_limits<std::uint64_t>::max() / 2)
    return "the previous index is implausible";
  return refuse_entries(m);
}

verdict refuse_install(const install_snapshot& m, const situation& here) {
  if (here.is_leader && m.term == here.term)
    return "two leaders in one term";
  if (here.is_installing)
    return "a snapshot is being installed";
  return {};
}

verdict refuse_mark(const install_snapshot& m) {
  const auto& s = m.mark;
  if (s.index == 0 || s.term == 0 || s.term > m.term)
    return "the snapshot's index or term is wrong";
  if (s.configuration_index == 0 || s.configuration_index > s.index || s.configuration.empty())
    return "the snapshot's configuration is missing or newer than the snapshot";
  return {};
}

verdict refuse_body(const message& what, const situation& here) {
  return std::visit(
    overloaded{
      [&](const request_vote& m) -> verdict {
        if (m.candidate != what.from)
          return "the candidate is not the sender";
        return {};
      },
      [&](const request_vote_result&) -> verdict {
        if (!here.is_candidate)
          return "a vote came after the election";
        return {};
      },
      [&](const append_entries& m) { return refuse_append(m, here); },
      [&](const append_entries_result& m) -> verdict {
        if (m.rejected == 0 && m.last_index > here.last_index)
          return "a follower claims entries that we never had";
        return {};
      },
      [&](const install_snapshot& m) -> verdict {
        auto wrong = refuse_install(m, here);
        return wrong ? wrong : refuse_mark(m);
      },
      [](const timeout_now&) -> verdict { return {}; },
    },
    what.body
  );
}

} // namespace

verdict refuse(const message& what, const situation& here) {
  if (auto wrong = refuse_sender(what, here))
    return wrong;
  return refuse_body(what, here);
}

bool is_older_than_ours(const install_snapshot& m, const situation& here) {
  return m.mark.index < here.first_index && m.mark.index < here.snapshot_index;
}

void skip_compacted(append_entries& probe, const situation& here) {
  if (here.first_index <= 1 || here.is_installing || here.is_leader)
    return;
  if (probe.previous_index >= here.first_index || probe.previous_index >= here.snapshot_index)
    return;
  auto covered =
    std::min<std::uint64_t>(probe.entries.size(), here.snapshot_index - probe.previous_index);
  probe.entries.erase(
    probe.entries.begin(), probe.entries.begin() + static_cast<std::ptrdiff_t>(covered)
  );
  probe.previous_index = here.snapshot_index;
  probe.previous_term = here.snapshot_term;
}

namespace {

/// Cuts before each entry of which `is_cut` says so, having seen the part that it would join.
template <class Cut>
std::vector<append_entries> split(append_entries whole, Cut is_cut) {
  std::vector<append_entries> parts;
  auto rest = std::move(whole.entries);
  whole.entries.clear();
  auto part = whole;
  for (auto& e : rest) {
    if (!part.entries.empty() && is_cut(part, e)) {
      auto next = whole;
      next.previous_index = part.previous_index + part.entries.size();
      next.previous_term = part.entries.back().term;
      parts.push_back(std::exchange(part, std::move(next)));
    }
    part.entries.push_back(std::move(e));
  }
  parts.push_back(std::move(part));
  for (auto& one : parts)
    one.count = static_cast<std::uint32_t>(one.entries.size());
  return parts;
}

} // namespace

std::vector<append_entries> split_at_changes(append_entries whole) {
  return split(std::move(whole), [](const append_entries&, const entry& e) {
    return e.kind == entry_kind::change;
  });
}

std::vector<append_entries> split_at_bytes(append_entries whole, std::size_t bytes_max) {
  std::size_t bytes = 0;
  return split(std::move(whole), [&](const append_entries& part, const entry& e) {
    if (part.entries.size() == 1)
      bytes = part.entries.front().bytes.size();
    bytes += e.bytes.size();
    return bytes > bytes_max;
  });
}

void repair_result(append_entries_result& result) {
  result.last_index = 0;
  result.rejected = std::max<std::uint64_t>(result.rejected, 1);
}

bool arrival_order::take(const message& what) {
  auto& last = last_[what.from];
  if (what.run < last.run || (what.run == last.run && what.sequence <= last.sequence))
    return false;
  last = {what.run, what.sequence};
  return true;
}

} // namespace assay::consensus
