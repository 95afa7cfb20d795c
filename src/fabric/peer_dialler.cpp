#include "src/fabric/peer_dialler.hpp"

#include "src/base/check.hpp"
#include "src/wire/peer_codec.hpp"

#include <algorithm>
#include <utility>

namespace assay::peers {

namespace {

using fabric::line_event;
using fabric::lost_reason;
using std::chrono::milliseconds;

// Few, because libzmq counts messages and not bytes; the rest waits by bytes in the outbox.
constexpr int bulk_in_libzmq = 1;
constexpr int others_in_libzmq = 4;

std::uint64_t wall_us() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::microseconds>(since).count()
  );
}

std::pair<lost_reason, std::string> loss_by(line_event event) {
  switch (event) {
  case line_event::refused:
    return {lost_reason::refused, "it does not allow our key"};
  case line_event::unreachable:
    return {lost_reason::unreachable, "nobody answers"};
  case line_event::garbled:
    return {lost_reason::wrong_server, "who answers does not hold the key of the registry"};
  default:
    return {lost_reason::disconnected, "the connection ended"};
  }
}

lost_reason loss_by(closing_reason reason) {
  switch (reason) {
  case closing_reason::shutting_down:
    return lost_reason::closed_by_peer;
  case closing_reason::superseded:
    return lost_reason::superseded;
  default:
    return lost_reason::refused;
  }
}

} // namespace

peer_dialler::peer_dialler(
  const fabric::context& from, const link_options& how, peer whom, lane which, std::uint32_t seed
)
  : context_{from}, how_{how}, whom_{std::move(whom)}, which_{which},
    redial_{how.retry_first, how.retry_most}, chance_{seed} {}

std::optional<dialler_news> peer_dialler::turn(steady_time now) {
  if (!line_) {
    if (now >= next_dial_)
      dial(now);
    return {};
  }
  if (may_hear_)
    if (auto news = take_answer(now))
      return news;
  if (may_happen_)
    if (auto news = take_event(now))
      return news;
  if (now - heard_ > how_.peer_silence)
    return drop(now, lost_reason::silent, "nothing was heard of it in time");
  return {};
}

void peer_dialler::hurry(steady_time now) {
  redial_.succeeded();
  next_dial_ = std::min(next_dial_, now);
}

void peer_dialler::dial(steady_time now) {
  auto waiting = which_ == lane::bulk ? bulk_in_libzmq : others_in_libzmq;
  line_ = fabric::line{context_, whom_.address, how_.keys, whom_.key, waiting};
  heard_ = now;
  may_hear_ = may_happen_ = is_dealer_touched_ = true;
  if (!line_)
    next_dial_ =
      now + redial_.after(lost_reason::unreachable, static_cast<std::uint32_t>(chance_()));
}

std::optional<dialler_news> peer_dialler::take_event(steady_time now) {
  while (auto event = line_.next_event()) {
    if (*event == line_event::established && greet())
      continue;
    auto [reason, what] = loss_by(*event);
    return drop(now, reason, what);
  }
  may_happen_ = false;
  return {};
}

bool peer_dialler::greet() {
  session_ = fabric::next_session(session_, wall_us());
  hello said{
    .session = session_,
    .lane = which_,
    .cluster = how_.self.cluster,
    .node = how_.self.node,
    .disk = how_.self.disk,
    .schema_version = how_.self.schema_version,
  };
  auto bytes = wire::encode(said);
  check(bytes.has_value(), "our own identity passes the checks of a hello");
  is_dealer_touched_ = true;
  return line_.dealer().send(*bytes);
}

std::optional<dialler_news> peer_dialler::take_answer(steady_time now) {
  fabric::frame payload;
  is_dealer_touched_ = true;
  while (line_.dealer().receive(payload)) {
    bool whole = !payload.more;
    line_.dealer().skip_rest(payload);
    auto said = wire::decode_peer_message(payload.span());
    if (!whole || !said)
      continue; // What only a newer peer knows is ignored, and damage is no word of life.
    heard_ = now;
    if (auto news = judge(*said, now))
      return news;
  }
  // Finding nothing it looked at everything, so that the descriptor tells what comes next.
  may_hear_ = is_dealer_touched_ = false;
  return {};
}

std::optional<dialler_news> peer_dialler::judge(const message& said, steady_time now) {
  if (auto bye = std::get_if<closing>(&said)) {
    auto what = "it closed the connection (" + std::string{name(bye->reason)} + "): " + bye->text;
    return drop(now, loss_by(bye->reason), std::move(what));
  }
  auto answer = std::get_if<welcome>(&said);
  if (answer == nullptr || welcomed_ || answer->session != session_)
    return {};
  welcomed_ = true;
  redial_.succeeded();
  return dialler_news{.is_up = true};
}

std::optional<dialler_news>
peer_dialler::drop(steady_time now, lost_reason reason, std::string what) {
  if (!line_)
    return {};
  line_ = {};
  welcomed_ = false;
  next_dial_ = now + redial_.after(reason, static_cast<std::uint32_t>(chance_()));
  auto kind = reason == lost_reason::refused ? problem_kind::forbidden : problem_kind::unavailable;
  return dialler_news{
    false,
    {kind,
     "coordinator " + std::to_string(whom_.node) + " is not reached: " + std::move(what),
     whom_.address,
     "it is dialled again; check that it runs and that both name the same address and key"}};
}

bool peer_dialler::watch(std::vector<pollfd>& items, bool has_waiting) {
  if (!line_)
    return true;
  items.push_back({line_.dealer().descriptor(), POLLIN, 0});
  items.push_back({line_.events().descriptor(), POLLIN, 0});
  if (may_hear_ || may_happen_)
    return false;
  if (!std::exchange(is_dealer_touched_, false))
    return true;
  const auto now = line_.dealer().ready();
  may_hear_ = (now & ZMQ_POLLIN) != 0;
  // What cannot be sent now is told by the descriptor when it can, and tried again then.
  return !may_hear_ && !(welcomed_ && has_waiting && (now & ZMQ_POLLOUT) != 0);
}

const pollfd* peer_dialler::take_signals(const pollfd* items) {
  if (!line_)
    return items;
  may_hear_ |= items[0].revents != 0;
  may_happen_ |= items[1].revents != 0;
  return items + 2;
}

steady_time peer_dialler::due() const {
  if (!line_)
    return next_dial_;
  return heard_ + how_.peer_silence + milliseconds{1};
}

bool peer_dialler::send(std::string_view bytes) {
  is_dealer_touched_ = true;
  return welcomed_ && line_.dealer().send(bytes);
}

} // namespace assay::peers
