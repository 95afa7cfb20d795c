#include "src/blobs/exchange.hpp"

#include "src/base/peer_limits.hpp"

#include <algorithm>

namespace assay::blobs {

// -- to a majority ------------------------------------------------------------------------------

effects exchange::know(standing now_is, steady_time now) {
  effects out;
  if (now_is == standing_)
    return out;
  standing_ = std::move(now_is);
  std::vector<digest> all;
  for (auto& [blob, one] : shares_) {
    offer_to_all(out, blob, one, now);
    all.push_back(blob);
  }
  for (const auto& blob : all)
    settle(out, blob);
  return out;
}

effects exchange::share(const digest& blob, std::uint64_t size, steady_time now) {
  effects out;
  auto [at, is_new] = shares_.try_emplace(blob);
  auto& one = at->second;
  one.moved = now;
  if (!is_new)
    return out;
  one.size = size;
  one.holders = {standing_.self};
  offer_to_all(out, blob, one, now);
  settle(out, blob);
  return out;
}

void exchange::offer_to_all(effects& out, const digest& blob, shared& one, steady_time now) {
  one.offered = now;
  for (auto voter : standing_.voters)
    if (!one.holders.contains(voter))
      out.push_back(say{voter, offer{blob, one.size}});
}

/// If it is enough.
void exchange::settle(effects& out, const digest& blob) {
  auto found = shares_.find(blob);
  if (found == shares_.end() || !is_on_majority(found->second.holders, standing_.voters))
    return;
  shares_.erase(found);
  out.push_back(share_settled{blob, {}});
}

effects exchange::hear(node from, const kept& what, steady_time now) {
  effects out;
  auto found = shares_.find(what.blob);
  if (found == shares_.end())
    return out;
  found->second.holders.insert(from);
  found->second.moved = now;
  settle(out, what.blob);
  return out;
}

/// Who asks for the next page makes progress, and is waited for.
effects exchange::hear(node from, const want& what, steady_time now) {
  auto found = shares_.find(what.blob);
  if (found != shares_.end() && standing_.voters.contains(from)) {
    auto [at, is_first] = found->second.progress.try_emplace(from, what.offset);
    if (is_first || what.offset > at->second)
      found->second.moved = now;
    at->second = std::max(at->second, what.offset);
  }
  return {give_page{from, what}};
}

// -- to us --------------------------------------------------------------------------------------

effects exchange::fetch(const digest& blob, steady_time now) {
  effects out;
  if (!add(blob, true))
    out.push_back(fetch_ended{
      blob,
      problem{
        problem_kind::unavailable,
        std::to_string(waiting_.size()) + " blobs are being fetched already",
        "blobs",
        "ask again in a while"}});
  start_waiting(out, now);
  return out;
}

effects exchange::miss(const digest& blob, steady_time now) {
  effects out;
  add(blob, false);
  start_waiting(out, now);
  return out;
}

effects exchange::hear(node from, const offer& what, bool is_here, steady_time now) {
  if (is_here)
    return {say{from, kept{what.blob}}};
  effects out;
  if (auto found = downloads_.find(what.blob); found != downloads_.end())
    found->second.add_source(from);
  if (add(what.blob, true)) // Otherwise it is offered again.
    offered_by_[what.blob].insert(from);
  start_waiting(out, now);
  return out;
}

/// False: too many wait.
bool exchange::add(const digest& blob, bool is_urgent) {
  if (downloads_.contains(blob))
    return true;
  auto at = std::ranges::find(waiting_, blob);
  auto is_there = at != waiting_.end();
  if (is_there && !is_urgent)
    return true;
  if (is_there)
    waiting_.erase(at);
  if (waiting_.size() >= limits::blobs_waiting)
    return false;
  waiting_.insert(is_urgent ? waiting_.begin() : waiting_.end(), blob);
  return true;
}

void exchange::start_waiting(effects& out, steady_time now) {
  while (!waiting_.empty() && downloads_.size() < limits::blob_downloads) {
    auto blob = waiting_.front();
    waiting_.pop_front();
    begin(out, blob, now);
  }
}

/// Whoever offered it has it; the others may.
void exchange::begin(effects& out, const digest& blob, steady_time now) {
  std::deque<node> sources;
  if (auto found = offered_by_.find(blob); found != offered_by_.end())
    sources.assign(found->second.begin(), found->second.end());
  for (auto one : standing_.others)
    if (std::ranges::find(sources, one) == sources.end())
      sources.push_back(one);
  if (sources.empty()) {
    auto why = problem{
      problem_kind::not_found,
      "the blob " + to_text(blob) + " is not here, and there is no other coordinator to ask",
      "blobs",
      "restore blobs/ from a backup"};
    return out.push_back(fetch_ended{blob, std::move(why)});
  }
  auto& one = downloads_.emplace(blob, download{blob, std::move(sources), now}).first->second;
  out.push_back(begin_blob{blob});
  out.push_back(say{one.source(), one.ask(now)});
}

effects exchange::hear(node from, const page& what, steady_time now) {
  effects out;
  auto found = downloads_.find(what.blob);
  if (found == downloads_.end() || !found->second.waits_for(from, what))
    return out;
  auto& one = found->second;
  if (what.is_missing)
    pass_over(out, what.blob, "does not have it", true, now);
  else if (!one.take(what, now))
    pass_over(out, what.blob, "named two sizes", false, now);
  else {
    out.push_back(append_blob{what.blob, what.bytes});
    if (one.is_whole())
      out.push_back(finish_blob{what.blob, from});
    else
      out.push_back(say{from, one.ask(now)});
  }
  return out;
}

void exchange::pass_over(
  effects& out, const digest& blob, const std::string& why, bool is_missing, steady_time now
) {
  auto& one = downloads_.at(blob);
  if (!one.pass_over(why, is_missing, now))
    return end(out, blob, one.why_not(), now);
  out.push_back(begin_blob{blob});
  out.push_back(say{one.source(), one.ask(now)});
}

void exchange::end(effects& out, const digest& blob, std::optional<problem> why, steady_time now) {
  downloads_.erase(blob);
  auto offered = offered_by_.extract(blob);
  if (why)
    out.push_back(abandon_blob{blob});
  else if (offered)
    for (auto one : offered.mapped())
      out.push_back(say{one, kept{blob}});
  out.push_back(fetch_ended{blob, std::move(why)});
  start_waiting(out, now);
}

effects exchange::stored(const digest& blob, steady_time now) {
  effects out;
  if (downloads_.contains(blob))
    end(out, blob, {}, now);
  return out;
}

effects exchange::other_content(const digest& blob, steady_time now) {
  effects out;
  if (downloads_.contains(blob))
    pass_over(out, blob, "gave other content, so its copy is damaged", false, now);
  return out;
}

effects exchange::not_stored(const digest& blob, const problem& why, steady_time now) {
  effects out;
  if (downloads_.contains(blob))
    end(out, blob, why, now);
  return out;
}

// -- both ---------------------------------------------------------------------------------------

effects exchange::lost(node which, steady_time now) {
  effects out;
  std::vector<digest> cut;
  for (const auto& [blob, one] : downloads_)
    if (one.source() == which && !one.is_whole())
      cut.push_back(blob);
  for (const auto& blob : cut)
    if (downloads_.contains(blob))
      pass_over(out, blob, "cannot be reached", false, now);
  return out;
}

effects exchange::reached(node which, steady_time) {
  effects out;
  for (const auto& [blob, one] : shares_)
    if (standing_.voters.contains(which) && !one.holders.contains(which))
      out.push_back(say{which, offer{blob, one.size}});
  return out;
}

effects exchange::tick(steady_time now) {
  effects out;
  for (auto at = shares_.begin(); at != shares_.end();) {
    auto& [blob, one] = *at;
    if (now - one.moved >= limits::blob_silence) {
      out.push_back(share_settled{blob, not_on_majority(one.holders, standing_.voters)});
      at = shares_.erase(at);
      continue;
    }
    if (now - one.offered >= limits::blob_said_again)
      offer_to_all(out, blob, one, now);
    ++at;
  }
  std::vector<digest> stuck;
  for (auto& [blob, one] : downloads_) {
    if (one.is_whole())
      continue; // The disk has it.
    if (one.is_stuck(now))
      stuck.push_back(blob);
    else if (one.is_ask_due(now))
      out.push_back(say{one.source(), one.ask(now)});
  }
  for (const auto& blob : stuck)
    pass_over(out, blob, "fell silent", false, now);
  return out;
}

} // namespace assay::blobs
