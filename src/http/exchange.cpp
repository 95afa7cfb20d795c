#include "src/http/exchange.hpp"

#include <algorithm>

namespace assay::http {

using contract::failure;

exchange::exchange(connection& client)
  : client_{client}, lane_{client.owner()}, began_{std::chrono::steady_clock::now()},
    until_{began_ + client.owner().options().limits.total}, budget_{
                                                              client.owner().common().bodies} {
  outcome_.began = lane_.options().clock->now();
}

exchange::~exchange() {
  client_.guard(nullptr);
  lane_.give_buffer(std::move(buffer_));
  if (!reported_)
    finish(routing::ending::client_gone, 499);
}

task<bool> exchange::run() {
  count(lane_.common().requests);
  used_ = head().bytes;
  auto given = find_field(bytes(), head(), field_kind::request_id);
  request_id_ = is_sane_request_id(given) ? std::string{given} : lane_.new_request_id();
  auto choice = choose_door(head().method.of(bytes()), head().path.of(bytes()), head().upgrades);
  std::optional<refusal> bad;
  if (choice) {
    bad = check_head(*choice);
  } else {
    bad = choice.error();
    operation_ = contract::find_operation(head().path.of(bytes())).value_or(operation_);
  }
  if (!bad && choice->door != door::inference) {
    bool stays = co_await answer_models(*choice);
    co_return stays;
  }
  if (!bad) {
    bool taken = co_await take_body();
    if (taken)
      bad = read_shape();
    else
      bad = refusal_;
  }
  bool goes_on = !bad;
  if (bad)
    refusal_ = *std::move(bad);
  if (goes_on)
    goes_on = co_await decide();
  if (goes_on)
    goes_on = co_await ask_replicas();
  bool stays = false;
  if (goes_on)
    stays = co_await answer();
  else
    stays = co_await refuse();
  client_.allow_comments({});
  co_return stays;
}

/// Nothing is sent again from here on: a stream does not keep its request's body.
void exchange::drop_body() {
  large_.reset();
  budget_.release();
}

bool exchange::shows_metadata() const {
  return outcome_.traffic == contract::traffic_class::evaluation || !decision_.model
         || decision_.model->promises.expose_metadata;
}

bool exchange::keeps() const {
  return head().keep_alive && body_taken_ && !client_.draining() && !client_.gone();
}

task<bool> exchange::refuse() {
  drop_link();
  drop_body();
  decision_.reservation.release();
  if (client_.gone()) {
    finish(routing::ending::client_gone, 499);
    co_return false;
  }
  // What has arrived whole is passed over; the rest of a body is not waited for.
  auto whole = head().bytes + head().content_length;
  if (!body_taken_ && head().framing != body_framing::chunked && bytes().size() >= whole) {
    used_ = static_cast<std::size_t>(whole);
    body_taken_ = true;
  }
  auto stays = keeps() && !closes(refusal_);
  auto status = contract::status_of(refusal_.failure, family());
  count(lane_.common().refused);
  outcome_.failure = refusal_.failure;
  auto shown = shows_metadata() ? std::string_view{outcome_.decision.value} : std::string_view{};
  auto text = write_refusal(refusal_, {request_id_, stays, head().minor, shown, family()});
  if (head().method.of(bytes()) == "HEAD")
    text.resize(text.find("\r\n\r\n") + 4); // RFC 9110, 9.3.2: the head alone.
  auto upstream_failed = refusal_.failure == failure::upstream_error
                         || refusal_.failure == failure::upstream_disconnected
                         || refusal_.failure == failure::upstream_timeout;
  finish(upstream_failed ? routing::ending::failed : routing::ending::refused, status);
  bool sent = co_await client_.send(text);
  co_return sent&& stays;
}

task<bool> exchange::answer_models(const door_choice& choice) {
  const auto& key = *snapshot_->find_key(key_digest_);
  std::string json;
  if (choice.door == door::models) {
    json = list_models(*snapshot_, key);
  } else if (auto shown = show_model(*snapshot_, key, choice.name)) {
    json = *std::move(shown);
  } else {
    refusal_ = {
      failure::model_not_found,
      "no model '" + choice.name.substr(0, 2 * limits::name_bytes)
        + "' for this key; GET /v1/models lists them",
      "model",
      0,
      {}};
    bool stays = co_await refuse();
    co_return stays;
  }
  body_taken_ = head().framing != body_framing::chunked && head().content_length == 0;
  auto stays = keeps();
  auto text = write_document(json, {request_id_, stays, head().minor, {}});
  reported_ = true; // Looking at the list is no traffic of any model.
  bool sent = co_await client_.send(text);
  co_return sent&& stays;
}

void exchange::finish(routing::ending how, int status) {
  reported_ = true;
  if (how == routing::ending::client_gone)
    count(lane_.common().client_gone);
  outcome_.how = how;
  outcome_.status = status;
  outcome_.total = std::chrono::duration_cast<std::chrono::microseconds>(
    std::chrono::steady_clock::now() - began_
  );
  lane_.ring.close(position_, outcome_);
  lane_.report(std::move(outcome_));
}

} // namespace assay::http
