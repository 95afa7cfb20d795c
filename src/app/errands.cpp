#include "src/app/errands.hpp"

#include "src/base/limits.hpp"
#include "src/http/sse.hpp"

#include <chrono>

namespace assay::app {

namespace {

using clock = std::chrono::steady_clock;

constexpr auto no_ingress = "no ingress of this cluster can be reached";

std::uint32_t ms_since(clock::time_point begun) {
  auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begun);
  return static_cast<std::uint32_t>(passed.count());
}

/// Collects a stream's bytes, and notes when the first byte and the first content came.
class stream_watch {
public:
  stream_watch(clock::time_point begun, bool leave_at_content)
    : begun_{begun}, leave_at_content_{leave_at_content} {}

  bool take(std::string_view piece) {
    if (answer_.times.first_byte_ms == 0)
      answer_.times.first_byte_ms = ms_since(begun_);
    answer_.body += piece;
    window_ += piece;
    window_.erase(0, observer_.release(window_));
    if (!observer_.facts().content)
      return true;
    if (answer_.times.first_content_ms == 0)
      answer_.times.first_content_ms = ms_since(begun_);
    answer_.left = leave_at_content_;
    return !leave_at_content_;
  }

  qualification::answer& answer() { return answer_; }

private:
  clock::time_point begun_;
  bool leave_at_content_;
  http::answer_reader reader_;
  http::sse_observer observer_{reader_};
  std::string window_;
  qualification::answer answer_;
};

qualification::run_event run(
  const http::client_address& ingress,
  const http::client_request& request,
  const qualification::ask& what
) {
  auto begun = clock::now();
  stream_watch watch{begun, what.leave_at_first_content};
  auto sink = [&](std::string_view piece) { return watch.take(piece); };
  http::client_limits limits{.first_byte = what.deadline, .gap = what.deadline};
  auto got = http::exchange(
    ingress, request, limits, what.streaming ? http::data_sink{sink} : http::data_sink{}
  );
  auto answer = std::move(watch.answer());
  answer.times.total_ms = ms_since(begun);
  if (got) {
    answer.status = got->status;
    // A refusal of a streamed ask comes in one piece, which the sink did not get.
    if (!got->body.empty())
      answer.body = std::move(got->body);
    return qualification::answered{what.number, std::move(answer)};
  }
  if (answer.left) {
    answer.status = 200;
    return qualification::answered{what.number, std::move(answer)};
  }
  return qualification::not_answered{what.number, got.error().text};
}

} // namespace

errands::errands(door ingress, errand_keys keys, store::blob_store& blobs, blob_keeper& keeper)
  : ingress_{std::move(ingress)}, keys_{std::move(keys)}, blobs_{&blobs}, keeper_{&keeper},
    evaluating_{limits::evaluation_threads},
    dispatching_{limits::dispatch_threads}, disk_{limits::blob_threads} {}

void errands::evaluate(
  const qualification::ask& what,
  const ask_target& where,
  std::function<void(qualification::run_event)> done
) {
  http::client_request request{"POST", what.path, {}, what.body};
  request.headers = {
    {"Content-Type", "application/json"},
    {"Authorization", "Bearer " + keys_.evaluator},
    {"x-assay-pin", where.implementation.value},
    {"x-assay-pin-fingerprint", to_text(where.fingerprint)},
  };
  evaluating_.run([ingress = ingress_, request, what, done] {
    auto at = ingress();
    done(at ? run(*at, request, what) : qualification::not_answered{what.number, no_ingress});
  });
}

void errands::request(const jobs::request& what, std::function<void(item_answered)> done) {
  http::client_request request{"POST", what.path, {}, what.body};
  request.headers = {
    {"Content-Type", "application/json"}, {"Authorization", "Bearer " + keys_.dispatcher}};
  dispatching_.run([ingress = ingress_, request, done] {
    http::client_limits limits{
      .first_byte = limits::first_byte_timeout, .gap = limits::gap_timeout};
    item_answered answer;
    auto at = ingress();
    if (!at) {
      answer.body = no_ingress;
      return done(std::move(answer));
    }
    auto got = http::exchange(*at, request, limits);
    answer.status = got ? got->status : 0;
    answer.body = got ? got->body : got.error().text;
    if (got)
      answer.request_id = std::string{got->header("x-request-id")};
    done(std::move(answer));
  });
}

void errands::keep(std::string bytes, std::function<void(result<digest, problem>)> done) {
  disk_.run([this, bytes = std::move(bytes), done] {
    auto name = blobs_->put(bytes);
    if (!name)
      return done(std::move(name));
    keeper_->share(*name, bytes.size(), [name, done](const std::optional<problem>& why) {
      done(why ? result<digest, problem>{unexpected{*why}} : name);
    });
  });
}

void errands::read(const digest& blob, std::function<void(result<std::string, problem>)> done) {
  disk_.run([this, blob, done] {
    auto here = keeper_->read_here(blob, limits::job_bytes);
    if (here)
      return done(*std::move(here));
    if (!here.error().is_worth_a_fetch)
      return done(unexpected{here.error().why});
    keeper_->fetch(blob, [this, blob, done](const std::optional<problem>& why) {
      if (why)
        return done(unexpected{*why});
      disk_.run([this, blob, done] { done(blobs_->get(blob, limits::job_bytes)); });
    });
  });
}

} // namespace assay::app
