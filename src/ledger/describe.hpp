#pragma once
// A record for eyes: `assay ledger log` prints `summary` lines, `assay ledger show` all fields.

#include "src/ledger/tables.hpp"

#include <string>
#include <vector>

namespace assay::ledger {

/// One field: a dotted path (`shares[0].ceiling`) and its value as text.
struct described_field {
  std::string name;
  std::string value;

  friend bool operator==(const described_field&, const described_field&) = default;
};

struct description {
  std::string kind;    ///< `qualification_decided`
  std::string subject; ///< The thing it is mostly about, e.g. an implementation's id.
  std::string summary; ///< One line, no line break.
  std::vector<described_field> fields;
};

/// `2026-12-02T09:14:03.250Z`.
std::string time_text(wall_ms t);

/// The payload and the envelope. Texts are given whole; printing cuts them.
description describe(const record& r);
description describe(const state_entry& s);

/// What the ledger added: seq, stamped_at, chain, ...
std::vector<described_field> describe(const stamp& s);

/// Any row as fields, e.g. for `assay describe`.
std::vector<described_field> describe(const row& r);

} // namespace assay::ledger
