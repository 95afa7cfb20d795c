#include "tests/simulation/oracle.hpp"

#include <algorithm>

namespace assay::simulation {

namespace {

std::string text(std::uint64_t number) {
  return std::to_string(number);
}

std::uint64_t fingerprint(const consensus::entry& of) {
  return fold{}.add(static_cast<std::uint64_t>(of.kind)).add_bytes(of.bytes).value();
}

} // namespace

void oracle::fail(std::string what) {
  if (failure_.empty())
    failure_ = std::move(what);
}

void oracle::leads(std::uint64_t id, std::uint64_t term) {
  auto [at, is_new] = leaders_.emplace(term, id);
  if (is_new)
    trace.add(1).add(id).add(term);
  if (at->second != id)
    fail("term " + text(term) + " has two leaders: " + text(at->second) + " and " + text(id));
}

void oracle::committed(
  std::uint64_t id, std::uint64_t index, std::uint64_t term, const consensus::entry* what
) {
  trace.add(2).add(id).add(index).add(term);
  if (committed_.size() <= index)
    committed_.resize(index + 1);
  auto& here = committed_[index];
  const place now{term, what == nullptr ? 0 : fingerprint(*what)};
  if (here.term == 0)
    here = now;
  if (here.term != now.term || (now.fingerprint != 0 && here.fingerprint != now.fingerprint))
    fail("entry " + text(index) + " of member " + text(id) + " is another one than elsewhere");
}

void oracle::applied(std::uint64_t id, std::uint64_t index, std::uint64_t root) {
  if (roots_.size() <= index)
    roots_.resize(index + 1);
  if (roots_[index] == 0)
    roots_[index] = root;
  if (roots_[index] != root)
    fail("the state of member " + text(id) + " at index " + text(index) + " is another one");
}

void oracle::stamped(std::uint64_t id, std::int64_t before, std::int64_t after) {
  if (after < before)
    fail(
      "at member " + text(id) + " the ledger's time went back by " + std::to_string(before - after)
      + " ms"
    );
}

void oracle::commit_index(std::uint64_t id, std::uint64_t run, std::uint64_t index) {
  auto& last = commits_[id];
  if (last.first == run && index < last.second)
    fail("the commit index of member " + text(id) + " went back to " + text(index));
  last = {run, index};
}

void oracle::acknowledged(std::uint64_t question, std::uint64_t seq) {
  trace.add(3).add(question).add(seq);
  auto [at, is_new] = places_.emplace(question, seq);
  if (at->second != seq)
    fail("question " + text(question) + " was taken twice: " + text(at->second) + ", " + text(seq));
  acknowledged_seq_ = std::max(acknowledged_seq_, seq);
}

void oracle::read(std::uint64_t must_see, std::uint64_t saw) {
  trace.add(4).add(saw);
  ++reads_;
  if (saw < must_see)
    fail("a read saw seq " + text(saw) + " after seq " + text(must_see) + " was acknowledged");
}

void oracle::logs_match(const log_environment& a, const log_environment& b) {
  bool agrees = false;
  const auto first = std::max(a.first, b.first);
  for (auto index = std::min(a.last(), b.last()); index >= first && index > 0; --index) {
    const auto* x = a.find(index);
    const auto* y = b.find(index);
    if (x == nullptr || y == nullptr)
      return;
    agrees = agrees || x->term == y->term;
    if (agrees && !(*x == *y))
      return fail("two logs agree on a later entry and differ at " + text(index));
  }
}

std::uint64_t oracle::committed_index() const {
  return committed_.empty() ? 0 : committed_.size() - 1;
}

} // namespace assay::simulation
