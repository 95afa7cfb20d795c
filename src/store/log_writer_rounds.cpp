// One round of the log writer: what came is put to the participant, and what it then wants is
// carried out until it wants nothing more.

#include "src/base/check.hpp"
#include "src/base/log.hpp"
#include "src/base/overloaded.hpp"
#include "src/base/room_limits.hpp"
#include "src/store/log_refusals.hpp"
#include "src/store/log_writer.hpp"
#include "src/store/monotonic.hpp"

namespace assay::store {

using consensus::entry_kind;

namespace {

/// What they take in the log, roughly.
std::uint64_t bytes_of(const std::vector<waiting_proposal>& proposals) {
  std::uint64_t bytes = 0;
  for (const auto& one : proposals)
    bytes += one.what.bytes.size() + 256;
  return bytes;
}

} // namespace

void log_writer::begin(log_store::contents disk, std::uint64_t applied) {
  run_ = disk.run + 1;
  auto refused = member_->start(
    {disk.hard, disk.snapshot, disk.first_index, std::move(disk.entries)}, applied, now_ms()
  );
  if (refused) // The directory was judged before, so this is the library's word on the entries.
    member_->broke("consensus cannot start from what raft/ holds");
  report(); // Whoever sees something applied sees the term as well.
  pump();
  report();
  shared_.set_begun(member_->is_leader() ? member_->first_of_term() : 0);
}

void log_writer::round(log_inbox::contents what) {
  watch_clock(what.is_clock_accepted);
  if (shared_.is_dead() && member_->ended().empty())
    member_->broke("the ledger stopped after a disk error");
  for (const auto& one : what.fates)
    page_was_stored(one);
  if (!fetch_) // Else the state is durable when its last page is.
    member_->state_is_durable(shared_.durable());
  retry_room();
  receive_all(std::move(what.messages));
  for (auto& one : what.pages)
    take_page(std::move(one));
  if (now_ms() >= member_->wake_up_ms())
    (void)member_->tick(now_ms()); // `pump` sees how it ended.
  for (auto& one : what.orders)
    obey(std::move(one));
  submit(std::move(what.proposals));
  read_now(std::move(what.readers));
  mend_under_its_leader();
  pump();
  ask_for_state();
  report();
}

/// After a full disk: writes what waits, or else sees whether there is room again.
void log_writer::retry_room() {
  if (member_->is_disk_full()) {
    member_->retry_write();
    pump();
  } else if (shared_.is_full(commit_point::log))
    shared_.set_full(commit_point::log, log_.reserve(limits::state_reserve_bytes).has_value());
  keep_room();
}

/// What is kept for essential records grows with the log. A follower takes what its leader sends
/// even from that: an entry that it left out would hold up all behind it.
void log_writer::keep_room() {
  const auto now = std::chrono::steady_clock::now();
  if (shared_.is_low(commit_point::log) && now < next_room_look_)
    return;
  next_room_look_ = now + limits::full_disk_retry;
  shared_.set_low(commit_point::log, log_.reserve(limits::kept_log_bytes).has_value());
}

// -- asking the participant ---------------------------------------------------------------------

problem log_writer::why(consensus::refusal refused) const {
  return problem_of(refused, member_->members(), member_->leader());
}

void log_writer::receive_all(std::vector<consensus::message> messages) {
  for (auto& one : messages)
    (void)member_->receive(std::move(one), now_ms()); // `pump` sees how it ended.
}

void log_writer::obey(store::order what) {
  auto refused = std::visit(
    overloaded{
      [&](const consensus::membership_change& how) { return member_->change(how, now_ms()); },
      [&](const hand_over_to& who) { return member_->transfer(who.id, now_ms()); },
      [&](mend_state) { return begin_mending(); },
    },
    what.what
  );
  if (refused)
    return what.done(unexpected{why(*refused)});
  what.done({});
}

void log_writer::submit(std::vector<waiting_proposal> proposals) {
  drop_refused(proposals);
  if (proposals.empty())
    return;
  next_batch_.sealed(proposals.size());
  auto ticket = member_->propose({seal(proposals)}, now_ms());
  in_flight who;
  who.since = std::chrono::steady_clock::now();
  for (auto& one : proposals)
    if (ticket)
      who.askers.push_back(std::move(one.done));
    else
      shared_.answer_one(one.done, unexpected{why(ticket.error())});
  if (ticket)
    in_flight_.emplace(*ticket, std::move(who));
}

void log_writer::drop_refused(std::vector<waiting_proposal>& proposals) {
  if (proposals.empty())
    return;
  const auto all = refusal_for_all();
  const auto ordinary = all ? all : refusal_for_ordinary(bytes_of(proposals));
  std::erase_if(proposals, [&](waiting_proposal& one) {
    auto refused = ordinary && !all && machine_.is_essential(one.what.bytes) ? all : ordinary;
    if (!refused)
      refused = untimely(one.what.is_time_driven, clock_);
    if (!refused)
      refused = machine_.refuse(one.what.bytes);
    if (refused)
      shared_.answer_one(one.done, unexpected{*refused});
    return refused.has_value();
  });
  if (all || proposals.empty())
    return;
  auto failed = log_.reserve(bytes_of(proposals));
  shared_.set_full(commit_point::log, failed.has_value());
  if (failed)
    for (const auto& one : std::exchange(proposals, {}))
      shared_.answer_one(one.done, unexpected{disk_full_problem(failed->text)});
}

std::optional<problem> log_writer::refusal_for_all() {
  if (shared_.is_dead() || !member_->ended().empty())
    return why(consensus::refusal::stopped);
  if (member_->is_disk_full())
    return why(consensus::refusal::disk_full);
  if (!member_->is_leader())
    return why(consensus::refusal::not_leader);
  if (shared_.is_full(commit_point::state))
    return disk_full_problem("the newest state cannot be written");
  if (auto used = map_percent(); used > limits::map_kept_percent)
    return map_full_problem(used);
  return {};
}

/// Why nothing but essential records is taken.
std::optional<problem> log_writer::refusal_for_ordinary(std::uint64_t bytes) {
  if (auto used = map_percent(); used > limits::map_use_percent)
    return map_full_problem(used);
  if (auto why = shared_.room_fault(); !why.empty())
    return disk_low_problem(why);
  if (!shared_.is_low(commit_point::log))
    shared_.set_low(commit_point::log, log_.reserve(bytes + limits::kept_log_bytes).has_value());
  if (shared_.is_low())
    return disk_low_problem("the disk of this coordinator is full but for its reserve");
  return {};
}

std::uint32_t log_writer::map_percent() const {
  return std::max(log_.map_percent(), shared_.state_map_percent());
}

consensus::entry log_writer::seal(std::vector<waiting_proposal>& proposals) {
  std::vector<std::string> bytes;
  for (auto& one : proposals)
    bytes.push_back(std::move(one.what.bytes));
  last_stamp_ = next_stamp(shared_.options().wall(), std::max(last_stamp_, shared_.stamped_at()));
  return {0, entry_kind::command, machine_.seal(bytes, last_stamp_, member_->term())};
}

void log_writer::read_now(std::vector<ledger_engine::viewed> readers) {
  if (readers.empty())
    return;
  // Nobody can have overtaken a group of one: what it answered is what it handed over, and what the
  // run before did is older than the first entry of this one.
  if (
    member_->is_leader() && member_->members().size() == 1
    && member_->handed_over() + 1 >= member_->first_of_term()
  )
    return next_.push({0, {}, {}, std::move(readers)});
  for (auto& reader : readers)
    next_readers_.push_back(std::move(reader));
}

/// Of several members, an entry of our term that commits after the question proves that we still
/// lead. One barrier serves all who asked while the one before was under way.
void log_writer::begin_barrier() {
  if (next_readers_.empty() || barrier_ != 0)
    return;
  auto readers = std::exchange(next_readers_, {});
  auto ticket = member_->barrier(now_ms());
  if (ticket) {
    barrier_ = *ticket;
    in_flight_.emplace(barrier_, in_flight{{}, std::move(readers), {}});
    return;
  }
  for (auto& reader : readers)
    reader(unexpected{why(ticket.error())});
}

// -- carrying out what it says ------------------------------------------------------------------

void log_writer::pump() {
  for (bool is_more = true; is_more;) {
    begin_barrier();
    is_more = carry_out(member_->take()) || (barrier_ == 0 && !next_readers_.empty());
  }
  if (!member_->ended().empty())
    shared_.die(member_->ended());
}

/// Peers and the applier get theirs before our disk is kept busy. True when there may be more.
bool log_writer::carry_out(consensus::outputs what) {
  for (auto ticket : what.lost)
    answer_unknown(ticket);
  for (auto& one : what.messages)
    if (shared_.options().peers != nullptr)
      shared_.options().peers->send(std::move(one));
  for (auto& one : what.committed)
    hand_over(std::move(one));
  if (what.fetch)
    begin_fetch(*std::move(what.fetch));
  return what.write && write(*what.write);
}

bool log_writer::write(const consensus::log_write& what) {
  const auto begun = std::chrono::steady_clock::now();
  auto failed = store(what);
  const auto ended = std::chrono::steady_clock::now();
  syncs_.note(ended, ended - begun);
  if (failed && !failed->is_disk_full) {
    member_->broke(failed->text); // Its fate is unknown, and the next sync would lie.
    return true;
  }
  shared_.set_full(commit_point::log, failed.has_value());
  if (failed)
    member_->disk_full();
  else
    member_->wrote(now_ms());
  return !failed;
}

std::optional<write_failure> log_writer::store(const consensus::log_write& what) {
  if (what.forget)
    return log_.compact(what.forget->mark, what.forget->first_kept);
  if (what.replaced_by)
    return log_.replace(*what.replaced_by);
  return log_.write(what.hard, what.appends);
}

void log_writer::hand_over(consensus::committed_entry what) {
  committed out;
  out.index = what.index;
  out.entry = std::move(what.what);
  if (what.ticket != 0)
    if (auto at = in_flight_.find(what.ticket); at != in_flight_.end()) {
      gather_after(at->second);
      out.askers = std::move(at->second.askers);
      out.readers = std::move(at->second.readers);
      in_flight_.erase(at);
    }
  if (what.ticket != 0 && what.ticket == barrier_)
    barrier_ = 0;
  next_.push(std::move(out));
}

void log_writer::gather_after(const in_flight& done) {
  const auto now = std::chrono::steady_clock::now();
  if (!done.askers.empty())
    next_batch_.committed(done.askers.size(), inbox_.waiting(), now - done.since, now);
}

void log_writer::answer_unknown(std::uint64_t ticket) {
  if (ticket == barrier_)
    barrier_ = 0;
  auto at = in_flight_.find(ticket);
  if (at == in_flight_.end())
    return;
  auto who = std::move(at->second);
  in_flight_.erase(at);
  const auto text =
    member_->ended().empty() ? "leadership changed" : "the ledger stopped after a disk error";
  for (auto& done : who.askers)
    shared_.answer_one(done, unexpected{unknown_outcome(text)});
  for (auto& reader : who.readers)
    reader(unexpected{why(consensus::refusal::not_leader)});
}

void log_writer::report() {
  standing_.term = member_->term();
  standing_.commit = member_->commit_index();
  standing_.first = member_->first_index();
  standing_.last = member_->last_index();
  standing_.leader = member_->leader();
  standing_.is_leader = member_->is_leader();
  standing_.is_fetching = fetch_.has_value();
  standing_.taken_over = taken_over_;
  standing_.is_settled = member_->is_membership_settled();
  standing_.clock_text = clock_.text();
  standing_.sync = syncs_.middle();
  standing_.sync_at = syncs_.looked_at();
  standing_.awaited = member_->is_leader() ? member_->newcomer() : 0;
  standing_.promotion_problem = member_->promotion_problem();
  if (!standing_.members || *standing_.members != member_->members())
    standing_.members = std::make_shared<const consensus::configuration>(member_->members());
  shared_.set_log(standing_);
}

} // namespace assay::store
