#include "tests/simulation/cluster.hpp"

#include "src/base/check.hpp"
#include "src/consensus/configuration.hpp"
#include "src/ledger/record.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/wire/record_codec.hpp"
#include "src/wire/row_codec.hpp"

#include <algorithm>

namespace assay::simulation {

using namespace consensus;

namespace {

constexpr std::uint64_t founding_ms = 20'000;
constexpr std::uint64_t answer_patience_ms = 1'500;
constexpr std::uint64_t looks_every_ms = 150;

uuid id_of(std::uint64_t question) {
  uuid out;
  for (std::size_t i = 0; i < 8; ++i)
    out.bytes[15 - i] = static_cast<std::uint8_t>(question >> (8 * i));
  out.bytes[0] = 1;
  return out;
}

ledger::record record_of(std::uint64_t question, ledger::payload what) {
  auto out = ledger::make_record(std::move(what), {"root", ledger::authentication::socket});
  out.record_id = id_of(question);
  return out;
}

/// 0: the ledger does not hold it.
std::uint64_t place_of(std::uint64_t question, const rows& in) {
  auto key = ledger::key_of(ledger::record_id_row{.record_id = id_of(question)});
  auto at = in.find(store::row_key(ledger::table::record_ids, key));
  auto row = at == in.end() ? std::nullopt : std::optional{wire::decode_row(at->second)};
  return row && *row ? std::get<ledger::record_id_row>(**row).seq : 0;
}

} // namespace

cluster::cluster(std::uint64_t seed, const profile& how)
  : seed_{seed}, how_{how}, luck_{seed},
    network_{
      time_,
      luck_,
      how_,
      [this](std::uint64_t from, std::uint64_t to, parcel what) {
        if (auto at = machines_.find(to); at != machines_.end())
          at->second->receive(from, std::move(what));
      }},
    in_{
      time_,
      luck_,
      judge_,
      how_,
      [this](std::uint64_t from, std::uint64_t to, parcel what) {
        auto* said = std::get_if<message>(&what);
        if (said != nullptr && how_.is_hostile && !is_calm_ && luck_.happens(10))
          forge(*said);
        network_.send(from, to, std::move(what));
      },
      [this](std::uint64_t id) { restart_later(id, luck_.between(50, 500)); },
      [this](std::uint64_t id, std::uint64_t of, std::uint64_t up_to) {
        check_belief(id, of, up_to);
      },
      [this](std::uint64_t id, stage what) { begins(id, what); }} {
  out_.seed = seed;
}

verdict cluster::run() {
  found(how_.members);
  founder_asks();
  while (!is_founded_ && judge_.failure().empty() && time_.run_next(founding_ms))
    ;
  if (!is_founded_)
    judge_.fail("no ledger was founded in time");
  clients_.resize(how_.clients);
  for (round_ = 1; round_ <= how_.rounds && judge_.failure().empty(); ++round_) {
    storm();
    calm();
  }
  if (how_.hands_over_behind)
    hand_over_behind();
  out_.failure = judge_.failure();
  out_.trace = judge_.trace.add(time_.now()).add(network_.parcels()).value();
  out_.acknowledged = judge_.acknowledgements().size();
  out_.reads = judge_.reads();
  out_.terms = judge_.terms();
  out_.entries = judge_.committed_index();
  for (const auto& [id, m] : machines_)
    out_.fetches += m->fetches();
  out_.virtual_ms = time_.now();
  out_.suffered = in_.suffered;
  return out_;
}

void cluster::storm() {
  is_calm_ = false;
  network_.hurt();
  for (std::size_t i = 0; i < clients_.size(); ++i)
    client_thinks(i);
  next_fault();
  deafen_later();
  swap_later();
  if (round_ == 1)
    administrator_looks();
  const auto end = time_.now() + how_.chaos_ms;
  while (judge_.failure().empty() && time_.run_next(end))
    ;
}

void cluster::calm() {
  calm_down();
  const auto begun = time_.now();
  const auto end = begun + how_.calm_ms;
  while (judge_.failure().empty() && !has_converged() && time_.run_next(end))
    ;
  out_.longest_calm_ms = std::max(out_.longest_calm_ms, time_.now() - begun);
  judge_the_end();
}

// -- the machines -------------------------------------------------------------------------------

void cluster::found(unsigned members) {
  configuration first;
  for (std::uint64_t id = 1; id <= members; ++id)
    first.push_back({id, std::to_string(id), member_role::voter});
  next_id_ = members + 1;
  for (std::uint64_t id = 1; id <= members; ++id) {
    disks_[id] = std::make_unique<disk>();
    disks_[id]->log.hard = {1, 0};
    disks_[id]->log.entries.push_back({1, entry_kind::change, encode(first)});
    add_machine(id).start();
  }
}

coordinator& cluster::add_machine(std::uint64_t id) {
  auto& on = disks_[id];
  if (!on)
    on = std::make_unique<disk>();
  return *(machines_[id] = std::make_unique<coordinator>(id, *on, in_));
}

void cluster::restart_later(std::uint64_t id, std::uint64_t ms) {
  ++out_.crashes;
  disks_.at(id)->lies = false; // A new process reads what the disk really holds.
  time_.after(ms, [this, id] {
    auto at = machines_.find(id);
    if (at != machines_.end() && !at->second->is_up() && !removed_.contains(id))
      at->second->start();
  });
}

coordinator* cluster::leader() {
  coordinator* out = nullptr;
  for (auto& [id, m] : machines_)
    if (m->is_up() && !m->is_paused() && m->member().is_leader())
      if (out == nullptr || m->member().term() > out->member().term())
        out = m.get();
  return out;
}

coordinator& cluster::somebody() {
  auto at = machines_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(luck_.below(machines_.size())));
  return *at->second;
}

// -- those who ask ------------------------------------------------------------------------------

/// The first record creates the cluster; it is asked for until it is there.
void cluster::founder_asks() {
  if (is_founded_)
    return;
  const uuid name{{7}};
  auto first = record_of(1, ledger::cluster_created{name, "lab"});
  questions_ = 1;
  if (auto* to = leader())
    to->propose({wire::encode_proposal(first), [this](const reply& said) {
                   if (!said.receipt)
                     return;
                   is_founded_ = true;
                   judge_.acknowledged(1, said.receipt->seq);
                 }});
  time_.after(looks_every_ms, [this] { founder_asks(); });
}

std::string cluster::next_proposal() {
  catalog::project what;
  what.name = project_id{"p" + std::to_string(questions_)};
  return wire::encode_proposal(record_of(questions_, ledger::declared{what}));
}

void cluster::client_thinks(std::size_t which) {
  const auto pause = luck_.between(how_.think_ms / 2, how_.think_ms * 3 / 2);
  time_.after(pause, [this, which, round = round_] {
    if (is_calm_ || round != round_)
      return;
    auto& who = clients_[which];
    who.is_read = luck_.happens(300);
    who.question = ++questions_;
    who.must_see = judge_.acknowledged_seq();
    if (!who.is_read)
      who.proposal = next_proposal();
    ask(which);
  });
}

void cluster::ask(std::size_t which) {
  auto& who = clients_[which];
  if (who.question == 0)
    return;
  const auto attempt = who.attempt = ++attempts_;
  auto at = machines_.find(who.target);
  if (at == machines_.end())
    return again(which, attempt);
  time_.after(answer_patience_ms, [this, which, attempt] { again(which, attempt); });
  if (who.is_read)
    return at->second->read({[this, which, attempt](std::optional<std::uint64_t> saw) {
      was_read(which, attempt, saw);
    }});
  at->second->propose({who.proposal, [this, which, attempt](const reply& said) {
                         answered(which, attempt, said);
                       }});
}

/// The same question to somebody else, if it is still open.
void cluster::again(std::size_t which, std::uint64_t attempt) {
  auto& who = clients_[which];
  if (who.question == 0 || who.attempt != attempt)
    return;
  who.attempt = 0;
  auto* known = leader();
  who.target = known != nullptr && luck_.happens(700) ? known->id() : somebody().id();
  time_.after(luck_.between(20, 100), [this, which] { ask(which); });
}

void cluster::answered(std::size_t which, std::uint64_t attempt, const reply& said) {
  auto& who = clients_[which];
  if (who.question == 0 || who.attempt != attempt)
    return;
  if (!said.receipt)
    return again(which, attempt);
  judge_.acknowledged(who.question, said.receipt->seq);
  who.question = 0;
  client_thinks(which);
}

void cluster::was_read(std::size_t which, std::uint64_t attempt, std::optional<std::uint64_t> saw) {
  auto& who = clients_[which];
  if (who.question == 0 || who.attempt != attempt)
    return;
  if (!saw)
    return again(which, attempt);
  judge_.read(who.must_see, *saw);
  who.question = 0;
  client_thinks(which);
}

/// What a leader counts for a majority is on that disk, for as long as nobody else leads there.
void cluster::check_belief(std::uint64_t id, std::uint64_t of, std::uint64_t up_to) {
  const auto& log = disks_.at(of)->log;
  const auto term = machines_.at(id)->member().term();
  if (log.hard.term != term)
    return;
  const auto* ours = disks_.at(id)->log.find(up_to);
  const auto* theirs = log.find(up_to);
  bool is_another = ours != nullptr && theirs != nullptr && ours->term != theirs->term;
  if (up_to > log.last() || is_another)
    judge_.fail(
      "the leader of term " + std::to_string(term) + " counts entry " + std::to_string(up_to)
      + " as stored by member " + std::to_string(of) + ", whose disk ends at "
      + std::to_string(log.last()) + (is_another ? " and holds another one there" : "")
    );
}

// -- the end ------------------------------------------------------------------------------------

void cluster::calm_down() {
  is_calm_ = true;
  network_.heal();
  for (auto& [id, d] : disks_) {
    d->full_until = d->slow_until = 0;
    d->fails_next = false;
  }
  for (auto& [id, m] : machines_) {
    if (m->is_paused())
      m->resume();
    if (!m->is_up() && !removed_.contains(id))
      m->start();
  }
}

bool cluster::has_converged() {
  auto* first = leader();
  if (first == nullptr || wish_)
    return false;
  for (const auto& who : clients_)
    if (who.question != 0)
      return false;
  const auto& member = first->member();
  for (const auto& m : member.members()) {
    auto at = machines_.find(m.id);
    if (at == machines_.end() || !at->second->is_up())
      return false;
    const auto& one = *at->second;
    if (m.role == member_role::voter
        && (one.applied() != member.last_index() || one.root() != first->root()
            || one.member().is_fetching()))
      return false;
  }
  return first->applied() == member.last_index();
}

/// Where everybody stands, for whoever reads a failure.
std::string cluster::standing() const {
  std::string out = wish_ ? " a change is not done;" : "";
  for (const auto& who : clients_)
    out += who.question != 0 ? " a question is open;" : "";
  for (const auto& [id, m] : machines_) {
    if (!m->is_up())
      continue;
    const auto& p = m->member();
    out += "\n  " + std::to_string(id) + (p.is_leader() ? " leads" : "") + ": term "
           + std::to_string(p.term()) + ", log " + std::to_string(p.first_index()) + " to "
           + std::to_string(p.last_index()) + ", durable " + std::to_string(p.durable_index())
           + ", committed " + std::to_string(p.commit_index()) + ", applied "
           + std::to_string(m->applied()) + (p.is_fetching() ? ", fetching" : "") + ", members";
    for (const auto& one : p.members())
      out += " " + std::to_string(one.id) + (one.role == member_role::voter ? "v" : "s");
    out += p.dropped().empty() ? "" : ", dropped: " + std::string{p.dropped()};
  }
  return out;
}

void cluster::judge_the_end() {
  if (!judge_.failure().empty())
    return;
  if (!has_converged())
    return judge_.fail(
      "no agreement " + std::to_string(how_.calm_ms) + " ms after the last fault:" + standing()
    );
  auto* first = leader();
  for (const auto& m : first->member().members()) {
    if (m.role != member_role::voter)
      continue;
    const auto& one = *machines_.at(m.id);
    if (one.rows() != first->rows())
      judge_.fail(
        "the rows of members " + std::to_string(m.id) + " and " + std::to_string(first->id())
        + " differ"
      );
    judge_.logs_match(one.on_disk().log, first->on_disk().log);
  }
  // Each question at its own place, and no place without one.
  std::set<std::uint64_t> places;
  for (const auto& [question, seq] : judge_.acknowledgements())
    if (!places.insert(seq).second || seq > first->seq())
      judge_.fail("seq " + std::to_string(seq) + " was promised twice or is not there");
  std::uint64_t ids = 0;
  for (const auto& [key, value] : first->rows())
    ids += key.front() == static_cast<char>(ledger::table::record_ids);
  if (ids != first->seq())
    judge_.fail("the ledger holds a record twice");
  for (const auto& [question, seq] : judge_.acknowledgements())
    if (place_of(question, first->rows()) != seq)
      judge_.fail("question " + std::to_string(question) + " was acknowledged and is lost");
}

} // namespace assay::simulation
