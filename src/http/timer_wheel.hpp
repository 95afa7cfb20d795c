#pragma once
// Coarse deadlines for many connections of one thread.
//
// A deadline that moves costs nothing: an entry stays where it is in the wheel, and when its slot
// comes up it is asked when it is really due. So no timer is touched per event of a stream. Pure:
// time is handed in; src/http/lane.cpp owns the clock.

#include "src/base/clock.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace assay::http {

class timer_wheel {
public:
  static constexpr std::chrono::milliseconds tick{5};
  static constexpr std::size_t slots = 1'024; ///< Later deadlines are looked at once per turn.

  class entry {
  public:
    entry() = default;
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    virtual ~entry() { unlink(); }

    /// The slot has come up. Returns when to look again; none: not before `watch` is called.
    /// May destroy any entry, this one included only if it returns none.
    virtual std::optional<steady_time> on_time(steady_time now) = 0;

  private:
    friend class timer_wheel;
    void unlink();

    entry* next_ = nullptr;
    entry** back_ = nullptr; ///< What points to this entry; null when it is in no slot.
    steady_time at_{};       ///< When its slot comes up.
  };

  explicit timer_wheel(steady_time now) : at_{now} {}

  /// Looks at the entry no later than `due` plus one tick. Cheap when it is already early enough.
  void watch(entry& e, steady_time due);

  /// Asks every entry whose slot has come up by `now`.
  void advance(steady_time now);

  /// When `advance` is worth calling next; none when no entry waits.
  std::optional<steady_time> next() const;

private:
  std::size_t slot_of(steady_time t) const;

  std::array<entry*, slots> heads_{};
  steady_time at_; ///< Everything before is done.
};

} // namespace assay::http
