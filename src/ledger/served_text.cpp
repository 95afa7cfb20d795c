// The answer to "who served", for eyes and for programs.

#include "src/ledger/flattener.hpp"
#include "src/ledger/host_duty.hpp"
#include "src/ledger/served_fields.hpp"
#include "src/ledger/service.hpp"
#include "src/moves/plan.hpp"

#include <algorithm>
#include <charconv>

namespace assay::ledger {

namespace {

std::string by(const author& a) {
  return a.who + " (" + std::string{name(a.how)} + ")";
}

/// `record 12 sha256:...`: what to look for in the ledger.
std::string where(const citation& c) {
  return "record " + std::to_string(c.seq) + " " + to_text(c.record);
}

std::string why(const citation& c) {
  return c.reason.empty() ? "" : ": " + c.reason;
}

class line_writer {
public:
  std::vector<std::string> lines;

  void add(std::size_t depth, std::string text) {
    for (auto& c : text) // Texts of askers: one line, whatever is in them.
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        c = ' ';
    lines.push_back(std::string(2 * depth, ' ') + std::move(text));
  }
};

void add_route(line_writer& to, const served& s) {
  to.add(
    0,
    "route " + s.route.value + " at " + time_text(s.at) + ", generation "
      + std::to_string(s.generation)
  );
  to.add(1, "carried " + moves::to_text(s.carried));
  to.add(
    1,
    "since " + time_text(s.changed.stamped_at) + " by " + std::string{moves::name(s.event)}
      + " of move " + s.move.value
  );
  to.add(2, where(s.changed) + ", " + by(s.changed.author) + why(s.changed));
  if (s.until) {
    to.add(1, "until " + time_text(s.until->stamped_at));
    to.add(2, where(*s.until) + ", " + by(s.until->author) + why(*s.until));
  } else {
    to.add(1, "and still did when this ledger ends");
  }
}

void add_move(line_writer& to, const served& s) {
  to.add(0, "move " + s.move.value);
  to.add(1, "asked by " + by(s.proposed.author) + why(s.proposed));
  to.add(2, where(s.proposed));
  if (s.inverse_of)
    to.add(1, "to undo move " + s.inverse_of->value);
  if (s.authorised) {
    to.add(1, "authorised by " + by(s.authorised->author) + why(*s.authorised));
    to.add(2, where(*s.authorised));
  } else {
    to.add(1, "not authorised yet");
  }
  if (s.guarded)
    to.add(1, "guards said " + std::string{name(s.guards)} + ", by policy " + to_text(s.policy));
  else
    to.add(1, "no guards");
}

void add_run(line_writer& to, const cited_run& r) {
  to.add(
    2,
    std::string{name(r.stage)} + " run " + r.id + ", " + std::to_string(r.passed) + " of "
      + std::to_string(r.items) + " passed on host " + r.host.value
  );
  to.add(3, "record " + std::to_string(r.seq) + " " + to_text(r.record));
  to.add(3, "stack " + to_text(r.fingerprint));
  for (const auto& blob : r.blobs)
    to.add(3, "answers " + to_text(blob));
}

void add_qualification(line_writer& to, const cited_qualification& q) {
  std::string what = q.authorised ? ", named by the authorisation" : ", in force";
  if (q.authorised && q.holds)
    what += " and in force";
  to.add(
    1,
    "qualification " + q.id.value + ": "
      + std::
        string{q.state == qualification::state::qualified && !q.holds ? "expired, without a record that says so" : qualification::name(q.state)}
      + " since " + time_text(q.since.stamped_at) + what
  );
  to.add(2, where(q.since) + ", " + by(q.since.author) + why(q.since));
  if (q.verdict && q.verdict->seq != q.since.seq)
    to.add(2, "verdict: " + where(*q.verdict) + ", " + by(q.verdict->author));
  if (q.verdict)
    to.add(2, "good until " + time_text(q.expires_at));
  to.add(2, "policy " + q.policy.value + " " + to_text(q.policy_record));
  to.add(2, "suite " + to_text(q.suite));
  to.add(2, "artifact " + to_text(q.manifest));
  to.add(2, "launch " + to_text(q.profile));
  for (const auto& run : q.runs)
    add_run(to, run);
}

void add_waiver(line_writer& to, const cited_waiver& w) {
  std::string gates;
  for (auto gate : w.gates)
    gates += (gates.empty() ? "" : ", ") + std::to_string(gate);
  to.add(
    1,
    "waiver " + w.id + " of gates " + gates + ": " + (w.holds ? "in force" : "over") + ", granted "
      + time_text(w.granted.stamped_at) + " until " + time_text(w.expires_at)
  );
  to.add(2, where(w.granted) + ", " + by(w.granted.author) + why(w.granted));
  if (w.ended)
    to.add(2, "ended early: " + where(*w.ended) + ", " + by(w.ended->author) + why(*w.ended));
}

void add_carrier(line_writer& to, const carrier& c) {
  to.add(0, "implementation " + c.implementation.value);
  for (const auto& q : c.qualifications)
    add_qualification(to, q);
  for (const auto& w : c.waivers)
    add_waiver(to, w);
  auto held = [](const auto& one) { return one.holds; };
  if (std::ranges::none_of(c.qualifications, held) && std::ranges::none_of(c.waivers, held))
    to.add(1, "nothing let it carry anything at that instant: gate 5 was shut for it");
}

void add_service(line_writer& to, const served& s) {
  auto hour = hour_of(s.at);
  to.add(0, "sent in the hour from " + time_text(hour));
  if (s.service.empty())
    return to.add(
      1,
      "no ingress told of it"
        + std::
          string{s.as_of.value < hour.value + service_hour.count() ? ": the hour was not over when this ledger ends" : ""}
    );
  for (const auto& one : s.service) {
    const auto& n = one.counts;
    auto whom = n.implementation.value.empty() ? "nobody" : n.implementation.value;
    to.add(
      1,
      n.ingress + " (start " + std::to_string(n.boot) + ") to " + whom + ": "
        + std::to_string(n.interactive + n.batch) + " requests, " + std::to_string(n.served)
        + " served, " + std::to_string(n.failed) + " failed, " + std::to_string(n.client_gone)
        + " left, " + std::to_string(n.refused) + " refused, generations "
        + std::to_string(n.first_generation) + " to " + std::to_string(n.last_generation)
    );
    to.add(2, where(one.told));
    to.add(2, "decisions " + to_text(n.decisions));
  }
}

void add_kept_hosts(line_writer& to, const served& s) {
  if (s.kept_hosts.empty())
    return;
  to.add(0, "kept from work then");
  for (const auto& one : s.kept_hosts) {
    to.add(
      1,
      "host " + one.host.value + ": " + std::string{words_of(one.duty)} + " since "
        + time_text(one.said.stamped_at) + ", by " + by(one.said.author) + ": " + one.reason
    );
    to.add(2, where(one.said));
  }
}

void add_undo(line_writer& to, const way_back& w) {
  to.add(0, "to undo it: " + (w.command.empty() ? "nothing can be done" : w.command));
  if (!w.why.empty())
    to.add(1, w.why);
  if (w.plan.irreversible)
    return;
  to.add(1, "back to " + moves::to_text(w.plan.target));
  for (const auto& v : w.plan.fallback)
    to.add(1, "or to " + moves::to_text(v));
  if (w.plan.shed_load)
    to.add(1, "or to nothing, rather than to something unproven");
}

// -- times --------------------------------------------------------------------------------------

/// Digits at the front of `text`, exactly `count`.
std::optional<int> take_number(std::string_view& text, std::size_t count) {
  int value = 0;
  if (text.size() < count || text[0] == '-')
    return {};
  auto [end, bad] = std::from_chars(text.data(), text.data() + count, value);
  if (bad != std::errc{} || end != text.data() + count)
    return {};
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos)
    return false;
  text.remove_prefix(1);
  return true;
}

/// `.` and digits, as milliseconds; what is finer is cut off.
std::optional<int> take_fraction(std::string_view& text) {
  if (!take(text, "."))
    return 0;
  int ms = 0, weight = 100;
  auto size = text.size();
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    ms += weight * (text.front() - '0');
    weight /= 10;
    text.remove_prefix(1);
  }
  return text.size() == size ? std::optional<int>{} : ms;
}

/// Minutes east of UTC.
std::optional<int> take_offset(std::string_view& text) {
  if (take(text, "Zz"))
    return 0;
  auto is_west = text.starts_with('-');
  if (!take(text, "+-"))
    return {};
  auto hours = take_number(text, 2);
  auto minutes = hours && take(text, ":") ? take_number(text, 2) : std::nullopt;
  if (!minutes || *hours > 23 || *minutes > 59)
    return {};
  auto east = *hours * 60 + *minutes;
  return is_west ? -east : east;
}

} // namespace

std::vector<std::string> lines_of(const served& s) {
  line_writer to;
  add_route(to, s);
  add_move(to, s);
  for (const auto& c : s.carriers)
    add_carrier(to, c);
  add_service(to, s);
  add_kept_hosts(to, s);
  add_undo(to, s.undo);
  to.add(
    0,
    "read from cluster " + to_text(s.cluster) + " as of record " + std::to_string(s.as_of_seq)
      + ", " + time_text(s.as_of)
  );
  to.add(1, "chain " + to_text(s.as_of_chain));
  return std::move(to.lines);
}

std::vector<described_field> describe(const served& s) {
  flattener f;
  f.add("", s);
  return std::move(f.found);
}

std::optional<wall_ms> parse_time(std::string_view text) {
  using namespace std::chrono;
  auto y = take_number(text, 4);
  auto m = y && take(text, "-") ? take_number(text, 2) : std::nullopt;
  auto d = m && take(text, "-") ? take_number(text, 2) : std::nullopt;
  auto hours_of = d && take(text, "Tt ") ? take_number(text, 2) : std::nullopt;
  auto minutes_of = hours_of && take(text, ":") ? take_number(text, 2) : std::nullopt;
  auto seconds_of = minutes_of && take(text, ":") ? take_number(text, 2) : std::nullopt;
  auto ms = seconds_of ? take_fraction(text) : std::nullopt;
  auto east = ms ? take_offset(text) : std::nullopt;
  if (!east || !text.empty() || *hours_of > 23 || *minutes_of > 59 || *seconds_of > 60)
    return {};
  auto date = year{*y} / month{static_cast<unsigned>(*m)} / day{static_cast<unsigned>(*d)};
  if (!date.ok())
    return {};
  auto at = sys_days{date}.time_since_epoch() + hours{*hours_of} + minutes{*minutes_of - *east}
            + seconds{*seconds_of} + milliseconds{*ms};
  return wall_ms{duration_cast<milliseconds>(at).count()};
}

} // namespace assay::ledger
