// Jobs, their checkpoints, and the other entries that are overwritten in place.

#include "src/base/limits.hpp"
#include "src/ledger/changes.hpp"

namespace assay::ledger {

namespace {

std::uint64_t end_of(const job_checkpoint& p) {
  return p.first + p.count;
}

/// A done range that shares an item with `p` and is not `p` itself, or null.
const job_checkpoint* overlap(const tables& t, const job_checkpoint& p) {
  const auto& all = *t.checkpoints;
  auto after = all.upper_bound({p.job, p.first});
  if (after != all.end() && after->first.job == p.job && after->second.first < end_of(p))
    return &after->second;
  if (after == all.begin())
    return nullptr;
  const auto& before = std::prev(after)->second;
  return before.job == p.job && end_of(before) > p.first && before != p ? &before : nullptr;
}

} // namespace

ruling change(change_set& c, const job_submitted& p) {
  if (auto why = bad_name("job", p.id.value))
    return why;
  if (find(c.tables.jobs, p.id))
    return refuse("exists", "the job " + in_quotes(p.id.value) + " was submitted before");
  if (!find(c.tables.models, p.model))
    return refuse("not_found", "there is no model " + in_quotes(p.model.value));
  if (p.items == 0 || p.items > limits::job_items)
    return refuse(
      "bad_job",
      "a job has 1 to " + std::to_string(limits::job_items) + " items, not "
        + std::to_string(p.items)
    );
  if (p.input == digest{})
    return refuse("bad_job", "a job names the blob of its input");
  c.put(job_row{p, {}, c.now, {}, c.seq});
  return {};
}

ruling change(change_set& c, const job_ended& p) {
  auto* row = find(c.tables.jobs, p.id);
  if (!row)
    return refuse("not_found", "there is no job " + in_quotes(p.id.value));
  if (row->ended)
    return refuse(
      "not_allowed",
      "job " + in_quotes(p.id.value) + " is " + std::string{name(row->ended->end)}
        + "; nothing can follow"
    );
  auto done = p.succeeded + p.failed;
  if (done > row->job.items || (p.end == job_end::finished && done != row->job.items))
    return refuse(
      "bad_counts",
      "job " + in_quotes(p.id.value) + " has " + std::to_string(row->job.items) + " items; "
        + std::to_string(done) + " are said to be done"
    );
  auto next = *row;
  next.ended = p;
  next.ended_at = c.now;
  next.seq = c.seq;
  c.put(next);
  return {};
}

ruling change(change_set& c, const job_checkpoint& p) {
  auto* row = find(c.tables.jobs, p.job);
  if (!row)
    return refuse("not_found", "there is no job " + in_quotes(p.job.value));
  if (row->ended)
    return refuse(
      "not_allowed",
      "job " + in_quotes(p.job.value) + " is " + std::string{name(row->ended->end)}
        + " and takes no more results"
    );
  if (p.count == 0 || p.first >= row->job.items || p.count > row->job.items - p.first || p.succeeded + p.failed != p.count)
    return refuse(
      "bad_checkpoint",
      "a checkpoint is a range of the job's " + std::to_string(row->job.items)
        + " items, each succeeded or failed"
    );
  if (auto* other = overlap(c.tables, p))
    return refuse(
      "overlap",
      "items " + std::to_string(other->first) + " to " + std::to_string(end_of(*other) - 1)
        + " of job " + in_quotes(p.job.value) + " are done already"
    );
  c.put(p);
  return {};
}

ruling change(change_set& c, const usage& p) {
  if (auto why = bad_name("key", p.key.value))
    return why;
  c.put(p);
  return {};
}

ruling change(change_set& c, const holding& p) {
  if (auto why = bad_name("holder", p.holder))
    return why;
  if (p.held)
    c.put(p);
  else
    c.drop(p);
  return {};
}

} // namespace assay::ledger
