#pragma once
// What is between coordinators. Lanes are like TCP: in order, each parcel once, but a lane may
// stall and may break, and what was under way is then lost. Datagrams may also come twice or in any
// order. Cuts go one way.

#include "tests/simulation/coordinator.hpp"

namespace assay::simulation {

class network {
public:
  using deliver = std::function<void(std::uint64_t from, std::uint64_t to, parcel what)>;

  network(timeline& time, chance& luck, const profile& how, deliver to)
    : time_{time}, luck_{luck}, how_{how}, deliver_{std::move(to)} {}

  void send(std::uint64_t from, std::uint64_t to, parcel what);
  void cut(std::uint64_t from, std::uint64_t to, std::uint64_t ms);
  /// From now on nothing is lost, late, twice or cut,
  void heal();
  /// and from now on it may be again.
  void hurt() { is_healed_ = false; }
  std::uint64_t parcels() const { return parcels_; }

private:
  struct lane {
    std::uint64_t cut_until = 0;
    std::uint64_t busy_until = 0;
    std::uint64_t breaks = 0; ///< What was sent before the last one is lost.
  };
  using ends = std::pair<std::uint64_t, std::uint64_t>;

  std::uint64_t delay_ms();
  std::uint64_t delay_of(const parcel& what);
  void repeat_refusal(ends between, const parcel& what);
  void send_on_lane(ends between, parcel what, bool is_bulk);
  void send_datagram(ends between, parcel what);
  void arrive(ends between, parcel what, std::uint64_t breaks, bool is_bulk);

  timeline& time_;
  chance& luck_;
  const profile& how_;
  deliver deliver_;
  bool is_healed_ = false;
  std::map<ends, lane> lanes_;
  std::map<ends, lane> bulk_;
  std::uint64_t parcels_ = 0;
};

} // namespace assay::simulation
