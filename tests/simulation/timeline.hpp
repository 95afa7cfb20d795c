#pragma once
// Virtual time: what happens when, in one order. Two things at one moment happen in the order in
// which they were planned.

#include <cstdint>
#include <functional>
#include <map>

namespace assay::simulation {

class timeline {
public:
  using deed = std::function<void()>;

  std::uint64_t now() const { return now_; }

  void after(std::uint64_t ms, deed what) {
    planned_.emplace(std::pair{now_ + ms, ++order_}, std::move(what));
  }

  /// Does the next thing, if there is one by then; else time stands at `until`.
  bool run_next(std::uint64_t until) {
    auto next = planned_.begin();
    if (next == planned_.end() || next->first.first > until) {
      now_ = until;
      return false;
    }
    now_ = next->first.first;
    auto what = std::move(next->second);
    planned_.erase(next);
    what();
    return true;
  }

private:
  std::uint64_t now_ = 0;
  std::uint64_t order_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, deed> planned_;
};

} // namespace assay::simulation
