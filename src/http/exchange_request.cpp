// The first half of an exchange: who asks, and the body with its shape.

#include "src/http/exchange.hpp"
#include "src/routing/bodies.hpp"

#include <algorithm>
#include <cstring>

namespace assay::http {

using contract::failure;

std::string_view exchange::body() const {
  if (large_)
    return {large_.get(), large_size_};
  auto all = bytes();
  return all.substr(head().bytes, used_ - head().bytes);
}

bool exchange::fail(contract::failure failure, std::string message) {
  refusal_ = {failure, std::move(message), {}, 0, {}};
  return false;
}

std::optional<refusal> exchange::check_head(const door_choice& wanted) {
  operation_ = wanted.operation;
  if (auto bad = identify())
    return bad;
  if (head().expects_other)
    return refusal{failure::expectation_failed, "only Expect: 100-continue is understood"};
  if (wanted.door != door::inference)
    return {};
  auto coding = find_field(bytes(), head(), field_kind::content_encoding);
  if (!coding.empty() && !same_ignoring_case(coding, "identity"))
    return refusal{
      failure::unsupported_encoding, "the body is compressed; send it without Content-Encoding"};
  if (auto bad = check_length())
    return bad;
  return take_pin();
}

/// What is too long for every model that the caller may use is refused before it is read; which one
/// it asks for stands in the body.
std::optional<refusal> exchange::check_length() const {
  auto size = head().content_length;
  if (size == 0)
    return {};
  std::uint64_t most =
    std::min(lane_.options().limits.body_bytes, lane_.options().limits.bodies_bytes);
  if (!client_.has_room(static_cast<std::size_t>(std::min(size, most))))
    if (auto longest = routing::longest_body(*snapshot_, caller_); longest > 0)
      most = std::min(most, longest);
  if (size <= most)
    return {};
  return refusal{
    failure::request_too_large,
    "the body has " + std::to_string(size) + " bytes, allowed are " + std::to_string(most)};
}

std::optional<refusal> exchange::identify() {
  snapshot_ = lane_.snapshot;
  if (!snapshot_)
    return refusal{failure::no_capacity, "this ingress has no routing snapshot yet; try again"};
  auto key = presented_key(bytes(), head());
  if (key.empty())
    return refusal{
      failure::invalid_api_key,
      "no API key (or two that differ); send one as Authorization: Bearer KEY or x-api-key: KEY"};
  key_digest_ = client_.digest_of(key);
  const auto* found = snapshot_->find_key(key_digest_);
  if (!found)
    return refusal{failure::invalid_api_key, "this API key is unknown or revoked"};
  caller_ = routing::caller_of(*snapshot_, *found);
  outcome_.traffic = found->traffic;
  outcome_.key = found->id;
  if (found->project != routing::none)
    outcome_.project = snapshot_->projects()[found->project].id;
  return {};
}

std::optional<refusal> exchange::take_pin() {
  pin_ = find_field(bytes(), head(), "x-assay-pin");
  if (pin_.empty())
    return {};
  if (caller_.traffic != contract::traffic_class::evaluation)
    return refusal{
      failure::model_not_allowed, "x-assay-pin is for keys of class evaluation", "x-assay-pin"};
  auto fingerprint = find_field(bytes(), head(), "x-assay-pin-fingerprint");
  if (fingerprint.empty())
    return {};
  pin_fingerprint_ = parse_digest(fingerprint);
  if (!pin_fingerprint_)
    return refusal{
      failure::invalid_request,
      "x-assay-pin-fingerprint is not sha256: and 64 hexadecimal digits",
      "x-assay-pin-fingerprint"};
  return {};
}

/// Takes the memory for a body before any of it is asked for. A body that fits the connection's own
/// buffer lies there, and counts all the same. False: `refusal_` says why.
bool exchange::admit_body() {
  if (head().framing == body_framing::chunked)
    return grow_body(limits::client_buffer_bytes);
  auto size = static_cast<std::size_t>(head().content_length);
  return client_.has_room(used_ + size + body_scanner::padding) ? hold_memory(size)
                                                                : grow_body(size);
}

/// False: `refusal_` says why, or the client is gone.
task<bool> exchange::take_body() {
  used_ = head().bytes;
  if (!admit_body())
    co_return false;
  if (head().framing != body_framing::none && head().expects_continue && bytes().size() == used_) {
    bool said = co_await say_continue();
    if (!said)
      co_return false;
  }
  bool taken = true;
  if (head().framing == body_framing::chunked)
    taken = co_await take_chunked_body();
  if (head().framing == body_framing::sized)
    taken = co_await take_sized_body(static_cast<std::size_t>(head().content_length));
  if (!taken)
    co_return false;
  body_taken_ = true;
  outcome_.bytes_in = large_ ? large_size_ : used_ - head().bytes;
  client_.make_room(used_ + body_scanner::padding);
  co_return true;
}

task<bool> exchange::say_continue() {
  bool sent = co_await client_.send("HTTP/1.1 100 Continue\r\n\r\n");
  co_return sent;
}

/// Waits for the next piece in the connection's buffer.
task<bool> exchange::wait_for_body() {
  client_.enter(wait::body, until_);
  co_await client_.more();
  if (client_.gone())
    co_return false;
  if (client_.take_late())
    co_return fail(failure::request_timeout, "the request body did not arrive in time");
  co_return true;
}

task<bool> exchange::take_sized_body(std::size_t size) {
  auto whole = used_ + size;
  if (large_) {
    bool taken = co_await take_large_body(size);
    co_return taken;
  }
  client_.make_room(whole + body_scanner::padding);
  while (bytes().size() < whole) {
    bool came = co_await wait_for_body();
    if (!came)
      co_return false;
  }
  used_ = whole;
  co_return true;
}

/// Straight into memory of its own, so that a large body is read in few calls and copied once at
/// most.
task<bool> exchange::take_large_body(std::size_t size) {
  for (;;) {
    auto here = bytes().substr(used_).substr(0, size - large_size_);
    std::memcpy(large_.get() + large_size_, here.data(), here.size());
    large_size_ += here.size();
    used_ += here.size();
    if (large_size_ == size)
      co_return true;
    client_.enter(wait::body, until_);
    std::size_t came = co_await client_.more(large_.get() + large_size_, size - large_size_);
    if (client_.gone())
      co_return false;
    large_size_ += came;
    if (client_.take_late())
      co_return fail(failure::request_timeout, "the request body did not arrive in time");
  }
}

task<bool> exchange::take_chunked_body() {
  chunked_decoder decoder;
  auto first = used_;
  for (;;) {
    while (used_ < bytes().size()) {
      auto step = decoder.next(bytes().substr(used_));
      used_ += step.used;
      if (!grow_body(large_size_ + step.payload.size()))
        co_return false;
      if (!step.payload.empty()) // Nothing may be copied from nowhere.
        std::memcpy(large_.get() + large_size_, step.payload.data(), step.payload.size());
      large_size_ += step.payload.size();
      if (step.now == chunked_decoder::status::done)
        co_return true;
      if (step.now == chunked_decoder::status::bad)
        co_return fail(failure::bad_framing, "the chunked body breaks the rules of its coding");
    }
    bool came = co_await wait_for_body();
    if (!came)
      co_return false;
    client_.discard(first, used_ - first);
    used_ = first;
  }
}

/// Room for `wanted` bytes and the padding, out of the budget.
bool exchange::grow_body(std::size_t wanted) {
  auto most = lane_.options().limits.body_bytes;
  if (wanted > most)
    return fail(
      failure::request_too_large, "the body is longer than " + std::to_string(most) + " bytes"
    );
  if (wanted + body_scanner::padding <= large_room_)
    return true;
  auto room = std::max(wanted, std::min(large_room_ * 2, most)) + body_scanner::padding;
  if (!hold_memory(room))
    return false;
  auto grown = std::make_unique_for_overwrite<char[]>(room);
  if (large_size_ > 0)
    std::memcpy(grown.get(), large_.get(), large_size_);
  large_ = std::move(grown);
  large_room_ = room;
  return true;
}

bool exchange::hold_memory(std::size_t bytes) {
  if (budget_.hold(bytes))
    return true;
  auto wait = lane_.common().bodies.wait_for(bytes - budget_.held());
  fail(failure::no_capacity, "request bodies take all the memory they may; try again later");
  refusal_.retry_after_seconds = static_cast<std::uint32_t>(wait.count());
  return false;
}

std::optional<refusal> exchange::read_shape() {
  auto room = large_ ? large_room_ : client_.capacity() - head().bytes;
  auto found = lane_.scanner.scan(operation_, body(), room);
  if (!found) {
    auto& why = found.error();
    return refusal{why.failure, why.message, why.param};
  }
  scan_ = *std::move(found);
  outcome_.task = scan_.shape.task;
  outcome_.stream = scan_.shape.stream;
  outcome_.sequences = scan_.shape.prompts * scan_.shape.choices;
  return {};
}

} // namespace assay::http
