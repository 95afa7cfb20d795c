#include "src/fabric/zap.hpp"

#include <cstring>

namespace assay::fabric {

namespace {

constexpr std::size_t asked_frames = 7; // Version to the credentials of CURVE, which are one key.

std::vector<std::string> read_question(socket& handler) {
  std::vector<std::string> frames;
  frame part;
  while (handler.receive(part)) {
    if (frames.size() <= asked_frames)
      frames.push_back(part.bytes);
    if (!part.more)
      break;
  }
  return frames;
}

} // namespace

zap_verdict judge_zap(
  const std::vector<std::string>& frames, const std::function<bool(const public_key&)>& is_allowed
) {
  public_key key;
  if (frames.size() != asked_frames || frames[0] != "1.0" || frames[2] != zap_domain)
    return {};
  if (frames[5] != "CURVE" || frames[6].size() != key.bytes.size())
    return {};
  std::memcpy(key.bytes.data(), frames[6].data(), key.bytes.size());
  if (!is_allowed(key))
    return {};
  return {true, to_text(key)};
}

std::optional<zap_verdict>
answer_zap(socket& handler, const std::function<bool(const public_key&)>& is_allowed) {
  auto frames = read_question(handler);
  if (frames.empty())
    return std::nullopt;
  auto verdict = judge_zap(frames, is_allowed);
  auto request = frames.size() > 1 ? frames[1] : std::string{};
  // A send that fails leaves the connection without an answer, and libzmq then refuses it.
  handler.send("1.0", true);
  handler.send(request, true);
  handler.send(verdict.allowed ? "200" : "400", true);
  handler.send(verdict.allowed ? "OK" : "key not allowed", true);
  handler.send(verdict.user_id, true);
  handler.send("");
  return verdict;
}

} // namespace assay::fabric
