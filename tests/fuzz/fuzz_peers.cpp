// What coordinators hear, from any bytes to the consensus library: nothing is read past its end, a
// refusal says why, what was read is written and read again as the same, and a member that is told
// it, over a log of three entries, goes on.
//
// The input is steps of four bytes: the first chooses a sample message and ends the one before, or
// says of the other three where its bytes change, and to what. An input that begins with 0xff is
// taken as a frame of its own.

#include "src/base/check.hpp"
#include "src/consensus/configuration.hpp"
#include "src/consensus/participant.hpp"
#include "src/wire/peer_checks.hpp"
#include "src/wire/peer_codec.hpp"
#include "tests/support/peer_samples.hpp"

using namespace assay;

namespace {

using consensus::entry_kind;

const consensus::configuration group{
  {1, "10.0.0.1:7104", consensus::member_role::voter},
  {2, "10.0.0.2:7104", consensus::member_role::voter},
  {3, "10.0.0.3:7104", consensus::member_role::voter},
};

/// Member 1, which stores at once what it is told to, and hears only what has passed the checks.
class member : consensus::stored_log {
public:
  member() {
    consensus::participant_settings how;
    how.core.address = "10.0.0.1:7104";
    how.trailing = 4;
    it_ = consensus::participant::make(how, *this).value();
    log_ = {
      {1, entry_kind::change, consensus::encode(group)},
      {4, entry_kind::command, "a"},
      {4, entry_kind::command, "b"},
    };
    check(!it_->start({{4, 0}, {}, 1, log_}, 1, now_), "a sound log starts");
    settle();
  }

  void hear(consensus::message what) {
    now_ += 7;
    (void
    )it_->receive(std::move(what), now_); // Whether it is of use to the member is its own matter.
    settle();
    if (now_ >= it_->wake_up_ms())
      (void)it_->tick(now_); // Likewise; `settle` looks whether it ended.
    settle();
  }

private:
  std::optional<consensus::entry> at(std::uint64_t index) const override {
    if (index < first_ || index - first_ >= log_.size())
      return {};
    return log_[index - first_];
  }

  void settle() {
    for (auto next = it_->take();; next = it_->take()) {
      if (!next.committed.empty())
        it_->state_is_durable(next.committed.back().index);
      if (next.fetch)
        it_->fetched(next.fetch->index);
      check(it_->ended().empty(), "no message ends a member");
      if (!next.write)
        return;
      store(*next.write);
      it_->wrote(now_);
    }
  }

  void store(const consensus::log_write& what) {
    for (const auto& a : what.appends) {
      check(a.index >= first_ && a.index <= first_ + log_.size(), "an append leaves no gap");
      log_.resize(a.index - first_);
      log_.insert(log_.end(), a.entries.begin(), a.entries.end());
    }
    if (what.forget)
      for (; first_ < what.forget->first_kept && !log_.empty(); ++first_)
        log_.erase(log_.begin());
    if (what.replaced_by) {
      log_.clear();
      first_ = what.replaced_by->index + 1;
    }
  }

  std::unique_ptr<consensus::participant> it_;
  std::vector<consensus::entry> log_;
  std::uint64_t first_ = 1;
  std::uint64_t now_ = 0;
};

void take(std::string_view frame, member& by) {
  auto said = wire::decode_peer_message(std::as_bytes(std::span{frame.data(), frame.size()}));
  if (!said) {
    check(!said.error().what.empty(), "a refusal says why");
    return;
  }
  check(!peers::refuse(*said), "what was decoded has passed the checks");
  auto bytes = wire::encode(*said);
  check(bytes.has_value(), "what was decoded fits a frame");
  auto again = wire::decode_peer_message(std::as_bytes(std::span{bytes->data(), bytes->size()}));
  check(again.has_value(), "our own bytes are read again");
  check(wire::encode(*again).value() == *bytes, "what was read once is read the same again");
  auto* word = std::get_if<consensus::message>(&*said);
  if (word != nullptr && word->from != 1 && !peers::refuse_route(*said, word->from, 1))
    by.hear(std::move(*word));
}

const std::vector<std::string>& sample_frames() {
  static const auto all = [] {
    std::vector<std::string> out;
    for (const auto& [name, what] : peers::test::samples()) {
      const auto& frame = out.emplace_back(wire::encode(what).value());
      auto read = wire::decode_peer_message(std::as_bytes(std::span{frame.data(), frame.size()}));
      check(wire::encode(read.value()).value() == frame, "nothing of a sample is lost in reading");
    }
    return out;
  }();
  return all;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  member one;
  if (size > 0 && data[0] == 0xff) {
    take({reinterpret_cast<const char*>(data) + 1, size - 1}, one);
    return 0;
  }
  const auto& samples = sample_frames();
  std::string frame;
  for (; size >= 4; data += 4, size -= 4) {
    if (data[0] < samples.size()) {
      take(frame, one);
      frame = samples[data[0]];
    } else if (!frame.empty()) {
      frame[(data[1] * 256u + data[2]) % frame.size()] = static_cast<char>(data[3]);
    }
  }
  take(frame, one);
  return 0;
}
