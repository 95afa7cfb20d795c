#pragma once
// One running job of requests as a value: which item to ask next, what an answer means, when to
// keep a checkpoint, and when the job is done.
//
// DISPATCHER turns messages into the verbs below and carries out the effects in order. Everything
// may come late, twice or never; a runner that is thrown away and made again from the job's record
// and its stored checkpoints goes on without a lost or doubled line.

#include "src/jobs/checkpoint.hpp"
#include "src/jobs/items.hpp"
#include "src/jobs/job.hpp"

#include <memory>
#include <variant>

namespace assay::jobs {

// -- effects --------------------------------------------------------------------------------------

/// Send as the job's batch key; report `answered` or `not_answered` with the same item and try.
struct ask_item {
  std::uint32_t item = 0;
  std::uint32_t attempt = 1;
  jobs::request request;
};
/// Write the blob, have it on a majority, propose the entry; report `kept` or `not_kept`.
struct keep_checkpoint {
  checkpoint entry;
  std::string bytes;
};
/// Propose the job's end. Comes after the last checkpoint was kept.
struct end_job {
  event what = event::finish; ///< finish, cancel, expire or fail
  progress done;
  std::uint32_t items = 0;
  std::string why;
};
using effect = std::variant<ask_item, keep_checkpoint, end_job>;
using effects = std::vector<effect>;

struct item_answer {
  std::uint32_t item = 0;
  std::uint32_t attempt = 1;
  int status = 0;
  std::string request_id;
  std::string body;
};

class runner {
public:
  /// `input` is the job's JSONL; `stored` its checkpoints in order. Refused when the input cannot
  /// be a job or the checkpoints do not fit it: then the job fails with that reason.
  static result<runner, problem> resume(
    const spec& job,
    contract::task task,
    std::shared_ptr<const std::string> input,
    const std::vector<checkpoint>& stored,
    steady_time now
  );

  /// So many requests may be in flight from now on; 0 pauses. Those in flight run out.
  effects allow(std::uint32_t window, steady_time now);

  effects answered(const item_answer& answer, steady_time now);
  /// Not connected, cut, timed out.
  effects
  not_answered(std::uint32_t item, std::uint32_t attempt, const std::string& why, steady_time now);
  effects kept(std::uint32_t checkpoint_number, steady_time now);
  effects not_kept(std::uint32_t checkpoint_number, steady_time now);
  effects tick(steady_time now); ///< At least every second.

  /// Ask nothing more, wait a little for what is in flight, keep what is done, then end with `what`
  /// (cancel, expire or fail). A job that turns out to be complete finishes instead.
  effects wind_up(event what, const std::string& why, steady_time now);

  std::uint32_t items() const { return static_cast<std::uint32_t>(index_->items.size()); }
  std::uint32_t in_flight() const { return static_cast<std::uint32_t>(asked_.size()); }
  const progress& stored() const { return lines_.stored(); }

private:
  struct attempt_of {
    std::uint32_t attempt = 1;  ///< Counts every ask of the item, so that a late answer is known.
    std::uint32_t failures = 0; ///< Engine failures; a refusal for want of capacity is none.
  };
  struct delayed {
    std::uint32_t item = 0;
    attempt_of tries;
    steady_time not_before;
  };

  runner(
    const spec& job,
    contract::task task,
    std::shared_ptr<const std::string> input,
    item_index index,
    const progress& from,
    steady_time now
  );

  effects go_on(steady_time now);
  void ask_more(effects& out, steady_time now);
  bool ask_next(effects& out);
  void ask(effects& out, std::uint32_t item, attempt_of tries);
  void put_back(std::uint32_t item, attempt_of tries, steady_time now);
  void add_answer(const item_answer& answer);
  void add_error(std::uint32_t item, std::string_view code, const std::string& why);
  void close_gaps();
  void keep(effects& out, steady_time now);
  void end_if_done(effects& out);
  request request_for(std::uint32_t item) const;

  spec job_;
  contract::task task_;
  std::shared_ptr<const std::string> input_;
  std::shared_ptr<const item_index> index_;
  collected lines_;
  std::uint32_t next_ = 0; ///< The first item that was never asked.
  std::uint32_t window_ = 0;
  std::map<std::uint32_t, attempt_of> asked_;
  std::vector<delayed> delayed_;
  std::optional<event> winding_up_;
  steady_time give_up_at_; ///< When winding up waits no longer for answers.
  std::string why_;
  bool ended_ = false;
};

} // namespace assay::jobs
