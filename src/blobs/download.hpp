#pragma once
// One blob on its way to us: pages in order, from one source at a time. With each source it begins
// anew, so that whoever sent wrong bytes is known.
//
// A value: it asks for nothing itself and keeps no bytes.

#include "src/base/clock.hpp"
#include "src/base/problem.hpp"
#include "src/blobs/messages.hpp"
#include "src/blobs/quorum.hpp"

#include <deque>
#include <optional>
#include <string>

namespace assay::blobs {

class download {
public:
  /// `sources` in the order in which they are asked, each once; at least one.
  download(const digest& blob, std::deque<node> sources, steady_time now);

  node source() const { return source_; }
  /// One more that has it, to be asked next.
  void add_source(node one);

  /// What to ask the source for now.
  want ask(steady_time now);
  bool is_ask_due(steady_time now) const; ///< Nothing followed the last one: it may be lost.
  bool is_stuck(steady_time now) const;   ///< The source makes no progress.

  /// Whether this is the page that was asked for. Others are late, doubled or unasked.
  bool waits_for(node from, const page& what) const;
  /// Takes the page's place in the count; false: it contradicts the ones before it.
  bool take(const page& what, steady_time now);
  bool is_whole() const { return size_ && offset_ == *size_; }

  /// The source cannot give it. False: nobody is left to ask, else ask again from the beginning.
  bool pass_over(const std::string& why, bool is_missing_there, steady_time now);

  /// After nobody was left: `not_found` only when each of them said that it does not have it.
  problem why_not() const;

private:
  digest blob_;
  std::deque<node> sources_; ///< Not asked yet.
  node source_ = 0;
  std::uint64_t offset_ = 0;
  std::optional<std::uint64_t> size_; ///< As the source said with its first page.
  steady_time asked_;
  steady_time moved_;
  std::string complaints_;
  bool is_missing_everywhere_ = true;
};

} // namespace assay::blobs
