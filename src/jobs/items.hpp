#pragma once
// JSONL in, request bodies out: OpenAI batch lines (`{"custom_id","method","url","body"}`) or plain
// lines with `prompt` or `messages`. A bad line never fails the batch: it becomes an error line.
//
// An item is a line that is not empty, numbered from 0 in file order. Its values keep their bytes:
// only the model is put in its place.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/contract/contract.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay::jobs {

struct place {
  std::uint64_t offset = 0; ///< In the input.
  std::uint32_t bytes = 0;  ///< Without the line end.
  std::uint32_t line = 1;   ///< Counted from one, empty lines too.
};

/// Why a line is no request.
struct fault {
  std::string custom_id; ///< As far as the line has one.
  std::string code;      ///< `invalid_json_line`, `duplicate_custom_id`, `line_too_long`, ...
  std::string why;       ///< One sentence with the line number.
};

/// Where the items are in the input. The caller keeps the input and hands out lines of it.
struct item_index {
  std::vector<place> items;
  std::map<std::uint32_t, fault> faults; ///< By item.
};

struct request {
  std::string custom_id; ///< The line's own, or `line-N`.
  std::string path;      ///< `/v1/chat/completions` or `/v1/completions`
  std::string body;      ///< With the job's model in it.
};

/// Refused as a whole: no item at all, more than `limits::job_items`, more than
/// `limits::job_bytes`. Everything else that is wrong is a fault of its line.
result<item_index, problem> index_items(std::string_view input, contract::task task);

/// The request of one line. The job's model replaces the one that the line names.
result<request, fault> request_of(
  std::string_view line, std::uint32_t line_number, contract::task task, std::string_view model
);

// -- lines of the result --------------------------------------------------------------------------
// OpenAI's batch output format. Without a line end; `item` makes the id, so that a repeated item
// has the same one.

std::string output_line(
  std::string_view job,
  std::uint32_t item,
  std::string_view custom_id,
  int status,
  std::string_view request_id,
  std::string_view body ///< JSON; anything else is kept as a JSON string.
);

std::string error_line(
  std::string_view job,
  std::uint32_t item,
  std::string_view custom_id,
  std::string_view code,
  std::string_view message
);

/// A line for people who want errors apart: its response is missing or no 2xx.
bool is_error_line(std::string_view line);

} // namespace assay::jobs
