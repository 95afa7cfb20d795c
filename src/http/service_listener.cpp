#include "src/http/service_listener.hpp"

#include "src/base/log.hpp"
#include "src/http/service_guests.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/url/parse.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace assay::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;
using unix_stream = asio::local::stream_protocol;
// Both kinds of socket are served as this one: Beast's templates take ten seconds of compiling a
// kind.
using any_stream = asio::generic::stream_protocol;
using any_acceptor = asio::basic_socket_acceptor<any_stream>;

constexpr std::chrono::milliseconds accept_pause{100};
constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

using wire_request = bhttp::request_parser<bhttp::string_body>;
using wire_response = bhttp::response<bhttp::string_body>;

/// Of a Unix socket's peer only: on TCP the kernel answers too, and with nonsense.
std::optional<std::uint32_t> uid_of(any_stream::socket& socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
    return {};
  return who.uid;
}

/// Nothing when the target is not a path that we could answer.
std::optional<service_request> read(const bhttp::request<bhttp::string_body>& from) {
  auto url =
    boost::urls::parse_origin_form(std::string_view{from.target().data(), from.target().size()});
  if (!url)
    return {};
  service_request request{std::string{from.method_string()}, url->path(), {}, from.body(), {}};
  for (const auto& parameter : url->params())
    request.query[parameter.key] = parameter.value;
  return request;
}

wire_response compose(service_response from, bool keep_alive) {
  wire_response response{static_cast<bhttp::status>(from.status), 11};
  response.set(bhttp::field::content_type, from.content_type);
  response.keep_alive(keep_alive);
  response.body() = std::move(from.body);
  response.prepare_payload();
  return response;
}

constexpr auto bad_target =
  R"({"error":{"kind":"invalid","what":"the request target is not a path","where":"","next":""}})";
constexpr auto malformed =
  R"({"error":{"kind":"invalid","what":"this is no HTTP/1.1 request","where":"","next":"send a request line, header fields and a blank line"}})";
constexpr auto no_room =
  R"({"error":{"kind":"unavailable","what":"too many large bodies are in memory here","where":"","next":"try again in a second, or send and ask for less at a time"}})";
constexpr auto too_large =
  R"({"error":{"kind":"invalid","what":"the request body is too large","where":"","next":"send less at a time"}})";

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& why) {
    return why.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

using peer_stream = beast::basic_stream<any_stream, asio::any_io_executor>;

/// What all connections of a listener share.
struct house {
  const service_options& options;
  const service_handler& handler;
  guest_list<peer_stream> guests;
  byte_budget bytes;
};
using guest = guest_list<peer_stream>::place;

asio::awaitable<bool> send_whole(
  peer_stream& stream,
  std::chrono::milliseconds idle,
  service_response answer,
  bool keep_alive,
  bool is_head
) {
  auto response = compose(std::move(answer), keep_alive);
  if (is_head)
    response.body().clear();
  stream.expires_after(idle);
  auto [unsent, sent] = co_await bhttp::async_write(stream, response, as_result);
  co_return !unsent;
}

/// In chunks. The next one is made when the client has taken the one before.
asio::awaitable<bool> send_pieces(
  peer_stream& stream,
  std::chrono::milliseconds idle,
  const service_response& answer,
  bool keep_alive
) {
  bhttp::response<bhttp::empty_body> head{static_cast<bhttp::status>(answer.status), 11};
  head.set(bhttp::field::content_type, answer.content_type);
  head.keep_alive(keep_alive);
  head.chunked(true);
  bhttp::response_serializer<bhttp::empty_body> serializer{head};
  stream.expires_after(idle);
  if (auto [unsent, sent] = co_await bhttp::async_write_header(stream, serializer, as_result);
      unsent)
    co_return false;
  for (;;) {
    auto piece = answer.next_piece();
    if (!piece)
      co_return false;
    stream.expires_after(idle);
    if (piece->empty()) {
      auto [unsent, sent] = co_await asio::async_write(stream, bhttp::make_chunk_last(), as_result);
      co_return !unsent;
    }
    auto [unsent, sent] =
      co_await asio::async_write(stream, bhttp::make_chunk(asio::buffer(*piece)), as_result);
    if (unsent)
      co_return false;
  }
}

/// What a body may need: its length, or, when that is not said, as much as any may have.
std::uint64_t bytes_of(const wire_request& parser, const service_options& options) {
  if (auto length = parser.content_length())
    return *length;
  return parser.chunked() ? options.body_bytes : 0;
}

bool is_from_parser(const boost::system::error_code& why) {
  return why.category() == bhttp::make_error_code(bhttp::error::end_of_stream).category();
}

bool is_gone(const boost::system::error_code& why) {
  return why == bhttp::error::end_of_stream || why == bhttp::error::partial_message
         || (why && !is_from_parser(why));
}

/// A request as it was read, or what to answer instead.
struct heard {
  std::optional<service_request> request;
  service_response refusal;
  byte_budget::share room; ///< For its body.
  bool keep_alive = false;
  bool is_head = false;
  bool is_whole = false; ///< Else there may be more to read of it.
};

/// Nothing: the peer left, or the connection did, and nobody is there to be answered.
asio::awaitable<std::optional<heard>>
hear(peer_stream& stream, beast::flat_buffer& buffer, house& in) {
  wire_request parser;
  parser.body_limit(in.options.body_bytes);
  stream.expires_after(in.options.idle);
  auto [bad_head, head] = co_await bhttp::async_read_header(stream, buffer, parser, as_result);
  if (is_gone(bad_head))
    co_return std::nullopt;
  heard h;
  h.is_head = parser.get().method() == bhttp::verb::head;
  auto why = bad_head;
  if (!why) {
    auto room = in.bytes.take(bytes_of(parser, in.options));
    if (!room) {
      h.refusal = {503, "application/json", no_room, {}};
      co_return h;
    }
    h.room = std::move(*room);
    auto [bad_body, body] = co_await bhttp::async_read(stream, buffer, parser, as_result);
    if (is_gone(bad_body))
      co_return std::nullopt;
    why = bad_body;
  }
  if (why) {
    auto is_large = why == bhttp::error::body_limit;
    h.refusal = {is_large ? 413 : 400, "application/json", is_large ? too_large : malformed, {}};
    co_return h;
  }
  h.is_whole = true;
  h.keep_alive = parser.get().keep_alive();
  h.request = read(parser.get());
  h.refusal = {400, "application/json", bad_target, {}};
  co_return h;
}

/// Closing with bytes unread would reset the connection, and the refusal be lost on its way.
asio::awaitable<void> linger(peer_stream& stream) {
  boost::system::error_code ignored; // Whether the peer is still there shows below.
  stream.socket().shutdown(asio::socket_base::shutdown_send, ignored);
  stream.expires_after(limits::linger_time);
  std::vector<char> piece(64 << 10);
  for (std::size_t left = limits::service_body_bytes; left > 0;) {
    auto [why, count] = co_await stream.async_read_some(asio::buffer(piece), as_result);
    if (why)
      co_return;
    left -= std::min(left, count);
  }
}

asio::awaitable<void> serve(any_stream::socket socket, house& in, guest me) {
  auto uid = in.options.unix_path.empty() ? std::nullopt : uid_of(socket);
  peer_stream stream{std::move(socket)};
  me->stream = &stream;
  struct farewell {
    house& from;
    const guest& who;
    ~farewell() { from.guests.leave(who); }
  } when_ended{in, me};
  beast::flat_buffer buffer;
  for (bool keep_alive = true; keep_alive;) {
    if (!in.guests.note(me, true))
      break;
    auto h = co_await hear(stream, buffer, in);
    if (!h || !in.guests.note(me, false))
      break;
    keep_alive = h->keep_alive;
    auto answer = std::move(h->refusal);
    if (h->request) {
      h->request->peer_uid = uid;
      answer = in.handler(*h->request);
      h->request.reset();
      h->room = {};
    }
    auto room = in.bytes.take(answer.body.size());
    if (!room)
      answer = {503, "application/json", no_room, {}};
    bool is_sent = false;
    if (answer.next_piece && !h->is_head)
      is_sent = co_await send_pieces(stream, in.options.idle, answer, keep_alive);
    else
      is_sent =
        co_await send_whole(stream, in.options.idle, std::move(answer), keep_alive, h->is_head);
    if (!is_sent)
      break;
    if (!h->is_whole)
      co_await linger(stream);
  }
  boost::system::error_code ignored; // The connection ends either way.
  stream.socket().shutdown(asio::socket_base::shutdown_both, ignored);
}

} // namespace

class service_listener::implementation {
public:
  implementation(service_options options, service_handler handler)
    : options_{std::move(options)}, handler_{std::move(handler)} {}

  ~implementation() {
    context_.stop();
    for (auto& thread : threads_)
      thread.join();
    house_.guests.forget_all(); // Their strands belong to the context.
    if (!options_.unix_path.empty())
      ::unlink(options_.unix_path.c_str());
  }

  result<void, problem> open() {
    try {
      if (options_.unix_path.empty())
        open_tcp();
      else
        open_unix();
    } catch (const boost::system::system_error& why) {
      return unexpected{cannot_listen(why.code().message())};
    }
    for (unsigned i = 0; i < options_.threads; ++i)
      threads_.emplace_back([this] { context_.run(); });
    return {};
  }

  std::uint16_t port() const { return port_; }

private:
  problem cannot_listen(const std::string& why) const {
    auto is_tcp = options_.unix_path.empty();
    return {
      problem_kind::unavailable,
      "cannot listen: " + why,
      is_tcp ? options_.host + ":" + std::to_string(options_.port) : options_.unix_path,
      is_tcp ? "stop what listens there (ss -ltnp), or choose another address"
             : "see that the folder is there and may be written to"};
  }

  void open_tcp() {
    tcp::endpoint endpoint{asio::ip::make_address(options_.host), options_.port};
    tcp::acceptor acceptor{context_, endpoint};
    port_ = acceptor.local_endpoint().port();
    asio::co_spawn(context_, accept(std::move(acceptor)), asio::detached);
  }

  void open_unix() {
    ::unlink(options_.unix_path.c_str());
    unix_stream::endpoint endpoint{options_.unix_path};
    unix_stream::acceptor acceptor{context_, endpoint.protocol()};
    // Before bind, which makes the file with the socket's mode (unix(7)): between bind and a later
    // chmod anybody could connect.
    if (::fchmod(acceptor.native_handle(), 0600) != 0)
      throw boost::system::system_error{errno, boost::system::system_category()};
    acceptor.bind(endpoint);
    acceptor.listen();
    asio::co_spawn(context_, accept(std::move(acceptor)), asio::detached);
  }

  asio::awaitable<void> accept(any_acceptor acceptor) {
    while (true) {
      asio::any_io_executor strand{asio::make_strand(context_)};
      auto [why, socket] = co_await acceptor.async_accept(strand, as_result);
      if (why == asio::error::operation_aborted)
        co_return;
      // Out of descriptors: without a pause this would ask for ever and get the same answer.
      if (why && why != asio::error::connection_aborted) {
        asio::steady_timer pause{context_, accept_pause};
        co_await pause.async_wait(as_result);
      }
      if (why)
        continue;
      auto place = house_.guests.admit(socket.get_executor());
      if (!place)
        continue;
      asio::co_spawn(
        socket.get_executor(),
        serve(std::move(socket), house_, place),
        [](std::exception_ptr thrown) {
          if (thrown)
            log::error("service_handler_threw", {{"why", text_of(thrown)}});
        }
      );
    }
  }

  const service_options options_;
  const service_handler handler_;
  house house_{
    options_,
    handler_,
    guest_list<peer_stream>{options_.connections},
    byte_budget{options_.bodies_bytes}};
  asio::io_context context_;
  std::uint16_t port_ = 0;
  std::vector<std::thread> threads_;
};

service_listener::service_listener(std::unique_ptr<implementation> i)
  : implementation_{std::move(i)} {}

service_listener::~service_listener() = default;

std::uint16_t service_listener::port() const {
  return implementation_->port();
}

result<std::unique_ptr<service_listener>, problem>
service_listener::open(service_options options, service_handler handler) {
  auto made = std::make_unique<implementation>(std::move(options), std::move(handler));
  if (auto opened = made->open(); !opened)
    return unexpected{opened.error()};
  return std::unique_ptr<service_listener>{new service_listener{std::move(made)}};
}

} // namespace assay::http
