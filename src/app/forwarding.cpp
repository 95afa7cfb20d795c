#include "src/app/forwarding.hpp"

#include "src/base/peer_limits.hpp"

#include <boost/url/params_encoded_view.hpp>
#include <boost/url/parse_query.hpp>
#include <boost/url/url.hpp>

namespace assay::app {

namespace {

std::string text_of(const std::map<std::string, std::string>& query) {
  boost::urls::url all;
  for (const auto& [key, value] : query)
    all.params().append({key, value});
  return std::string{all.encoded_query()};
}

std::map<std::string, std::string> query_of(const std::string& text) {
  std::map<std::string, std::string> query;
  auto parsed = boost::urls::parse_query(text);
  if (parsed)
    for (const auto& param : boost::urls::params_encoded_view{*parsed})
      query[param.key.decode()] = param.value.decode();
  return query;
}

problem lost_answer() {
  return {
    problem_kind::unavailable,
    "the leader was asked and its answer is lost, outcome unknown",
    {},
    "look whether it was done, or ask again; with the same record_id it is done once"};
}

problem not_sent(peers::send_outcome why) {
  if (why == peers::send_outcome::invalid)
    return {
      problem_kind::invalid,
      "the request is too large to be passed on to the leader",
      {},
      "ask on the leader's machine; assay cluster status names it"};
  return {
    problem_kind::unavailable,
    why == peers::send_outcome::full ? "too much waits for the leader already"
                                     : "the leader cannot be reached from here",
    {},
    "ask again in a second"};
}

} // namespace

result<http::service_response, problem> forwarding::ask(
  std::uint64_t leader, const http::service_request& request, const ledger::author& author
) {
  peers::admin_ask what{
    .method = request.method,
    .path = request.path,
    .query = text_of(request.query),
    .body = request.body,
    .who = author.who,
    .how = static_cast<std::uint8_t>(author.how)};
  std::future<outcome> answer;
  {
    std::lock_guard hold{mutex_};
    what.number = ++asked_;
    auto& one = waiting_[what.number];
    one.node = leader;
    answer = one.answer.get_future();
  }
  if (auto sent = options_.tell(leader, what); sent != peers::send_outcome::queued)
    finish(what.number, unexpected{not_sent(sent)});
  if (answer.wait_for(limits::forward_patience) != std::future_status::ready)
    finish(what.number, unexpected{lost_answer()});
  return answer.get();
}

void forwarding::hear(std::uint64_t node, peers::admin_ask what) {
  serving_.run([this, node, what = std::move(what)] {
    http::service_request request{
      what.method, what.path, query_of(what.query), what.body, std::nullopt};
    auto how = static_cast<ledger::authentication>(what.how);
    auto got = options_.serve(request, {what.who, how});
    peers::admin_answer answer{
      what.number,
      static_cast<std::uint32_t>(got.status),
      std::move(got.content_type),
      std::move(got.body)};
    say(node, std::move(answer));
  });
}

void forwarding::say(std::uint64_t node, peers::admin_answer what) {
  auto sent = options_.tell(node, what);
  if (sent == peers::send_outcome::invalid) {
    what.status = 413;
    what.content_type = "application/json";
    what.body = R"({"error":{"kind":"refused","what":"the answer is too large to be passed on",)"
                R"("where":"","next":"ask on the leader's machine"}})";
    sent = options_.tell(node, what);
  }
  if (sent != peers::send_outcome::down)
    return;
  std::lock_guard hold{mutex_};
  auto& all = unsaid_[node];
  all.push_back(std::move(what));
  if (all.size() > limits::unsaid_answers)
    all.pop_front();
}

void forwarding::reached(std::uint64_t node) {
  std::unique_lock hold{mutex_};
  auto all = unsaid_.extract(node);
  hold.unlock();
  if (all)
    for (auto& one : all.mapped())
      say(node, std::move(one));
}

void forwarding::hear(std::uint64_t, peers::admin_answer what) {
  finish(
    what.number,
    http::service_response{
      static_cast<int>(what.status), std::move(what.content_type), std::move(what.body)}
  );
}

void forwarding::lost(std::uint64_t node) {
  std::vector<std::uint64_t> numbers;
  {
    std::lock_guard hold{mutex_};
    for (const auto& [number, one] : waiting_)
      if (one.node == node)
        numbers.push_back(number);
  }
  for (auto number : numbers)
    finish(number, unexpected{lost_answer()});
}

/// The first word counts; what comes for a number that is answered is late.
void forwarding::finish(std::uint64_t number, outcome what) {
  std::unique_lock hold{mutex_};
  auto found = waiting_.extract(number);
  hold.unlock();
  if (found)
    found.mapped().answer.set_value(std::move(what));
}

} // namespace assay::app
