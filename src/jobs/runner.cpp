#include "src/jobs/runner.hpp"

#include "src/base/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace assay::jobs {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds first_pause = 250ms;
constexpr std::chrono::milliseconds longest_pause = 30s;

std::chrono::milliseconds pause_after(std::uint32_t attempts) {
  const auto doublings = std::min(attempts - 1, 10U);
  return std::min(longest_pause, first_pause * (1U << doublings));
}

bool is_good(int status) {
  return status >= 200 && status <= 299;
}

/// Nobody was there to answer: that says nothing about the item.
bool is_no_capacity(int status) {
  return status == 408 || status == 429 || status == 503;
}

} // namespace

result<runner, problem> runner::resume(
  const spec& job,
  contract::task task,
  std::shared_ptr<const std::string> input,
  const std::vector<checkpoint>& stored,
  steady_time now
) {
  auto index = index_items(*input, task);
  if (!index)
    return unexpected{index.error()};
  auto done = progress_of(stored);
  if (!done)
    return unexpected{done.error()};
  if (done->next_item > index->items.size())
    return unexpected{problem{
      problem_kind::refused,
      fmt::format("{} items are stored and the input has {}", done->next_item, index->items.size()),
      {},
      "the input is not the one that the job was submitted with; submit it as a new job",
    }};
  return runner{job, task, std::move(input), std::move(*index), *done, now};
}

runner::runner(
  const spec& job,
  contract::task task,
  std::shared_ptr<const std::string> input,
  item_index index,
  const progress& from,
  steady_time now
)
  : job_{job}, task_{task}, input_{std::move(input)}, index_{std::make_shared<const item_index>(
                                                        std::move(index)
                                                      )},
    lines_{from, static_cast<std::uint32_t>(index_->items.size()), now}, next_{from.next_item} {}

// -- what happens ---------------------------------------------------------------------------------

effects runner::allow(std::uint32_t window, steady_time now) {
  window_ = std::min<std::uint32_t>(window, limits::job_window);
  return go_on(now);
}

effects runner::answered(const item_answer& answer, steady_time now) {
  const auto asked = asked_.find(answer.item);
  if (asked == asked_.end() || asked->second.attempt != answer.attempt)
    return {};
  auto tries = asked->second;
  asked_.erase(asked);
  const bool engine_failed = answer.status >= 500 && !is_no_capacity(answer.status);
  tries.failures += engine_failed ? 1 : 0;
  const bool again =
    is_no_capacity(answer.status) || (engine_failed && tries.failures < limits::job_item_tries);
  if (again)
    put_back(answer.item, tries, now);
  else
    add_answer(answer);
  return go_on(now);
}

effects runner::not_answered(
  std::uint32_t item, std::uint32_t attempt, const std::string& why, steady_time now
) {
  const auto asked = asked_.find(item);
  if (asked == asked_.end() || asked->second.attempt != attempt)
    return {};
  auto tries = asked->second;
  asked_.erase(asked);
  if (++tries.failures < limits::job_item_tries)
    put_back(item, tries, now);
  else
    add_error(item, "not_answered", fmt::format("no answer in {} tries: {}", tries.failures, why));
  return go_on(now);
}

effects runner::kept(std::uint32_t checkpoint_number, steady_time now) {
  if (!lines_.is_on_its_way() || checkpoint_number != lines_.stored().checkpoints)
    return {};
  lines_.kept(now);
  return go_on(now);
}

effects runner::not_kept(std::uint32_t checkpoint_number, steady_time now) {
  if (lines_.is_on_its_way() && checkpoint_number == lines_.stored().checkpoints)
    lines_.not_kept(now);
  return {};
}

effects runner::tick(steady_time now) {
  return go_on(now);
}

effects runner::wind_up(event what, const std::string& why, steady_time now) {
  if (ended_ || winding_up_)
    return {};
  winding_up_ = what;
  why_ = why;
  give_up_at_ = now + limits::job_wind_up;
  delayed_.clear();
  return go_on(now);
}

// -- what follows ---------------------------------------------------------------------------------

effects runner::go_on(steady_time now) {
  effects out;
  if (ended_)
    return out;
  if (!winding_up_)
    ask_more(out, now);
  else if (asked_.empty() || now >= give_up_at_)
    close_gaps();
  keep(out, now);
  end_if_done(out);
  return out;
}

void runner::ask_more(effects& out, steady_time now) {
  // Items that wait to be asked again hold their place in the window: an engine without room is
  // not asked for ever more items.
  while (asked_.size() < window_) {
    const auto due =
      std::min_element(delayed_.begin(), delayed_.end(), [now](const auto& a, const auto& b) {
        return std::tuple{a.not_before > now, a.item} < std::tuple{b.not_before > now, b.item};
      });
    if (due != delayed_.end() && due->not_before <= now) {
      const auto again = *due;
      delayed_.erase(due);
      ask(out, again.item, {again.tries.attempt + 1, again.tries.failures});
    } else if (asked_.size() + delayed_.size() >= window_ || !ask_next(out)) {
      return;
    }
  }
}

/// Asks the first item that was never asked, or answers it if its line is bad; false when there is
/// none or the answers that wait are too many.
bool runner::ask_next(effects& out) {
  if (next_ >= items() || !lines_.may_run_ahead(next_))
    return false;
  const auto item = next_++;
  if (const auto bad = index_->faults.find(item); bad != index_->faults.end())
    lines_.add(
      item,
      error_line(job_.id.value, item, bad->second.custom_id, bad->second.code, bad->second.why),
      false
    );
  else
    ask(out, item, {});
  return true;
}

void runner::ask(effects& out, std::uint32_t item, attempt_of tries) {
  asked_[item] = tries;
  out.push_back(ask_item{item, tries.attempt, request_for(item)});
}

void runner::put_back(std::uint32_t item, attempt_of tries, steady_time now) {
  if (!winding_up_)
    delayed_.push_back({item, tries, now + pause_after(tries.attempt)});
}

void runner::add_answer(const item_answer& answer) {
  lines_.add(
    answer.item,
    output_line(
      job_.id.value,
      answer.item,
      request_for(answer.item).custom_id,
      answer.status,
      answer.request_id,
      answer.body
    ),
    is_good(answer.status)
  );
}

void runner::add_error(std::uint32_t item, std::string_view code, const std::string& why) {
  lines_.add(item, error_line(job_.id.value, item, request_for(item).custom_id, code, why), false);
}

/// What is done stays, whatever stands before it: items that were never answered get a line that
/// says so.
void runner::close_gaps() {
  asked_.clear();
  const auto end = lines_.finished_below();
  for (auto item = lines_.head_end(); item < end; ++item)
    if (!lines_.has(item))
      add_error(item, name(*winding_up_), "the job ended before this item was done: " + why_);
}

void runner::keep(effects& out, steady_time now) {
  auto cut = winding_up_ && asked_.empty() ? lines_.cut_now(now) : lines_.cut(now);
  if (cut)
    out.push_back(keep_checkpoint{std::move(cut->entry), std::move(cut->bytes)});
}

void runner::end_if_done(effects& out) {
  const bool wound_up =
    winding_up_ && asked_.empty() && lines_.waiting() == 0 && !lines_.is_on_its_way();
  if (!lines_.complete() && !wound_up)
    return;
  ended_ = true;
  const auto what = lines_.complete() ? event::finish : *winding_up_;
  out.push_back(end_job{what, lines_.stored(), items(), lines_.complete() ? "" : why_});
}

request runner::request_for(std::uint32_t item) const {
  const auto& where = index_->items[item];
  const auto line = std::string_view{*input_}.substr(where.offset, where.bytes);
  auto read = request_of(line, where.line, task_, job_.model);
  check(read.has_value(), "a line that was good is bad now");
  return std::move(*read);
}

} // namespace assay::jobs
