#pragma once
// One request from its head to its outcome: who asks, what for, where to, and the answer's way
// back.
//
// In this order: key, framing of the body, room for the body, body, shape, route, attempts, answer.
// The first thing that refuses is answered in the error table's words. Once a byte of a replica's
// answer has left, nothing is tried again; an answer that breaks off afterwards ends as a failure,
// never as if it were whole.

#include "src/http/chunked.hpp"
#include "src/http/connection.hpp"
#include "src/http/front_doors.hpp"
#include "src/http/head.hpp"
#include "src/routing/route.hpp"

#include <optional>
#include <string>
#include <vector>

namespace assay::http {

class exchange {
public:
  explicit exchange(connection& client);
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  ~exchange();

  /// True: the connection may serve its next request.
  task<bool> run();

  /// Of the request just served, in the connection's buffer.
  std::size_t request_bytes() const { return used_; }

private:
  // -- the request (exchange_request.cpp) ---------------------------------------------------------
  std::optional<refusal> check_head(const door_choice& wanted);
  std::optional<refusal> check_length() const;
  std::optional<refusal> identify();
  std::optional<refusal> take_pin();
  bool admit_body();
  task<bool> take_body();
  task<bool> take_sized_body(std::size_t size);
  task<bool> take_large_body(std::size_t size);
  task<bool> take_chunked_body();
  task<bool> wait_for_body();
  task<bool> say_continue();
  bool grow_body(std::size_t wanted);
  bool hold_memory(std::size_t bytes);
  std::optional<refusal> read_shape();
  bool fail(contract::failure failure, std::string message);

  // -- the decision (exchange_route.cpp) ----------------------------------------------------------
  routing::query query() const;
  task<bool> decide();
  task<bool> wait_for_turn();
  task<void> await_word(steady_time deadline);
  bool may_open() const;
  task<bool> open_stream();
  bool claim(const pool::endpoint_key& where);
  bool refuse_ticket(const ticket_refused& why);
  bool take_refusal();
  void remember();
  void chosen();
  bool choose_again(attempt_end end);

  // -- attempts (exchange_attempt.cpp) ------------------------------------------------------------
  task<bool> ask_replicas();
  task<attempt_end> attempt(bool fresh);
  task<attempt_end> connect();
  task<attempt_end> send_request();
  task<attempt_end> read_answer_head();
  void await_answer();
  bool has_begun() const;
  std::string why_late() const;
  tcp_socket::readiness more();
  attempt_end read_more();
  task<attempt_end> collect_body(std::size_t most);
  void drop_link();
  void keep_link();
  void begin_work();
  void note_attempt(attempt_end end);
  std::chrono::seconds asked_to_wait() const;
  void explain_failure(attempt_end end);

  // -- the answer (exchange_answer.cpp) -----------------------------------------------------------
  task<bool> answer();
  task<bool> answer_collected();
  task<bool> answer_streamed();
  enum class pump : std::uint8_t { more, complete, broken };
  pump take_payload();
  task<bool> forward();
  task<bool> send_window(std::size_t size, bool last);
  void finish_gone();
  task<bool> finish_stream(bool complete);
  task<bool> end_with_error(contract::failure failure, std::string_view message);
  task<bool> end_opened(contract::failure failure, std::string_view message);
  answer_terms terms(body_framing framing, std::uint64_t length);
  void note_facts();
  void note_end();

  void drop_body();
  task<bool> refuse();
  task<bool> answer_models(const door_choice& choice);
  void finish(routing::ending how, int status);
  contract::api_family family() const { return contract::describe(operation_).family; }
  bool shows_metadata() const;
  bool keeps() const;

  std::string_view bytes() const { return client_.bytes(); }
  const request_head& head() const { return client_.head(); }
  std::string_view body() const;

  connection& client_;
  lane& lane_;
  std::size_t used_ = 0;
  bool body_taken_ = false; ///< Nothing of this request is left unread.
  refusal refusal_;
  std::string request_id_;
  steady_time began_;
  steady_time until_;
  routing::outcome outcome_;
  bool reported_ = false;

  // the caller
  std::shared_ptr<const routing::routing_snapshot> snapshot_;
  digest key_digest_;
  routing::caller caller_;
  std::string pin_;
  std::optional<digest> pin_fingerprint_;

  // the body
  contract::operation operation_ = contract::operation::chat_completions;
  body_budget budget_;
  std::unique_ptr<char[]> large_; ///< A body that does not lie in the connection's buffer.
  std::size_t large_room_ = 0;
  std::size_t large_size_ = 0;
  scanned_body scan_;

  // the decision
  routing::decision decision_;
  std::uint64_t position_ = 0;
  std::uint64_t chance_ = 0;
  std::uint64_t ticket_ = 0;
  std::vector<pool::endpoint_key> tried_;
  retry_history history_;

  // the attempt
  std::shared_ptr<pool::endpoint_counters> endpoint_;
  std::unique_ptr<upstream_link> link_;
  steady_time sent_{};    ///< When the replica had the whole request.
  pool::request_at work_; ///< From then on, until its answer's end.
  std::string upstream_head_;
  std::unique_ptr<char[]> buffer_;
  std::size_t got_ = 0; ///< Bytes in `buffer_`.
  std::size_t at_ = 0;  ///< Of them taken.
  bool ended_ = false;  ///< The replica closed its side.
  response_reader response_;
  std::string response_text_; ///< The bytes of its head.
  bool has_answer_ = false;   ///< `response_` is a whole head.
  bool whole_ = false;        ///< The body lies in `collected_`.
  std::string collected_;

  // the answer
  answer_metadata metadata_;
  std::string answer_head_;
  chunked_decoder chunks_;
  std::uint64_t left_ = 0;
  std::string window_; ///< Payload that is not sent yet.
  std::optional<sse_observer> observer_;
  body_framing out_ = body_framing::sized;
  bool head_sent_ = false;
  bool opened_ = false; ///< The head is ours, sent while the request still waited.
};

} // namespace assay::http
