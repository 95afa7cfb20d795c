#include "src/http/client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace assay::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

using answer = result<client_response, client_error>;

// For TCP and Unix sockets alike: Beast's templates take ten seconds of compiling a kind.
using any_stream = asio::generic::stream_protocol;
using stream_type = beast::basic_stream<any_stream, asio::any_io_executor>;

unexpected<client_error> failed(const boost::system::error_code& why, const char* phase) {
  auto text = std::string{phase} + ": " + why.message();
  if (why == beast::error::timeout)
    return unexpected{client_error{client_failure::timeout, std::string{phase} + " took too long"}};
  if (why == asio::error::connection_refused || why == boost::system::errc::no_such_file_or_directory)
    return unexpected{client_error{client_failure::refused, text}};
  if (why.category() == bhttp::make_error_code(bhttp::error::end_of_stream).category() && why != bhttp::error::end_of_stream && why != bhttp::error::partial_message)
    return unexpected{client_error{client_failure::malformed, text}};
  return unexpected{client_error{client_failure::cut, text}};
}

bhttp::request<bhttp::string_body>
compose(const client_address& address, const client_request& from) {
  bhttp::request<bhttp::string_body> request;
  request.version(11);
  request.method_string(from.method);
  request.target(from.target);
  request.set(bhttp::field::host, address.unix_path.empty() ? to_text(address) : "localhost");
  request.set(bhttp::field::connection, "close");
  for (const auto& [name, value] : from.headers)
    request.set(name, value);
  request.body() = from.body;
  request.prepare_payload();
  return request;
}

client_response head_of(const bhttp::response_parser<bhttp::buffer_body>& parser) {
  client_response response;
  response.status = parser.get().result_int();
  for (const auto& field : parser.get()) {
    std::string name{field.name_string()};
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    response.headers.emplace_back(std::move(name), std::string{field.value()});
  }
  return response;
}

/// Reads the body piece by piece into `response` or `on_data`.
asio::awaitable<std::optional<client_error>> read_body(
  stream_type& stream,
  beast::flat_buffer& buffer,
  bhttp::response_parser<bhttp::buffer_body>& parser,
  const client_limits& limits,
  const data_sink& on_data,
  client_response& response
) {
  char piece[16 << 10];
  std::size_t total = 0;
  while (!parser.is_done()) {
    parser.get().body().data = piece;
    parser.get().body().size = sizeof piece;
    stream.expires_after(limits.gap);
    auto [why, count] = co_await bhttp::async_read_some(stream, buffer, parser, as_result);
    if (why == bhttp::error::need_buffer)
      why = {};
    auto got = std::string_view{piece, sizeof piece - parser.get().body().size};
    total += got.size();
    if (total > limits.body_bytes)
      co_return client_error{
        client_failure::too_large,
        "the answer has over " + std::to_string(limits.body_bytes) + " bytes"};
    if (on_data && response.status == 200) {
      if (!got.empty() && !on_data(got))
        co_return client_error{client_failure::cancelled, "cancelled by the caller"};
    } else {
      response.body += got;
    }
    if (why)
      co_return failed(why, "reading the answer").error;
  }
  co_return std::nullopt;
}

asio::awaitable<answer> run(
  any_stream::endpoint endpoint,
  const client_address& address,
  const client_request& from,
  const client_limits& limits,
  const data_sink& on_data
) {
  stream_type stream{co_await asio::this_coro::executor};
  stream.expires_after(limits.connect);
  if (auto [why] = co_await stream.async_connect(endpoint, as_result); why)
    co_return failed(why, "connecting");
  auto request = compose(address, from);
  stream.expires_after(limits.first_byte);
  auto [unsent, sent] = co_await bhttp::async_write(stream, request, as_result);
  // A server that refuses by the head may answer and close before it has read all of the body.
  bhttp::response_parser<bhttp::buffer_body> parser;
  parser.body_limit(boost::none);
  parser.header_limit(64 << 10);
  if (from.method == "HEAD")
    parser.skip(true);
  beast::flat_buffer buffer;
  stream.expires_after(limits.first_byte);
  auto [unread, count] = co_await bhttp::async_read_header(stream, buffer, parser, as_result);
  if (unread)
    co_return failed(
      unsent ? unsent : unread, unsent ? "sending the request" : "waiting for the answer"
    );
  auto response = head_of(parser);
  if (auto why = co_await read_body(stream, buffer, parser, limits, on_data, response))
    co_return unexpected{*why};
  co_return response;
}

/// Runs `task` to its end on this thread.
answer finish(asio::io_context& context, asio::awaitable<answer> task) {
  std::optional<answer> got;
  auto keep = [](asio::awaitable<answer> from, std::optional<answer>& to) -> asio::awaitable<void> {
    to = co_await std::move(from);
  };
  // What a caller's sink throws, or a failed allocation, ends the exchange and nothing else.
  asio::co_spawn(context, keep(std::move(task), got), [](std::exception_ptr) {});
  context.run();
  if (!got)
    return unexpected{client_error{client_failure::cut, "the exchange ended without an answer"}};
  return std::move(*got);
}

} // namespace

std::string to_text(const client_address& a) {
  if (!a.unix_path.empty())
    return "unix:" + a.unix_path;
  return (a.host.find(':') == std::string::npos ? a.host : "[" + a.host + "]") + ":"
         + std::to_string(a.port);
}

result<client_address, std::string> parse_client_address(std::string_view text) {
  const std::string whole{text};
  if (text.starts_with("unix:"))
    return client_address{.unix_path = std::string{text.substr(5)}};
  std::uint16_t port = 0;
  if (text.starts_with("http://")) {
    text.remove_prefix(7);
    port = 80;
  }
  text = text.substr(0, text.find('/'));
  auto colon = text.rfind(':');
  if (colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
    auto digits = text.substr(colon + 1);
    auto [end, why] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (why != std::errc{} || end != digits.data() + digits.size())
      return unexpected{"'" + whole + "' has no port number after its last colon"};
    text = text.substr(0, colon);
  }
  if (text.starts_with('[') && text.ends_with(']'))
    text = text.substr(1, text.size() - 2);
  boost::system::error_code bad;
  auto host = text == "localhost" ? std::string{"127.0.0.1"} : std::string{text};
  asio::ip::make_address(host, bad);
  if (bad || port == 0)
    return unexpected{
      "'" + whole
      + "' is not an address; allowed: http://IP:PORT, IP:PORT, localhost:PORT, unix:PATH"};
  return client_address{.host = host, .port = port};
}

std::string_view client_response::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name)
      return value;
  return {};
}

answer exchange(
  const client_address& address,
  const client_request& request,
  const client_limits& limits,
  const data_sink& on_data
) {
  asio::io_context context{1};
  if (!address.unix_path.empty()) {
    using unix_stream = asio::local::stream_protocol;
    if (address.unix_path.size() > 100)
      return unexpected{client_error{
        client_failure::refused, "the socket's path has over 100 bytes: " + address.unix_path}};
    return finish(
      context, run(unix_stream::endpoint{address.unix_path}, address, request, limits, on_data)
    );
  }
  boost::system::error_code bad;
  auto ip = asio::ip::make_address(address.host, bad);
  if (bad)
    return unexpected{
      client_error{client_failure::refused, "'" + address.host + "' is not an IP address"}};
  asio::ip::tcp::endpoint endpoint{ip, address.port};
  return finish(context, run(endpoint, address, request, limits, on_data));
}

} // namespace assay::http
