#include "src/consensus/raft_library.hpp"

#include "src/base/overloaded.hpp"

namespace assay::consensus::library_memory {

block::block(const std::vector<entry>& from) {
  if (from.empty())
    return;
  std::size_t size = 1;
  for (const auto& e : from)
    size += e.bytes.size();
  auto* bytes = static_cast<char*>(raft_malloc(size));
  check(bytes != nullptr, "out of memory for log entries");
  auto* at = bytes;
  for (const auto& e : from) {
    std::memcpy(at, e.bytes.data(), e.bytes.size());
    entries_.push_back({e.term, static_cast<raft_entry_type>(e.kind), {at, e.bytes.size()}, bytes});
    at += e.bytes.size();
  }
}

void block::free_bytes() {
  if (!entries_.empty())
    raft_free(entries_.front().batch);
}

std::vector<entry> copy(const raft_entry* batch, unsigned count) {
  std::vector<entry> out;
  out.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    const auto& e = batch[i];
    out.push_back(
      {e.term,
       static_cast<entry_kind>(e.type),
       std::string(static_cast<const char*>(e.buf.base), e.buf.len)}
    );
  }
  return out;
}

raft_configuration to_library(const configuration& members) {
  auto bytes = encode(members);
  raft_buffer buffer{bytes.data(), bytes.size()};
  raft_configuration out;
  check(raft_configuration_decode(&buffer, &out) == 0, "the library rejects our configuration");
  return out;
}

configuration from_library(const raft_configuration& members) {
  configuration out;
  for (unsigned i = 0; i < members.n; ++i) {
    const auto& s = members.servers[i];
    out.push_back({s.id, s.address, static_cast<member_role>(s.role)});
  }
  return out;
}

raft_message to_library(const message& what) {
  raft_message out{};
  std::visit(
    overloaded{
      [&](const request_vote& m) {
        out.type = RAFT_REQUEST_VOTE;
        out.request_vote = {
          m.version,
          m.term,
          m.candidate,
          m.last_index,
          m.last_term,
          m.disrupts_leader,
          m.is_pre_vote};
      },
      [&](const request_vote_result& m) {
        out.type = RAFT_REQUEST_VOTE_RESULT;
        out.request_vote_result = {
          m.version, m.term, m.is_granted, m.is_pre_vote, m.features, m.capacity};
      },
      [&](const append_entries& m) {
        out.type = RAFT_APPEND_ENTRIES;
        out.append_entries = {
          m.version, m.term, m.previous_index, m.previous_term, m.commit, nullptr, 0};
      },
      [&](const append_entries_result& m) {
        out.type = RAFT_APPEND_ENTRIES_RESULT;
        out.append_entries_result = {
          m.version, m.term, m.rejected, m.last_index, m.features, m.capacity};
      },
      [&](const install_snapshot& m) {
        out.type = RAFT_INSTALL_SNAPSHOT;
        out.install_snapshot.version = m.version;
        out.install_snapshot.term = m.term;
        out.install_snapshot.last_index = m.mark.index;
        out.install_snapshot.last_term = m.mark.term;
        out.install_snapshot.conf_index = m.mark.configuration_index;
      },
      [&](const timeout_now& m) {
        out.type = RAFT_TIMEOUT_NOW;
        out.timeout_now = {m.version, m.term, m.last_index, m.last_term};
      },
    },
    what.body
  );
  return out;
}

message from_library(const raft_message& what) {
  message out;
  out.to = what.server_id;
  switch (what.type) {
  case RAFT_REQUEST_VOTE: {
    const auto& m = what.request_vote;
    out.body = request_vote{
      m.version,
      m.term,
      m.candidate_id,
      m.last_log_index,
      m.last_log_term,
      m.disrupt_leader,
      m.pre_vote};
    break;
  }
  case RAFT_REQUEST_VOTE_RESULT: {
    const auto& m = what.request_vote_result;
    out.body =
      request_vote_result{m.version, m.term, m.vote_granted, m.pre_vote, m.features, m.capacity};
    break;
  }
  case RAFT_APPEND_ENTRIES: {
    const auto& m = what.append_entries;
    out.body = append_entries{
      m.version, m.term, m.prev_log_index, m.prev_log_term, m.leader_commit, m.n_entries, {}};
    break;
  }
  case RAFT_APPEND_ENTRIES_RESULT: {
    const auto& m = what.append_entries_result;
    out.body = append_entries_result{
      m.version, m.term, m.rejected, m.last_log_index, m.features, m.capacity};
    break;
  }
  case RAFT_INSTALL_SNAPSHOT: {
    const auto& m = what.install_snapshot;
    out.body = install_snapshot{m.version, m.term, {.index = m.last_index, .term = m.last_term}};
    break;
  }
  case RAFT_TIMEOUT_NOW: {
    const auto& m = what.timeout_now;
    out.body = timeout_now{m.version, m.term, m.last_log_index, m.last_log_term};
    break;
  }
  }
  return out;
}

refusal refusal_of(int code) {
  switch (code) {
  case RAFT_NOTLEADER:
    return refusal::not_leader;
  case RAFT_CANTCHANGE:
    return refusal::change_pending;
  case RAFT_MALFORMED:
    return refusal::malformed;
  case RAFT_NOMEM:
    return refusal::no_memory;
  case RAFT_SHUTDOWN:
  case RAFT_CORRUPT:
    return refusal::stopped;
  default:
    return refusal::invalid;
  }
}

} // namespace assay::consensus::library_memory
