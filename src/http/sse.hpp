#pragma once
// Reads a stream of server-sent events while it is relayed, without changing a byte of it.
//
// The observer says how much may be sent on: everything up to the end of the last complete event,
// so that our own error event can never land inside another. An event longer than
// limits::event_bytes is let through unfinished and is not looked into. Bytes may be split
// anywhere, inside UTF-8 and between CR and LF. Pure: it knows no clock and no socket.

#include "src/contract/operation.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace assay::http {

/// Token counts as the engine last reported them; counts of chunks are never taken for tokens.
struct token_usage {
  std::uint64_t prompt = 0;
  std::uint64_t completion = 0;
  std::uint64_t cached = 0; ///< `prompt_tokens_details.cached_tokens`

  friend bool operator==(const token_usage&, const token_usage&) = default;
};

/// What has been seen so far. Flags only ever become true.
struct stream_facts {
  std::uint64_t events = 0;         ///< With data; comments do not count.
  std::uint64_t content_events = 0; ///< That carried text, reasoning or a tool call.
  bool content = false;             ///< Something beyond the role has arrived.
  bool done = false;                ///< `[DONE]` as the whole data of an event, or a last event.
  bool error = false;               ///< An error event, also when `[DONE]` follows.
  bool finish = false;              ///< A finish reason that is not null.
  std::optional<token_usage> usage; ///< The last one wins.
  std::optional<std::uint64_t> sequence; ///< Number of the last event, where events are numbered.
  std::string subject; ///< Id of the message or response that the stream is about.

  static constexpr std::size_t subject_bytes = 128;
};

/// Looks for facts in the JSON of answers. Keeps its parser's memory; one per thread.
class answer_reader {
public:
  /// Capacity behind the text with which it need not be moved.
  static constexpr std::size_t padding = 64;

  answer_reader();
  ~answer_reader();
  answer_reader(answer_reader&&) noexcept;
  answer_reader& operator=(answer_reader&&) noexcept;

  /// Adds what the data of one event says. Text that is not a JSON object says nothing.
  /// `json` may be given more capacity, its content stays.
  void look_into(
    std::string& json,
    stream_facts& facts,
    contract::api_family family = contract::api_family::openai
  );

private:
  struct parser;
  std::unique_ptr<parser> parser_;
};

class sse_observer {
public:
  /// `reader` must outlive the observer.
  explicit sse_observer(
    answer_reader& reader, contract::api_family family = contract::api_family::openai
  )
    : reader_{&reader}, family_{family} {}

  /// `window` holds all bytes not released yet, old ones first. Returns how many of them may go
  /// now; the caller passes the others again, followed by what has arrived since.
  std::size_t release(std::string_view window);

  const stream_facts& facts() const { return facts_; }

  /// The bytes released so far end inside an event: nothing of ours may follow them.
  bool inside_event() const { return through_; }

private:
  void take_line(std::string_view line);
  void end_event();

  answer_reader* reader_;
  contract::api_family family_;
  stream_facts facts_;
  std::string data_;        ///< Data of the current event; lines joined by LF.
  std::size_t scanned_ = 0; ///< Bytes of the window that were read before.
  std::size_t line_at_ = 0; ///< Where the line begins that is not complete yet.
  bool line_open_ = false;  ///< Bytes of the current line were released already.
  bool has_data_ = false;
  bool named_error_ = false; ///< `event: error`
  bool after_cr_ = false;    ///< An LF that comes next belongs to the line before.
  bool event_open_ = false;  ///< A line came since the last blank one.
  bool through_ = false;     ///< Part of the current event is released.
};

} // namespace assay::http
