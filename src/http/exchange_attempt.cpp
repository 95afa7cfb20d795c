// The third part of an exchange: sending the request to a replica, and again where that is allowed.

#include "src/http/exchange.hpp"
#include "src/routing/health_limits.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace assay::http {

using contract::failure;

namespace {

/// Passes over interim answers, which are not the client's: nothing was asked that they could refer
/// to.
reading read_final_head(response_reader& response, char* bytes, std::size_t& size) {
  for (;;) {
    auto got = response.read({bytes, size});
    if (got != reading::complete || response.head().status >= 200)
      return got;
    if (response.head().status == 101)
      return reading::failed;
    auto passed = response.head().bytes;
    std::memmove(bytes, bytes + passed, size - passed);
    size -= passed;
    response.reset();
  }
}

} // namespace

/// True: there is a replica's answer to relay. False: `refusal_` says why not, or the client is
/// gone.
task<bool> exchange::ask_replicas() {
  lane_.retries.earn();
  ++history_.attempts;
  bool fresh = false;
  for (;;) {
    attempt_end end = co_await attempt(fresh);
    if (client_.gone())
      co_return false;
    if (end == attempt_end::answered)
      co_return true;
    auto step = next_step(end, history_, lane_.retries);
    fresh = step == retry_step::replay;
    if (fresh) {
      history_.replayed = true;
      count(lane_.common().replays);
      continue;
    }
    if (step == retry_step::elsewhere && choose_again(end)) {
      ++history_.attempts;
      history_.broke |= end == attempt_end::broke;
      count(lane_.common().retries);
      continue;
    }
    if (step == retry_step::elsewhere && end != attempt_end::not_connected)
      lane_.retries.give_back();
    if (has_answer_)
      co_return true;
    explain_failure(end);
    co_return false;
  }
}

void exchange::explain_failure(attempt_end end) {
  if (!refusal_.message.empty())
    return;
  if (end == attempt_end::late)
    fail(failure::upstream_timeout, why_late());
  else if (end == attempt_end::not_connected)
    fail(failure::upstream_error, "the replica could not be reached");
  else
    fail(failure::upstream_disconnected, "the replica closed the connection without an answer");
}

task<attempt_end> exchange::attempt(bool fresh) {
  drop_link();
  response_.reset();
  has_answer_ = whole_ = ended_ = false;
  got_ = at_ = 0;
  window_.clear();
  collected_.clear();
  outcome_.replica = {};
  if (!fresh)
    link_ = lane_.upstreams.take(*endpoint_, lane_.now());
  if (link_) {
    count(lane_.common().reuses);
    client_.guard(link_.get());
  } else {
    attempt_end end = co_await connect();
    if (end != attempt_end::answered)
      co_return end;
  }
  attempt_end end = co_await send_request();
  if (end == attempt_end::answered)
    end = co_await read_answer_head();
  if (end != attempt_end::answered)
    co_return end;
  // What fits is read whole before anything leaves: if the replica dies in it, the client still
  // gets a proper error, and another endpoint may be asked instead of passing a refusal on.
  const auto& got = response_.head();
  auto json = is_json(find_field(response_text_, got, field_kind::content_type));
  auto fits =
    got.framing == body_framing::none || (got.framing == body_framing::chunked && json)
    || (got.framing == body_framing::sized && got.content_length <= limits::upstream_buffer_bytes);
  if (fits || got.status >= 400)
    end = co_await collect_body(limits::error_body_bytes);
  if (end != attempt_end::answered) {
    has_answer_ = false;
    co_return end;
  }
  co_return end_of_status(got.status);
}

task<attempt_end> exchange::connect() {
  boost::system::error_code error;
  auto address = asio::ip::make_address(decision_.endpoint->address, error);
  if (error)
    co_return attempt_end::not_connected;
  count(lane_.common().connects);
  link_ = lane_.upstreams.make();
  if (!link_->connect({address, decision_.endpoint->port}))
    co_return attempt_end::not_connected;
  client_.guard(link_.get());
  client_.enter(wait::connect, until_);
  co_await link_->writable();
  // A replica that does not even take the connection has seen nothing of the request.
  client_.take_late();
  co_return link_->is_connected() ? attempt_end::answered : attempt_end::not_connected;
}

task<attempt_end> exchange::send_request() {
  const auto& served = decision_.implementation->served_name.empty()
                         ? decision_.model->name
                         : decision_.implementation->served_name;
  auto spliced = splice_model(body(), scan_, served);
  lane_.head.clear();
  write_request_head(
    lane_.head,
    bytes(),
    head(),
    {endpoint_->key().address,
     decision_.endpoint->secret,
     request_id_,
     client_.peer(),
     spliced.size()}
  );
  parts p;
  p.add(lane_.head);
  p.add(spliced.head);
  p.add(spliced.middle);
  p.add(spliced.tail);
  auto sent = p.send(*link_);
  if (!p.empty())
    upstream_head_ = std::move(lane_.head); // Its bytes stay where they are.
  while (!sent.failed && !p.empty()) {
    client_.enter(wait::request_out, until_);
    co_await link_->writable();
    if (client_.gone())
      co_return attempt_end::lost;
    if (client_.take_late())
      co_return attempt_end::late;
    sent = p.send(*link_);
  }
  begin_work();
  // A replica may answer without reading everything; what it said is read next.
  co_return sent.failed && link_->reused ? attempt_end::reused_closed : attempt_end::answered;
}

/// Content has come: from here on the gaps between its pieces are what is limited.
bool exchange::has_begun() const {
  if (observer_)
    return observer_->facts().content;
  return outcome_.bytes_out > 0 || !window_.empty();
}

void exchange::await_answer() {
  if (has_begun())
    client_.enter(wait::more, until_);
  else
    client_.enter(wait::first_token, std::min(until_, sent_ + lane_.options().limits.first_token));
}

/// The limit that has passed, in words.
std::string exchange::why_late() const {
  const auto& limits = lane_.options().limits;
  auto in_seconds = [](std::chrono::milliseconds t) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>{t}.count());
    return std::string{text};
  };
  if (now() >= until_)
    return "the request was not answered within " + in_seconds(limits.total)
           + ", waiting and all attempts included";
  if (has_begun())
    return "the replica fell silent within its answer for " + in_seconds(limits.gap);
  return "the replica sent no content within " + in_seconds(limits.first_token);
}

/// The replica has the whole request: what it owes from here on counts among its signs of life.
void exchange::begin_work() {
  sent_ = now();
  const auto& shape = scan_.shape;
  auto input = shape.all_input();
  routing::work w{
    .input_tokens = input.least + (input.most - std::min(input.least, input.most)) / 2,
    .output_tokens = shape.output_tokens.value_or(0)};
  const auto& pace = snapshot_->brief_of(*decision_.endpoint).pace;
  auto expected = routing::expected_first(pace, w, shape.stream);
  auto longest = std::chrono::duration<double>{limits::silence_most};
  auto owed = expected ? std::min(std::chrono::duration<double>{*expected}, longest) : longest;
  work_ = {
    endpoint_->signs(), std::chrono::duration_cast<std::chrono::microseconds>(owed), lane_.now()};
}

/// What the engine that refused asks for; 0: nothing, or no number of seconds.
std::chrono::seconds exchange::asked_to_wait() const {
  if (!has_answer_)
    return {};
  auto text = find_field(response_text_, response_.head(), "retry-after");
  std::uint32_t seconds = 0;
  auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  auto is_number = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return std::chrono::seconds{is_number ? seconds : 0};
}

/// Another replica is asked: what came of this one is told at the end, beside the answer.
void exchange::note_attempt(attempt_end end) {
  auto refused = end == attempt_end::pushed_back && has_answer_;
  auto how = refused ? routing::ending_of_status(response_.head().status) : routing::ending::failed;
  outcome_.failed_attempts.push_back({endpoint_->key(), how, asked_to_wait()});
}

task<attempt_end> exchange::read_answer_head() {
  await_answer();
  for (;;) {
    co_await more();
    auto end = read_more();
    if (end == attempt_end::lost && got_ == 0 && link_->reused && !client_.gone())
      co_return attempt_end::reused_closed;
    if (end != attempt_end::answered)
      co_return end;
    auto got = read_final_head(response_, buffer_.get(), got_);
    if (got == reading::complete)
      break;
    if (got != reading::incomplete || got_ == limits::upstream_buffer_bytes) {
      auto why = response_.why().empty() ? "its head is too large" : response_.why();
      fail(failure::upstream_error, "the replica's answer is not valid HTTP: " + std::string{why});
      co_return attempt_end::lost;
    }
  }
  const auto& answer = response_.head();
  response_text_.assign(buffer_.get(), answer.bytes);
  at_ = answer.bytes;
  left_ = answer.content_length;
  chunks_ = {};
  has_answer_ = true;
  co_return attempt_end::answered;
}

/// Awaited before `read_more`. A buffer is held only while something lies in it: a thousand
/// replicas that think share a few, whose memory is warm.
tcp_socket::readiness exchange::more() {
  if (at_ == got_) {
    at_ = got_ = 0;
    lane_.give_buffer(std::move(buffer_));
  }
  return link_->readable();
}

/// Reads what has come.
attempt_end exchange::read_more() {
  if (client_.gone())
    return attempt_end::lost;
  if (client_.take_late())
    return attempt_end::late;
  if (!buffer_)
    buffer_ = lane_.take_buffer();
  auto read = link_->read(buffer_.get() + got_, limits::upstream_buffer_bytes - got_);
  ended_ = read.ended;
  if (read.failed)
    return attempt_end::lost;
  got_ += read.bytes;
  return attempt_end::answered;
}

/// Reads the body into `collected_`; one longer than `most` is left to be streamed.
task<attempt_end> exchange::collect_body(std::size_t most) {
  if (response_.head().framing == body_framing::sized && left_ <= most)
    window_.reserve(static_cast<std::size_t>(left_) + answer_reader::padding);
  for (;;) {
    auto now_at = take_payload();
    if (now_at == pump::complete) {
      collected_ = std::move(window_);
      window_.clear();
      whole_ = true;
      note_end();
      keep_link();
      co_return attempt_end::answered;
    }
    if (now_at == pump::broken)
      co_return attempt_end::lost;
    if (window_.size() > most)
      co_return attempt_end::answered;
    await_answer();
    co_await more();
    auto end = read_more();
    if (end != attempt_end::answered && !(ended_ && response_.head().framing == body_framing::until_close))
      co_return end;
  }
}

void exchange::drop_link() {
  work_.leave();
  client_.guard(nullptr);
  link_.reset();
}

/// For the next request, if the replica lets it and nothing is left in it.
void exchange::keep_link() {
  work_.leave();
  client_.guard(nullptr);
  if (link_ && response_.head().keep_alive && at_ == got_ && !ended_)
    lane_.upstreams.keep(endpoint_, std::move(link_), lane_.now());
  link_.reset();
  decision_.reservation.release();
}

} // namespace assay::http
