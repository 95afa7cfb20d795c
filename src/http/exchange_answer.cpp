// The last part of an exchange: the replica's answer on its way to the client.

#include "src/http/exchange.hpp"

#include <charconv>

namespace assay::http {

using contract::failure;

namespace {

struct chunk_line {
  explicit chunk_line(std::size_t bytes) {
    auto end = std::to_chars(text, text + 16, bytes, 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    size = static_cast<std::size_t>(end - text);
  }
  std::string_view view() const { return {text, size}; }

  char text[18];
  std::size_t size;
};

std::chrono::microseconds in_microseconds(steady_time::duration t) {
  return std::chrono::duration_cast<std::chrono::microseconds>(t);
}

} // namespace

answer_terms exchange::terms(body_framing framing, std::uint64_t length) {
  answer_terms t;
  t.request_id = request_id_;
  t.metadata = shows_metadata() ? &metadata_ : nullptr;
  auto stale = endpoint_->stale_for(std::chrono::steady_clock::now());
  t.stale_seconds =
    static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(stale).count());
  t.framing = framing;
  t.content_length = length;
  t.keeps = keeps() && framing != body_framing::until_close;
  t.minor = head().minor;
  return t;
}

task<bool> exchange::answer() {
  drop_body();
  bool stays = false;
  if (whole_)
    stays = co_await answer_collected();
  else
    stays = co_await answer_streamed();
  co_return stays;
}

task<bool> exchange::answer_collected() {
  const auto& got = response_.head();
  if (opened_) {
    outcome_.retry_after = asked_to_wait();
    auto said = "the replica answered " + std::to_string(got.status) + ": " + collected_;
    bool stays = co_await end_opened(failure::upstream_error, said);
    co_return stays;
  }
  auto json = is_json(find_field(response_text_, got, field_kind::content_type));
  auto wraps = got.status >= 400 && !json;
  if (wraps) {
    constexpr std::size_t shown = 4'096;
    collected_.resize(std::min(collected_.size(), shown));
    auto said = collected_.empty() ? "the replica answered without a body" : collected_;
    collected_ =
      write_error_body(failure::upstream_error, said, {}, {request_id_, true, 1, {}, family()});
  }
  auto no_body = got.framing == body_framing::none && !wraps;
  auto t = terms(no_body ? body_framing::none : body_framing::sized, collected_.size());
  t.replaces_body = wraps;
  lane_.head.clear();
  write_answer_head(lane_.head, response_text_, got, t);
  parts p;
  p.add(lane_.head);
  p.add(collected_);
  bool sent = client_.try_send(p);
  if (!sent) {
    answer_head_ = std::move(lane_.head); // Its bytes stay where they are.
    sent = co_await client_.finish_send(p);
  }
  outcome_.bytes_out = collected_.size();
  if (json && got.status < 300) {
    stream_facts facts;
    lane_.reader.look_into(collected_, facts, family());
    if (facts.usage)
      outcome_.usage = {
        static_cast<std::uint32_t>(facts.usage->prompt),
        static_cast<std::uint32_t>(facts.usage->cached),
        static_cast<std::uint32_t>(facts.usage->completion),
        true};
  }
  auto how = routing::ending_of_status(got.status);
  if (how == routing::ending::overloaded)
    outcome_.retry_after = asked_to_wait();
  finish(sent ? how : routing::ending::client_gone, sent ? got.status : 499);
  co_return sent&& t.keeps;
}

task<bool> exchange::answer_streamed() {
  const auto& got = response_.head();
  auto events =
    got.status == 200 && is_event_stream(find_field(response_text_, got, field_kind::content_type));
  if (opened_ && !events) {
    bool stays =
      co_await end_opened(failure::upstream_error, "the replica answered without a stream");
    co_return stays;
  }
  out_ = got.framing == body_framing::sized && !events ? body_framing::sized
         : head().minor == 1                           ? body_framing::chunked
                                                       : body_framing::until_close;
  auto t = terms(out_, got.content_length);
  t.event_stream = events;
  write_answer_head(answer_head_, response_text_, got, t);
  if (events)
    observer_.emplace(lane_.reader, family());
  for (;;) {
    auto state = take_payload();
    if (state != pump::more) {
      bool stays = co_await finish_stream(state == pump::complete);
      co_return stays&& t.keeps;
    }
    bool sent = co_await forward();
    if (!sent)
      co_return false;
    client_.allow_comments({observer_ && !observer_->inside_event(), out_ == body_framing::chunked}
    );
    auto done = observer_ && observer_->facts().done;
    if (done)
      client_.enter(wait::trailer, until_);
    else
      await_answer();
    co_await more();
    auto end = read_more();
    if (end == attempt_end::answered || ended_)
      continue;
    if (client_.gone()) {
      finish_gone();
      co_return false;
    }
    bool stays = false;
    if (end == attempt_end::late && !done)
      stays = co_await end_with_error(failure::upstream_timeout, why_late());
    else
      stays = co_await finish_stream(done);
    co_return stays&& t.keeps;
  }
}

/// Takes the transfer coding off what has been read, into `window_`.
exchange::pump exchange::take_payload() {
  std::string_view raw{buffer_.get() + at_, got_ - at_};
  switch (response_.head().framing) {
  case body_framing::none:
    return pump::complete;
  case body_framing::until_close:
    window_ += raw;
    at_ = got_;
    return ended_ ? pump::complete : pump::more;
  case body_framing::sized: {
    raw = raw.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, raw.size())));
    window_ += raw;
    at_ += raw.size();
    left_ -= raw.size();
    break;
  }
  case body_framing::chunked:
    while (at_ < got_) {
      auto step = chunks_.next({buffer_.get() + at_, got_ - at_});
      window_ += step.payload;
      at_ += step.used;
      if (step.now == chunked_decoder::status::done)
        return pump::complete;
      if (step.now == chunked_decoder::status::bad)
        return pump::broken;
    }
    return ended_ ? pump::broken : pump::more;
  }
  if (left_ == 0)
    return pump::complete;
  return ended_ ? pump::broken : pump::more;
}

/// Sends what may go by now. False: the client is gone, and that is reported.
task<bool> exchange::forward() {
  auto size = observer_ ? observer_->release(window_) : window_.size();
  note_facts();
  if (size == 0 && head_sent_)
    co_return true;
  bool sent = co_await send_window(size, false);
  co_return sent;
}

/// Sends the head if it is due, `size` bytes of the window, and the end after the last ones.
task<bool> exchange::send_window(std::size_t size, bool last) {
  chunk_line line{size};
  auto chunked = out_ == body_framing::chunked;
  parts p;
  if (!head_sent_)
    p.add(answer_head_);
  if (chunked && size > 0)
    p.add(line.view());
  p.add(std::string_view{window_}.substr(0, size));
  if (chunked && size > 0)
    p.add(last ? "\r\n0\r\n\r\n" : "\r\n");
  else if (chunked && last)
    p.add("0\r\n\r\n");
  head_sent_ = true;
  bool sent = client_.try_send(p);
  if (!sent) {
    outcome_.replica.held_up = true; // What it writes meanwhile waits for us,
    work_.leave();                   // and its silence is not its own.
    sent = co_await client_.finish_send(p);
  }
  window_.erase(0, size);
  outcome_.bytes_out += size;
  if (!sent)
    finish_gone();
  co_return sent;
}

/// A client that closes after `[DONE]` has all it came for.
void exchange::finish_gone() {
  auto done = observer_ && observer_->facts().done;
  note_facts();
  finish(done ? routing::ending::served : routing::ending::client_gone, done ? 200 : 499);
}

void exchange::note_facts() {
  if (!observer_)
    return work_.moved(lane_.now());
  const auto& facts = observer_->facts();
  if (facts.content_events > outcome_.replica.contents) {
    outcome_.replica.contents = static_cast<std::uint32_t>(facts.content_events);
    work_.moved(lane_.now());
  }
  if (facts.content && !outcome_.ttft) {
    auto at = now();
    outcome_.ttft = in_microseconds(at - began_);
    outcome_.replica.first = in_microseconds(at - sent_);
  }
  if (facts.done)
    note_end();
  if (facts.usage)
    outcome_.usage = {
      static_cast<std::uint32_t>(facts.usage->prompt),
      static_cast<std::uint32_t>(facts.usage->cached),
      static_cast<std::uint32_t>(facts.usage->completion),
      true};
}

/// The replica has said all that it has to say.
void exchange::note_end() {
  if (outcome_.replica.total == std::chrono::microseconds{})
    outcome_.replica.total = in_microseconds(now() - sent_);
  work_.moved(lane_.now());
}

/// The replica's answer is over. `complete`: its transfer coding says that nothing is missing.
task<bool> exchange::finish_stream(bool complete) {
  auto whole = observer_ ? observer_->release(window_) : window_.size();
  // A last event without its blank line still says what it says.
  if (observer_ && complete && whole < window_.size())
    observer_->release(window_.substr(whole) + "\n\n");
  note_facts();
  auto facts = observer_ ? observer_->facts() : stream_facts{};
  auto finished = complete && (!observer_ || facts.done || facts.finish || facts.error);
  if (!finished) {
    if (whole > 0 || head_sent_) {
      bool sent = co_await send_window(whole, false);
      if (!sent)
        co_return false;
    }
    bool stays = co_await end_with_error(
      failure::upstream_disconnected, "the replica broke off before its answer was finished"
    );
    co_return stays;
  }
  note_end();
  keep_link();
  bool sent = co_await send_window(window_.size(), true);
  if (!sent)
    co_return false;
  if (facts.error)
    outcome_.failure = failure::upstream_error;
  auto status = response_.head().status;
  finish(facts.error ? routing::ending::failed : routing::ending_of_status(status), status);
  co_return out_ != body_framing::until_close;
}

/// Ends a stream that we opened, and in which nothing of a replica's has gone out, with the reason.
task<bool> exchange::end_opened(contract::failure failure, std::string_view message) {
  auto said = has_answer_;
  auto status =
    said ? static_cast<int>(response_.head().status) : contract::status_of(failure, family());
  auto how = said && status >= 400 ? routing::ending_of_status(status)
             : said || failure == contract::failure::upstream_error
                 || failure == contract::failure::upstream_disconnected
                 || failure == contract::failure::upstream_timeout
               ? routing::ending::failed
               : routing::ending::refused;
  drop_link();
  decision_.reservation.release();
  count(lane_.common().refused);
  outcome_.failure = failure;
  auto event = write_error_event(failure, message, {family(), request_id_, {}, 0});
  chunk_line line{event.size()};
  auto text = std::string{line.view()} + event + "\r\n0\r\n\r\n";
  auto stays = keeps();
  bool sent = co_await client_.send(text);
  finish(sent ? how : routing::ending::client_gone, sent ? status : 499);
  co_return sent&& stays;
}

/// Ends a cut answer so that nobody takes it for a whole one.
task<bool> exchange::end_with_error(contract::failure failure, std::string_view message) {
  drop_link();
  decision_.reservation.release();
  count(lane_.common().streams_cut);
  if (!head_sent_) {
    fail(failure, std::string{message});
    bool stays = co_await refuse();
    co_return stays;
  }
  outcome_.failure = failure;
  auto can_say = observer_ && !observer_->inside_event();
  finish(routing::ending::failed, contract::describe(failure).status);
  if (can_say) {
    const auto& facts = observer_->facts();
    auto number = facts.sequence ? *facts.sequence + 1 : 0;
    auto event =
      write_error_event(failure, message, {family(), request_id_, facts.subject, number});
    if (out_ == body_framing::chunked) {
      chunk_line line{event.size()};
      event = std::string{line.view()} + event + "\r\n0\r\n\r\n";
    }
    co_await client_.send(event);
  } else if (out_ == body_framing::until_close) {
    client_.abort(); // Its end would look like the answer's.
  }
  co_return false;
}

} // namespace assay::http
