#include "tests/simulation/network.hpp"

#include <algorithm>

namespace assay::simulation {

std::uint64_t network::delay_ms() {
  if (!is_healed_ && luck_.happens(how_.late))
    return luck_.between(100, 2'000);
  return luck_.between(1, is_healed_ ? 4 : 15);
}

/// An offered state is large, or its receiver busy with the one before: what comes behind it waits.
std::uint64_t network::delay_of(const parcel& what) {
  const auto usual = delay_ms();
  const auto* said = std::get_if<consensus::message>(&what);
  if (how_.late_offers == 0 || is_healed_ || said == nullptr)
    return usual;
  bool is_offer = std::holds_alternative<consensus::install_snapshot>(said->body);
  return is_offer && luck_.happens(how_.late_offers) ? luck_.between(2'000, 5'000) : usual;
}

void network::send(std::uint64_t from, std::uint64_t to, parcel what) {
  ++parcels_;
  const ends between{from, to};
  if (lanes_[between].cut_until > time_.now())
    return;
  bool is_bulk = !std::holds_alternative<consensus::message>(what);
  if (how_.network == network_kind::lanes || is_bulk)
    return send_on_lane(between, std::move(what), is_bulk);
  send_datagram(between, std::move(what));
}

void network::send_on_lane(ends between, parcel what, bool is_bulk) {
  auto& lane = is_bulk ? bulk_[between] : lanes_[between];
  if (!is_healed_ && luck_.happens(how_.loss)) { // The lane breaks and is made anew.
    ++lane.breaks;
    lane.busy_until = time_.now();
    return;
  }
  const auto arrival = std::max(lane.busy_until, time_.now() + delay_of(what));
  lane.busy_until = arrival;
  time_.after(
    arrival - time_.now(),
    [this, between, breaks = lane.breaks, is_bulk, what = std::move(what)] {
      arrive(between, what, breaks, is_bulk);
    }
  );
}

void network::send_datagram(ends between, parcel what) {
  repeat_refusal(between, what);
  const auto copies = 1 + (!is_healed_ && luck_.happens(how_.duplicates) ? 1 : 0);
  for (int i = 0; i < copies; ++i) {
    if (!is_healed_ && luck_.happens(how_.loss))
      continue;
    time_.after(delay_ms(), [this, between, what] {
      arrive(between, what, lanes_[between].breaks, false);
    });
  }
}

void network::repeat_refusal(ends between, const parcel& what) {
  if (how_.refusal_copies == 0 || is_healed_)
    return;
  const auto& said = std::get<consensus::message>(what);
  const auto* answer = std::get_if<consensus::append_entries_result>(&said.body);
  if (answer == nullptr || answer->rejected == 0)
    return;
  for (unsigned i = 0; i < how_.refusal_copies; ++i)
    time_.after(luck_.between(10, 500), [this, between, what] {
      arrive(between, what, lanes_[between].breaks, false);
    });
}

void network::arrive(ends between, parcel what, std::uint64_t breaks, bool is_bulk) {
  auto& lane = is_bulk ? bulk_[between] : lanes_[between];
  if (lane.breaks != breaks || lanes_[between].cut_until > time_.now())
    return;
  deliver_(between.first, between.second, std::move(what));
}

void network::cut(std::uint64_t from, std::uint64_t to, std::uint64_t ms) {
  auto& lane = lanes_[{from, to}];
  lane.cut_until = std::max(lane.cut_until, time_.now() + ms);
  ++lane.breaks;
  lane.busy_until = 0;
  auto& bulk = bulk_[{from, to}];
  ++bulk.breaks;
  bulk.busy_until = 0;
}

void network::heal() {
  is_healed_ = true;
  for (auto& [between, lane] : lanes_)
    lane.cut_until = 0;
}

} // namespace assay::simulation
