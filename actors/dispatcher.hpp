#pragma once
// The DISPATCHER works through the jobs that JOB QUEUE gives it: one runner (src/jobs/runner.hpp)
// for each, whose effects it carries out. Asking, reading and keeping blobs are handed in as
// functions that answer from their own threads. A job's end goes on the ledger only after its last
// checkpoint.

#include "actors/interfaces.hpp"
#include "src/jobs/runner.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace assay {

struct dispatcher_options {
  ledger_actor ledger;
  /// Sends the request as batch traffic; `status` 0 in the answer means that nobody answered.
  std::function<void(const jobs::request& what, std::function<void(item_answered)> done)> ask;
  std::function<void(const digest& blob, std::function<void(result<std::string, problem>)> done)>
    read;
  std::function<void(std::string bytes, std::function<void(result<digest, problem>)> done)> keep;
};

class dispatcher_state {
public:
  static constexpr auto name = "dispatcher";

  explicit dispatcher_state(dispatcher_actor::pointer self) : self_{self} {}

  void begin(dispatcher_options options);
  void run(const run_job& what);
  void wind_up(const wind_up_job& what);
  void take(const item_answered& what);
  void load(const input_loaded& what);
  void keep(const output_kept& what);
  void learn(const tables_changed& what);
  void pass();

private:
  struct work {
    jobs::spec job;
    std::uint32_t window = 0;
    std::optional<jobs::runner> runner; ///< None until the input is there.
    std::optional<wind_up_job> wish;    ///< Came before the runner was there.
    bool ending = false;
  };

  bool has_ended(const job_id& id) const;
  void carry_out(const job_id& id, const jobs::effects& all);
  void carry_out(const job_id& id, const jobs::ask_item& what);
  void carry_out(const job_id& id, const jobs::keep_checkpoint& what);
  void carry_out(const job_id& id, const jobs::end_job& what);
  void give_back(const job_id& id, const problem& why);
  void end(
    const job_id& id,
    jobs::event what,
    const std::string& why,
    std::optional<jobs::progress> done = {}
  );
  void propose_checkpoint(const job_id& id, const jobs::checkpoint& entry, const digest& blob);

  dispatcher_actor::pointer self_;
  dispatcher_options options_;
  tables_changed tables_;
  std::map<job_id, work> works_;
  std::map<job_id, steady_time> given_back_; ///< Not to be begun again before then.
  std::set<job_id> ended_;                   ///< On the ledger, and not in the tables we have yet.
};

dispatcher_actor::behavior_type dispatcher_behavior(
  dispatcher_actor::stateful_pointer<dispatcher_state> self, dispatcher_options options
);

} // namespace assay
