#include "tests/simulation/coordinator.hpp"

#include "src/base/overloaded.hpp"
#include "src/store/clock_watch.hpp"
#include "src/store/ledger_machine.hpp"

#include <algorithm>

namespace assay::simulation {

using namespace consensus;

namespace {

constexpr std::int64_t dawn_ms = 1'800'000'000'000;
constexpr unsigned ticks_at_once_max = 20;

ledger::signing_key::seed seed_of(std::uint64_t id) {
  ledger::signing_key::seed out{};
  out.fill(static_cast<std::uint8_t>(id));
  return out;
}

} // namespace

coordinator::coordinator(std::uint64_t id, disk& on, surroundings& in)
  : id_{id}, disk_{on}, in_{in} {}

coordinator::~coordinator() = default;

// -- the process --------------------------------------------------------------------------------

void coordinator::start() {
  ++run_;
  is_paused_ = false;
  seen_ = disk_.log;
  load();
  participant_settings how;
  how.core.id = id_;
  how.core.address = std::to_string(id_);
  how.core.seed = static_cast<std::uint32_t>(in_.luck.next());
  how.core.run = run_;
  how.core.inflight_entries_max = in_.how.inflight_entries;
  how.core.guards = in_.how.guards;
  how.trailing = in_.how.trailing;
  how.message_bytes = 2'000;
  how.tail_bytes = 8'000;
  participant_ = participant::make(how, *this).value();
  log_contents held{seen_.hard, seen_.snapshot, seen_.first, {}};
  for (const auto& e : seen_.entries)
    held.entries.push_back({e.term, e.kind, e.kind == entry_kind::change ? e.bytes : ""});
  if (participant_->start(std::move(held), applied_, in_.time.now()))
    in_.judge.fail("member " + std::to_string(id_) + " cannot start from its disk");
  tick_at_ = 0;
  pump();
}

void coordinator::load() {
  machine_ = std::make_unique<store::ledger_machine>(seed_of(id_), std::to_string(id_));
  rows_ = disk_.state.rows;
  applied_ = disk_.state.applied;
  applied_term_ = disk_.state.term;
  root_ = disk_.state.root;
  const auto kept = machine_->loaded_prefixes();
  for (const auto& [key, value] : rows_)
    if (std::find(kept.begin(), kept.end(), key.substr(0, 1)) != kept.end())
      if (!machine_->load(key, value))
        in_.judge.fail("member " + std::to_string(id_) + " cannot read a row of its own");
  dirty_.clear();
}

/// A transaction under way is on the disk whole or not at all.
void coordinator::crash() {
  if (!is_up())
    return;
  ++run_;
  note_kill();
  if (writing_ && !disk_.lies && in_.luck.happens(500))
    disk_.log.write(*writing_);
  if (state_writing_ && !disk_.lies && in_.luck.happens(500))
    write(disk_.state, *state_writing_);
  else if (state_writing_ && in_.how.made.saves_index_alone)
    disk_.state.applied = state_writing_->applied;
  writing_.reset();
  state_writing_.reset();
  is_state_due_ = false;
  fetch_.reset();
  postponed_.clear();
  turn_everybody_away();
  participant_.reset();
  machine_.reset();
}

void coordinator::note_kill() {
  auto note = [this](stage what) { in_.suffered.note(what, mishap::killed); };
  if (fetch_ && !fetch_->is_complete)
    note(stage::fetching);
  if (state_writing_)
    note(state_writing_->replaces_all ? stage::adopting : stage::committing);
  if (writing_ && writing_->replaced_by)
    note(stage::replacing);
  if (writing_ && writing_->forget)
    note(stage::forgetting);
}

void coordinator::turn_everybody_away() {
  for (auto& [ticket, all] : std::exchange(asked_, {}))
    for (auto& one : all)
      one.tell({{}, true, "the process ended"});
  for (auto& one : std::exchange(waiting_, {}))
    one.tell({{}, true, "the process ended"});
  for (auto& [ticket, all] : std::exchange(reading_, {}))
    for (auto& one : all)
      one.tell({});
  for (auto& one : std::exchange(readers_, {}))
    one.tell({});
}

void coordinator::end_process() {
  crash();
  in_.ended(id_);
}

/// Void after a crash; postponed while the process is stopped.
void coordinator::later(std::uint64_t ms, std::function<void()> what) {
  in_.time.after(ms, [this, run = run_, what = std::move(what)]() mutable {
    if (run != run_)
      return;
    if (is_paused_)
      return postponed_.push_back(std::move(what));
    what();
  });
}

void coordinator::resume() {
  if (!std::exchange(is_paused_, false) || !is_up())
    return;
  const auto run = run_;
  for (auto& what : std::exchange(postponed_, {}))
    if (run == run_)
      what();
}

// -- one round ----------------------------------------------------------------------------------

void coordinator::receive(std::uint64_t from, parcel what) {
  if (!is_up())
    return;
  if (is_paused_) {
    postponed_.push_back([this, from, what = std::move(what)]() mutable {
      receive(from, std::move(what));
    });
    return;
  }
  std::visit(
    overloaded{
      [&](message& m) {
        (void)participant_->receive(std::move(m), in_.time.now()); // `pump` sees how it ended.
        if (auto match = participant_->match_index(from); match && participant_->is_leader())
          in_.believes(id_, from, *match);
        pump();
      },
      [&](const fetch_request& r) { serve(from, r); },
      [&](fetch_reply& r) { take_page(std::move(r)); },
    },
    what
  );
}

/// Carries out what the participant wants until it wants nothing more.
void coordinator::pump() {
  const auto run = run_;
  do {
    if (!participant_->ended().empty())
      return end_process();
    seal();
    begin_barrier();
  } while (carry_out(participant_->take()) && run == run_);
  if (run != run_)
    return;
  if (participant_->is_leader())
    in_.judge.leads(id_, participant_->term());
  in_.judge.commit_index(id_, run_, participant_->commit_index());
  plan_tick();
}

bool coordinator::carry_out(outputs what) {
  bool is_something = what.write || !what.messages.empty() || !what.committed.empty()
                      || !what.lost.empty() || what.fetch;
  for (auto ticket : what.lost)
    answer_unknown(ticket);
  if (what.write)
    begin_write(*what.write);
  for (auto& m : what.messages) {
    check_claim(m);
    in_.send(id_, m.to, std::move(m));
  }
  for (const auto& one : what.committed)
    apply(one);
  if (what.fetch)
    begin_fetch(*std::move(what.fetch));
  return is_something;
}

/// What a member says it has stored is on its disk.
void coordinator::check_claim(const message& what) {
  const auto* answer = std::get_if<append_entries_result>(&what.body);
  if (answer == nullptr || answer->rejected != 0 || answer->term != participant_->term())
    return;
  if (answer->last_index > seen_.last())
    in_.judge.fail(
      "member " + std::to_string(id_) + " claims entry " + std::to_string(answer->last_index)
      + ", and its log ends at " + std::to_string(seen_.last())
    );
}

void coordinator::plan_tick() {
  const auto now = in_.time.now();
  const auto due = std::max(participant_->wake_up_ms(), now);
  if (tick_at_ > now && tick_at_ <= due)
    return;
  if (tick_at_ == due && due == now)
    return;
  tick_at_ = due;
  later(due - now, [this, due] { tick_came(due); });
}

void coordinator::tick_came(std::uint64_t planned) {
  if (tick_at_ != planned)
    return;
  tick_at_ = 0;
  const auto now = in_.time.now();
  ticks_at_once_ = ticked_at_ == now ? ticks_at_once_ + 1 : 0;
  ticked_at_ = now;
  if (ticks_at_once_ > ticks_at_once_max)
    return in_.judge.fail("member " + std::to_string(id_) + " spins on a deadline in the past");
  if (now >= participant_->wake_up_ms())
    (void)participant_->tick(now); // `pump` sees how it ended.
  pump();
}

// -- the log writer's part ----------------------------------------------------------------------

void coordinator::propose(asker who) {
  if (!is_up())
    return who.tell({{}, false, "nobody is there"});
  if (is_paused_) {
    postponed_.push_back([this, who = std::move(who)]() mutable { propose(std::move(who)); });
    return;
  }
  waiting_.push_back(std::move(who));
  pump();
}

void coordinator::read(reader who) {
  if (!is_up())
    return who.tell({});
  if (is_paused_) {
    postponed_.push_back([this, who = std::move(who)]() mutable { read(std::move(who)); });
    return;
  }
  if (!in_.how.guards.reads_by_barrier && participant_->is_leader())
    return who.tell(seq());
  readers_.push_back(std::move(who));
  pump();
}

std::optional<refusal> coordinator::change(const membership_change& how) {
  if (!is_up() || is_paused_)
    return refusal::not_leader;
  auto refused = participant_->change(how, in_.time.now());
  pump();
  return refused;
}

std::optional<refusal> coordinator::transfer(std::uint64_t to) {
  if (!is_up() || is_paused_)
    return refusal::not_leader;
  auto refused = participant_->transfer(to, in_.time.now());
  pump();
  return refused;
}

/// Everything that waits while one batch is being synced forms the next.
void coordinator::seal() {
  if (waiting_.empty() || (writing_ && participant_->is_leader()))
    return;
  auto askers = std::exchange(waiting_, {});
  auto turn_away = [&](std::string_view why) {
    for (auto& one : askers)
      one.tell({{}, false, std::string{why}});
  };
  if (!participant_->is_leader())
    return turn_away("this member does not lead");
  // Batches are sealed only when everything older has its stamp.
  if (participant_->handed_over() < participant_->first_of_term()) {
    waiting_ = std::move(askers);
    return;
  }
  std::vector<std::string> bytes;
  for (const auto& one : askers)
    bytes.push_back(one.proposal);
  const auto now = in_.time.now();
  const auto wall = wall_ms{
    dawn_ms + static_cast<std::int64_t>(now) + clock_error_ms(in_.how.clock_seed, id_, now)};
  last_stamp_ = store::next_stamp(wall, std::max(last_stamp_, machine_->stands().stamped_at));
  auto sealed = machine_->seal(bytes, last_stamp_, participant_->term());
  auto ticket =
    participant_->propose({{0, entry_kind::command, std::move(sealed)}}, in_.time.now());
  if (!ticket)
    return turn_away("it cannot be taken now");
  asked_[*ticket] = std::move(askers);
}

/// One barrier for all who ask while the one before is under way.
void coordinator::begin_barrier() {
  if (readers_.empty() || !reading_.empty())
    return;
  auto ticket = participant_->barrier(in_.time.now());
  auto all = std::exchange(readers_, {});
  if (ticket)
    reading_[*ticket] = std::move(all);
  else
    for (auto& one : all)
      one.tell({});
}

void coordinator::answer_unknown(std::uint64_t ticket) {
  if (auto at = asked_.find(ticket); at != asked_.end()) {
    auto all = std::move(at->second);
    asked_.erase(at);
    for (auto& one : all)
      one.tell({{}, true, "leadership changed"});
  }
  if (auto at = reading_.find(ticket); at != reading_.end()) {
    auto all = std::move(at->second);
    reading_.erase(at);
    for (auto& one : all)
      one.tell({});
  }
}

std::uint64_t coordinator::sync_ms() {
  if (in_.time.now() < disk_.slow_until)
    return in_.luck.between(100, 1'500);
  return in_.luck.between(1, 4);
}

void coordinator::begin_write(log_write what) {
  writing_ = std::move(what);
  if (in_.how.made.forgets_vote)
    writing_->hard.reset();
  later(sync_ms(), [this] { write_done(); });
  if (writing_->forget)
    in_.begins(id_, stage::forgetting);
  if (writing_->replaced_by)
    in_.begins(id_, stage::replacing);
}

void coordinator::write_done() {
  const auto now = in_.time.now();
  if (now < disk_.full_until) {
    if (writing_->forget || writing_->replaced_by)
      in_.suffered.note(writing_->forget ? stage::forgetting : stage::replacing, mishap::disk_full);
    participant_->disk_full();
    later(100, [this] {
      participant_->retry_write();
      pump();
    });
    writing_.reset();
    return pump();
  }
  const auto what = *std::exchange(writing_, {});
  if (std::exchange(disk_.fails_next, false)) {
    if (!in_.how.made.retries_after_error) {
      participant_->broke("the disk reported an error");
      return pump();
    }
    disk_.lies = true;
  }
  seen_.write(what);
  if (!disk_.lies)
    disk_.log.write(what);
  participant_->wrote(now);
  if (in_.how.made.answers_early)
    answer_early();
  pump();
}

/// The mistake of a driver that takes its own disk for a majority.
void coordinator::answer_early() {
  auto next = seq();
  auto at = asked_.find(applied_ + 1);
  if (at == asked_.end() || participant_->durable_index() < at->first)
    return;
  for (auto& one : std::exchange(at->second, {}))
    one.tell({store::receipt{.seq = ++next}, false, ""});
  asked_.erase(at);
}

std::optional<entry> coordinator::at(std::uint64_t index) const {
  const auto* found = seen_.find(index);
  return found == nullptr ? std::nullopt : std::optional{*found};
}

} // namespace assay::simulation
