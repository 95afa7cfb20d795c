#include "src/ledger/describe.hpp"

#include "src/base/overloaded.hpp"
#include "src/ledger/flattener.hpp"
#include "src/ledger/host_duty.hpp"
#include "src/ledger/row_fields.hpp"

#include <chrono>
#include <cstdio>

namespace assay::ledger {

namespace {

std::string bps(std::uint32_t parts) {
  auto text = std::to_string(parts / 100);
  if (parts % 100 != 0)
    text += "." + std::to_string(parts % 100 / 10) + std::to_string(parts % 10);
  return text + " %";
}

std::string text_of(const std::vector<moves::share>& shares) {
  std::string text;
  for (const auto& s : shares)
    text += (text.empty() ? "" : ", ") + s.implementation.value + " "
            + (s.floor == s.ceiling ? bps(s.ceiling) : bps(s.floor) + " to " + bps(s.ceiling));
  return text;
}

std::string text_of(const moves::vectors& v) {
  if (!moves::carries_anything(v))
    return "nothing";
  auto text = v.interactive.empty() ? "" : "interactive " + text_of(v.interactive);
  if (!v.batch.empty())
    text += (text.empty() ? "" : "; ") + ("batch " + text_of(v.batch));
  return text;
}

std::string with(std::string text, const std::string& detail) {
  return detail.empty() ? text : text + ": " + detail;
}

std::string short_of(const digest& d) {
  return to_text(d).substr(0, 19);
}

/// What a line of `assay ledger log` says: subject, then the rest of the sentence.
struct told {
  std::string subject;
  std::string rest;
};

struct teller {
  told operator()(const cluster_created& p) const { return {p.name, "cluster created"}; }
  told operator()(const membership& p) const {
    std::string names;
    for (const auto& m : p.members)
      names += (names.empty() ? "" : ", ") + m.name;
    return {names, "keep the ledger"};
  }
  told operator()(const cluster_version& p) const {
    return {"schema " + std::to_string(p.version), "agreed on by all members"};
  }
  told operator()(const declared& p) const {
    return {catalog::name_of(p.what), std::string{catalog::kind_of(p.what)} + " declared"};
  }
  told operator()(const retired& p) const {
    return {p.name, std::string{name(p.kind)} + " taken away"};
  }
  told operator()(const artifact_changed& p) const {
    auto where = p.host.value.empty() ? "" : " on " + p.host.value;
    return {p.artifact.value, with(std::string{name(p.to)} + where, p.detail)};
  }
  told operator()(const stack_seen& p) const {
    return {p.host.value, "runs stack " + short_of(p.fingerprint)};
  }
  told operator()(const eval_run& p) const {
    return {
      p.implementation.value,
      std::string{name(p.stage)} + " run " + p.id + " " + std::string{name(p.status)} + ", "
        + std::to_string(p.passed) + " of " + std::to_string(p.items) + " passed"};
  }
  told operator()(const qualification_opened& p) const {
    return {p.implementation.value, "qualification " + p.id.value + " opened"};
  }
  told operator()(const qualification_decided& p) const {
    return {p.id.value, with(std::string{qualification::name(p.verdict)}, p.detail)};
  }
  told operator()(const qualification_changed& p) const {
    return {p.id.value, with(std::string{qualification::name(p.event)}, p.detail)};
  }
  told operator()(const qualification_extended& p) const {
    return {p.id.value, with("holds on one more stack", p.detail)};
  }
  told operator()(const waiver& p) const {
    return {p.implementation.value, with("waived until " + time_text(p.expires_at), p.reason)};
  }
  told operator()(const waiver_ended& p) const { return {p.id, "waiver ended"}; }
  told operator()(const revocation& p) const {
    return {short_of(p.what), with(std::string{name(p.target)} + " revoked", p.detail)};
  }
  told operator()(const move_proposed& p) const {
    return {p.model.value, "move " + p.id.value + " to " + text_of(p.after)};
  }
  told operator()(const move_authorised& p) const { return {p.id.value, "authorised"}; }
  told operator()(const move_route_changed& p) const {
    return {
      p.id.value,
      std::string{moves::name(p.event)} + ", generation " + std::to_string(p.generation)
        + " carries " + text_of(p.carried)};
  }
  told operator()(const move_acked& p) const {
    std::string who;
    for (const auto& one : p.nodes)
      who += (who.empty() ? " by " : ", ") + one.node + " at generation "
             + std::to_string(one.generation);
    return {p.id.value, std::string{moves::name(p.event)} + who};
  }
  told operator()(const move_changed& p) const {
    return {p.id.value, with(std::string{moves::name(p.event)}, p.detail)};
  }
  told operator()(const key_issued& p) const { return {p.key.value, "key issued"}; }
  told operator()(const key_revoked& p) const {
    return {p.key.value, with("key revoked", p.detail)};
  }
  told operator()(const identity_added& p) const {
    return {p.name, "may speak as " + std::string{name(p.role)}};
  }
  told operator()(const identity_revoked& p) const {
    return {p.name, with("may not speak any more", p.detail)};
  }
  told operator()(const host_standing& p) const {
    return {p.host.value, with("is " + std::string{words_of(p.duty)}, p.reason)};
  }
  told operator()(const token_issued& p) const {
    return {p.id, "token for one " + std::string{name(p.role)}};
  }
  told operator()(const job_submitted& p) const {
    return {p.id.value, std::to_string(p.items) + " items for " + p.model.value};
  }
  told operator()(const job_ended& p) const {
    return {
      p.id.value,
      with(
        std::string{name(p.end)} + ", " + std::to_string(p.succeeded) + " done, "
          + std::to_string(p.failed) + " failed",
        p.detail
      )};
  }
  told operator()(const serving_summary& p) const {
    auto all = std::to_string(p.interactive + p.batch);
    return {
      p.route.value,
      p.ingress + " sent " + all + " requests of the hour " + time_text(p.hour).substr(0, 16)
        + " to " + (p.implementation.value.empty() ? "nobody" : p.implementation.value) + ": "
        + std::to_string(p.served) + " served, " + std::to_string(p.failed) + " failed, "
        + std::to_string(p.client_gone) + " left, " + std::to_string(p.refused) + " refused"};
  }
  told operator()(const job_checkpoint& p) const {
    return {
      p.job.value,
      "items " + std::to_string(p.first) + " to " + std::to_string(p.first + p.count - 1)};
  }
  told operator()(const usage& p) const {
    return {p.key.value, std::to_string(p.requests) + " requests"};
  }
  told operator()(const holding& p) const {
    return {p.holder, (p.held ? "holds " : "lost ") + short_of(p.what)};
  }
};

/// One line, whatever the texts in it hold.
std::string one_line(std::string text) {
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = ' ';
  return text;
}

template <class Said>
description describe_said(const Said& said) {
  auto line = std::visit(teller{}, said);
  auto subject = one_line(line.subject);
  return {std::string{kind_name(said)}, subject, one_line(subject + " " + line.rest), {}};
}

} // namespace

std::string time_text(wall_ms t) {
  using namespace std::chrono;
  auto since = sys_time<milliseconds>{milliseconds{t.value}};
  auto day = floor<days>(since);
  auto date = year_month_day{day};
  auto time = hh_mm_ss{since - day};
  std::array<char, 48> text{};
  std::snprintf(
    text.data(),
    text.size(),
    "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
    static_cast<int>(date.year()),
    static_cast<unsigned>(date.month()),
    static_cast<unsigned>(date.day()),
    static_cast<int>(time.hours().count()),
    static_cast<int>(time.minutes().count()),
    static_cast<int>(time.seconds().count()),
    static_cast<int>(time.subseconds().count())
  );
  return text.data();
}

description describe(const record& r) {
  auto d = describe_said(r.payload);
  flattener f;
  f.add("", r);
  d.fields = std::move(f.found);
  return d;
}

description describe(const state_entry& s) {
  auto d = describe_said(s);
  flattener f;
  f.add("", s);
  d.fields = std::move(f.found);
  return d;
}

std::vector<described_field> describe(const stamp& s) {
  flattener f;
  f.add("", s);
  return std::move(f.found);
}

std::vector<described_field> describe(const row& r) {
  flattener f;
  f.add("", r);
  return std::move(f.found);
}

} // namespace assay::ledger
