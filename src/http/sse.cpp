#include "src/http/sse.hpp"

#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::http {

std::size_t sse_observer::release(std::string_view window) {
  std::size_t boundary = 0;
  auto at = scanned_;
  if (after_cr_ && at < window.size()) {
    after_cr_ = false;
    if (window[at] == '\n') {
      line_at_ = ++at;
      boundary = event_open_ ? 0 : at;
    }
  }
  auto feed = window.find('\n', at);
  while (at < window.size()) {
    if (feed != window.npos && feed < at)
      feed = window.find('\n', at);
    auto end = std::min(feed, window.size());
    auto stop = window.substr(at, end - at).find('\r');
    end = stop == window.npos ? end : at + stop;
    if (end == window.size())
      break;
    auto next = end + 1;
    if (window[end] == '\r') {
      after_cr_ = next == window.size();
      if (!after_cr_ && window[next] == '\n')
        ++next;
    }
    auto line = window.substr(line_at_, end - line_at_);
    if (line.empty() && !line_open_) {
      end_event();
      boundary = next;
    } else {
      take_line(line);
    }
    line_open_ = false;
    line_at_ = at = next;
  }
  auto released = boundary;
  if (through_ || window.size() - boundary > limits::event_bytes) {
    // An event longer than what we hold goes through; its rest is only searched for its end.
    through_ |= window.size() > boundary;
    released = window.size();
    line_open_ |= line_at_ < released;
    data_.clear();
  }
  scanned_ = window.size() - released;
  line_at_ = line_at_ > released ? line_at_ - released : 0;
  return released;
}

void sse_observer::take_line(std::string_view line) {
  event_open_ = true;
  if (through_ || line.empty() || line.front() == ':')
    return;
  auto colon = std::min(line.find(':'), line.size());
  auto name = line.substr(0, colon);
  auto value = line.substr(std::min(colon + 1, line.size()));
  if (!value.empty() && value.front() == ' ')
    value.remove_prefix(1);
  if (name == "event")
    named_error_ = value == "error";
  if (name != "data")
    return;
  if (has_data_)
    data_ += '\n';
  data_ += value;
  has_data_ = true;
}

void sse_observer::end_event() {
  if (through_) {
    ++facts_.events;
    ++facts_.content_events;
    facts_.content = true;
  } else if (has_data_) {
    ++facts_.events;
    facts_.error |= named_error_;
    if (data_ == "[DONE]")
      facts_.done = true;
    else
      reader_->look_into(data_, facts_, family_);
  }
  data_.clear();
  has_data_ = named_error_ = event_open_ = through_ = false;
}

} // namespace assay::http
