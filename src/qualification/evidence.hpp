#pragma once
// The evidence of a run: JSONL, one line for each ask with what was sent, what came back and when.
// It is kept as a blob by digest; a record names it, and nobody edits it.

#include "src/qualification/run.hpp"

#include <string>

namespace assay::qualification {

/// `{"evidence":1,"suite":...,"implementation":...,"policy":...}`: the first line.
std::string evidence_head(const run_state& run);

/// One line for one answered ask. Bodies over `limits::evidence_body_bytes` are cut, and say so.
std::string evidence_line(const exchange& e);

/// One line for an ask that was never answered.
std::string evidence_silence(const ask& what, std::string_view why);

/// One line for a finished check or item, and the last line: the verdict.
std::string evidence_check(const check_result& r);
std::string evidence_item(const item_result& r);
std::string evidence_verdict(const verdict& v, const envelope& e);

} // namespace assay::qualification
