// src/wire/record_codec.cpp of a program of the next schema version, by the same walk over its
// fields.

#include "tests/newer/newer_record.hpp" // First: the walk sees only field lists from before it.

#include "schema/ledger.capnp.h"
#include "src/base/limits.hpp"
#include "src/ledger/schema.hpp"
#include "src/wire/canonical.hpp"
#include "src/wire/record_codec.hpp"

namespace assay::ledger {

std::uint16_t known_schema() {
  return schema_version + 1;
}

} // namespace assay::ledger

namespace assay::wire {

namespace {

constexpr std::string_view for_good = "for good: ";
constexpr std::string_view ticket_begins = " (ticket ";

/// The ticket that a reason ends with, taken off it.
std::string take_ticket(std::string& reason) {
  auto at = reason.rfind(ticket_begins);
  if (at == std::string::npos || !reason.ends_with(')'))
    return {};
  auto ticket = reason.substr(at + ticket_begins.size());
  ticket.pop_back();
  reason.resize(at);
  return ticket;
}

ledger::newer_record to_newer(ledger::record r) {
  ledger::newer_record out;
  out.ticket = take_ticket(r.reason_text);
  auto* gone = std::get_if<ledger::retired>(&r.payload);
  if (gone && r.reason_text.starts_with(for_good)) {
    out.payload = ledger::withdrawn{gone->kind, gone->name, r.reason_text.substr(for_good.size())};
    r.reason_text.clear();
    r.schema_version = ledger::known_schema();
  } else {
    std::visit([&](auto& known) { out.payload = std::move(known); }, r.payload);
  }
  r.payload = {};
  out.known = std::move(r);
  return out;
}

ledger::record to_known(ledger::newer_record n) {
  auto r = std::move(n.known);
  std::visit(
    [&]<class Kind>(Kind& kind) {
      if constexpr (std::same_as<Kind, ledger::withdrawn>) {
        r.payload = ledger::retired{kind.kind, std::move(kind.name)};
        r.reason_text = for_good;
        r.reason_text += kind.why;
      } else {
        r.payload = std::move(kind);
      }
    },
    n.payload
  );
  if (!n.ticket.empty())
    r.reason_text += std::string{ticket_begins} + n.ticket + ")";
  return r;
}

} // namespace

bool is_known_kind(std::size_t kind) {
  return kind < std::variant_size_v<ledger::newer_payload>;
}

std::string encode(const ledger::record& r) {
  return walk::encode_as<schema::Record>(to_newer(r));
}

result<ledger::record, malformed> decode_record(std::string_view canonical) {
  auto r = walk::decode_as<schema::Record, ledger::newer_record>(canonical, limits::proposal_bytes);
  if (!r)
    return unexpected{r.error()};
  return to_known(*std::move(r));
}

} // namespace assay::wire
