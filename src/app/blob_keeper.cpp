#include "src/app/blob_keeper.hpp"

#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/base/overloaded.hpp"
#include "src/base/peer_limits.hpp"
#include "src/ledger/working.hpp"

#include <pthread.h>

#include <cstring>
#include <future>

namespace assay::app {

namespace {

problem is_stopping() {
  return {problem_kind::unavailable, "this assayd is being stopped", "blobs", "ask again later"};
}

/// Of memory, or of the work that it asks for.
std::size_t bytes_of(const blobs::message& what) {
  if (std::holds_alternative<blobs::want>(what))
    return limits::blob_page_bytes;
  const auto* page = std::get_if<blobs::page>(&what);
  return sizeof what + (page ? page->bytes.size() : 0);
}

/// Everybody who waits for this blob.
void tell_all(
  std::multimap<digest, blob_keeper::done>& waiting,
  const digest& blob,
  const std::optional<problem>& why
) {
  auto [first, last] = waiting.equal_range(blob);
  std::vector<blob_keeper::done> all;
  for (auto at = first; at != last; ++at)
    all.push_back(std::move(at->second));
  waiting.erase(first, last);
  for (const auto& one : all)
    one(why);
}

} // namespace

std::size_t blob_keeper::hash_of::operator()(const digest& d) const {
  std::size_t out = 0;
  std::memcpy(&out, d.bytes.data(), sizeof out);
  return out;
}

blob_keeper::blob_keeper(blob_keeper_options options)
  : options_{std::move(options)}, scrub_{*options_.blobs} {
  missing_ = options_.fetches_all ? 1 : 0;
  thread_ = std::thread{[this] {
    ::pthread_setname_np(::pthread_self(), "blobs");
    run();
  }};
}

void blob_keeper::stop() {
  {
    std::lock_guard hold{mutex_};
    if (is_ending_)
      return;
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// -- from other threads

/// False: it is over, or there is no room.
bool blob_keeper::post(event what) {
  {
    std::lock_guard hold{mutex_};
    auto& waiting = inbox_bytes_[what.from];
    if (is_ending_ || waiting + what.bytes > limits::blob_inbox_bytes)
      return false;
    waiting += what.bytes;
    inbox_.push_back(std::move(what));
  }
  changed_.notify_all();
  return true;
}

void blob_keeper::share(const digest& blob, std::uint64_t size, done then) {
  if (size > limits::blob_bytes)
    return then(problem{
      problem_kind::invalid,
      "a blob of " + std::to_string(size) + " bytes is too large to be kept",
      "blobs",
      "allowed are " + std::to_string(limits::blob_bytes)});
  auto is_taken = post({0, 0, [this, blob, size, then](steady_time now) {
                          sharing_.emplace(blob, then);
                          return exchange_.share(blob, size, now);
                        }});
  if (!is_taken)
    then(is_stopping());
}

void blob_keeper::fetch(const digest& blob, done then) {
  auto is_taken = post({0, 0, [this, blob, then](steady_time now) {
                          fetching_.emplace(blob, then);
                          return exchange_.fetch(blob, now);
                        }});
  if (!is_taken)
    then(is_stopping());
}

void blob_keeper::learn(std::shared_ptr<const ledger::tables> tables) {
  std::lock_guard hold{mutex_}; // The thread looks every now and then.
  tables_ = std::move(tables);
}

result<digest, problem> blob_keeper::keep(std::string_view bytes) {
  auto name = options_.blobs->put(bytes);
  if (!name)
    return name;
  auto promise = std::make_shared<std::promise<std::optional<problem>>>();
  share(*name, bytes.size(), [promise](const auto& why) { promise->set_value(why); });
  if (auto why = promise->get_future().get())
    return unexpected{*std::move(why)};
  return name;
}

result<std::string, blob_keeper::unread>
blob_keeper::read_here(const digest& blob, std::uint64_t bytes_max) const {
  auto got = options_.blobs->get(blob, bytes_max);
  if (got)
    return *std::move(got);
  auto size = options_.blobs->size(blob);
  auto is_damaged = got.error().kind == problem_kind::invalid && size && *size <= bytes_max;
  if (is_damaged)
    log::error("blob_damaged", {{"why", to_text(got.error())}});
  auto is_curable = is_damaged || got.error().kind == problem_kind::not_found;
  return unexpected{unread{got.error(), is_curable}};
}

result<std::string, problem> blob_keeper::get(const digest& blob, std::uint64_t bytes_max) {
  auto here = read_here(blob, bytes_max);
  if (here)
    return *std::move(here);
  if (!here.error().is_worth_a_fetch)
    return unexpected{here.error().why};
  auto promise = std::make_shared<std::promise<std::optional<problem>>>();
  fetch(blob, [promise](const auto& why) { promise->set_value(why); });
  if (auto why = promise->get_future().get())
    return unexpected{*std::move(why)};
  return options_.blobs->get(blob, bytes_max);
}

std::optional<blobs::message> blob_keeper::word_in(peers::message& said) {
  return std::visit(
    []<class Said>(Said& one) -> std::optional<blobs::message> {
      if constexpr (std::is_constructible_v<blobs::message, Said>)
        return blobs::message{std::move(one)};
      return std::nullopt;
    },
    said
  );
}

void blob_keeper::hear(std::uint64_t node, blobs::message what) {
  auto bytes = bytes_of(what);
  auto deed = [this, node, what = std::move(what)](steady_time now) {
    return std::visit(
      overloaded{
        [&](const blobs::offer& m) { return exchange_.hear(node, m, is_here(m.blob), now); },
        [&](const auto& m) { return exchange_.hear(node, m, now); },
      },
      what
    );
  };
  post({node, bytes, std::move(deed)});
}

void blob_keeper::reached(std::uint64_t node) {
  post({0, 0, [this, node](steady_time now) { return exchange_.reached(node, now); }});
}

void blob_keeper::lost(std::uint64_t node) {
  post({0, 0, [this, node](steady_time now) { return exchange_.lost(node, now); }});
}

std::uint64_t blob_keeper::missing() const {
  return missing_;
}

// -- the thread

void blob_keeper::run() {
  for (;;) {
    std::deque<event> taken;
    {
      std::unique_lock hold{mutex_};
      changed_.wait_for(hold, limits::blob_tick, [this] { return is_ending_ || !inbox_.empty(); });
      if (is_ending_)
        break;
      taken.swap(inbox_);
      inbox_bytes_.clear();
    }
    auto now = std::chrono::steady_clock::now();
    carry_out(exchange_.know(options_.standing(), now));
    for (auto& one : taken)
      carry_out(one.what(now));
    carry_out(exchange_.tick(now));
    look(now);
    read_again(now);
    ask_for_damaged(now);
  }
  turn_away();
}

/// Nothing is carried out any more; whoever waits, or came after the last turn, is told.
void blob_keeper::turn_away() {
  for (auto& one : inbox_)
    one.what({});
  for (auto* waiting : {&sharing_, &fetching_})
    while (!waiting->empty())
      tell_all(*waiting, digest{waiting->begin()->first}, is_stopping());
}

/// In order; what follows from one comes before the next.
void blob_keeper::carry_out(blobs::effects all) {
  std::deque<blobs::effect> left{
    std::make_move_iterator(all.begin()), std::make_move_iterator(all.end())};
  auto now = std::chrono::steady_clock::now();
  while (!left.empty()) {
    auto one = std::move(left.front());
    left.pop_front();
    auto more = std::visit([&](const auto& what) { return take(what, now); }, one);
    left.insert(
      left.begin(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end())
    );
  }
}

bool blob_keeper::is_here(const digest& blob) const {
  return options_.blobs->has(blob);
}

blobs::effects blob_keeper::take(const blobs::say& what, steady_time now) {
  auto said = std::visit([](const auto& m) { return peers::message{m}; }, what.what);
  auto outcome = options_.tell ? options_.tell(what.to, said) : peers::send_outcome::down;
  // A full outbox is no loss: it is said again.
  return outcome == peers::send_outcome::down ? exchange_.lost(what.to, now) : blobs::effects{};
}

blobs::effects blob_keeper::take(const blobs::give_page& what, steady_time now) {
  auto part = options_.blobs->read_part(what.what.blob, what.what.offset, limits::blob_page_bytes);
  blobs::page page{.blob = what.what.blob, .offset = what.what.offset};
  if (!part && part.error().kind != problem_kind::not_found)
    log::error("blob_not_given", {{"why", to_text(part.error())}});
  auto is_behind = part && what.what.offset > 0 && what.what.offset >= part->size;
  page.is_missing = !part || is_behind;
  if (!page.is_missing) {
    page.size = part->size;
    page.bytes = std::move(part->bytes);
  }
  return take(blobs::say{what.to, std::move(page)}, now);
}

blobs::effects blob_keeper::take(const blobs::begin_blob& what, steady_time now) {
  writers_.erase(what.blob);
  auto writer = options_.blobs->start();
  if (!writer)
    return not_stored(what.blob, writer.error(), now);
  writers_.emplace(what.blob, *std::move(writer));
  return {};
}

blobs::effects blob_keeper::take(const blobs::append_blob& what, steady_time now) {
  auto to = writers_.find(what.blob);
  if (to == writers_.end())
    return {}; // It could not be begun, and is over.
  auto done = to->second.write(what.bytes);
  return done ? blobs::effects{} : not_stored(what.blob, done.error(), now);
}

blobs::effects blob_keeper::take(const blobs::finish_blob& what, steady_time now) {
  auto to = writers_.extract(what.blob);
  if (!to)
    return {};
  auto done = to.mapped().finish(what.blob);
  if (done)
    return exchange_.stored(what.blob, now);
  if (done.error().kind != problem_kind::invalid)
    return not_stored(what.blob, done.error(), now);
  log::error(
    "blob_damaged_elsewhere", {{"node", std::to_string(what.from)}, {"why", to_text(done.error())}}
  );
  return exchange_.other_content(what.blob, now);
}

blobs::effects blob_keeper::not_stored(const digest& blob, const problem& why, steady_time now) {
  log::error("blob_not_stored", {{"blob", to_text(blob)}, {"why", to_text(why)}});
  auto told = why; // A folder that is not found is no word about the blob.
  if (told.kind != problem_kind::exhausted)
    told.kind = problem_kind::unavailable;
  return exchange_.not_stored(blob, told, now);
}

blobs::effects blob_keeper::take(const blobs::abandon_blob& what, steady_time) {
  writers_.erase(what.blob);
  return {};
}

blobs::effects blob_keeper::take(const blobs::share_settled& what, steady_time) {
  tell_all(sharing_, what.blob, what.why);
  return {};
}

blobs::effects blob_keeper::take(const blobs::fetch_ended& what, steady_time now) {
  if (what.why) {
    pauses_[what.blob] = now + limits::blob_look_again;
  } else {
    pauses_.erase(what.blob);
    std::lock_guard hold{mutex_};
    damaged_.erase(what.blob);
  }
  tell_all(fetching_, what.blob, what.why);
  return {};
}

/// For blobs that the ledger names and that are not here: after a fail-over there may be nobody
/// left who offers them.
void blob_keeper::look(steady_time now) {
  if (!options_.fetches_all || now < next_look_)
    return;
  auto tables = named();
  auto is_known = tables && looked_at_ && ledger::names_same_blobs(*tables, *looked_at_);
  if (!tables || (is_known && missing_ == 0))
    return;
  looked_at_ = tables;
  next_look_ = now + limits::blob_look_every;
  std::erase_if(pauses_, [&](const auto& one) { return one.second <= now; });
  std::uint64_t missing = 0;
  std::vector<digest> wanted;
  ledger::for_each_blob(*tables, [&](const digest& blob) {
    if (here_.contains(blob))
      return;
    if (is_here(blob)) {
      here_.insert(blob);
      return;
    }
    missing += 1;
    if (wanted.size() < limits::blobs_looked_for && !pauses_.contains(blob))
      wanted.push_back(blob);
  });
  missing_ = missing;
  for (const auto& blob : wanted)
    carry_out(exchange_.miss(blob, now));
}

} // namespace assay::app
