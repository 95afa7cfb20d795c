#pragma once
// An application of the tests: writes the bytes it is told, reads the bytes that come.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::tests {

class raw_client {
public:
  explicit raw_client(std::uint16_t port, int receive_buffer_bytes = 0);
  ~raw_client() { close(); }
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  void send(std::string_view bytes);
  /// Sends in pieces of one byte, each in a packet of its own.
  void send_slowly(std::string_view bytes);

  /// Reads until `held()` has the text, from `from` on. False: end of file or the limit came first.
  bool read_until(std::string_view text, std::size_t from = 0);
  /// Reads until the end of the connection.
  std::string read_all();
  /// Reads one answer with Content-Length, or chunked to its end, and takes it out of `held()`.
  std::string read_answer();

  bool is_closed() const { return closed_; } ///< The server's end has been seen.
  const std::string& held() const { return held_; }

  void close();
  void reset();
  void finish_sending(); ///< Half-close.

private:
  bool fill();

  int socket_ = -1;
  bool closed_ = false;
  std::string held_;
  std::chrono::milliseconds limit_{10'000};
};

int status_of(std::string_view answer);
std::string_view body_of(std::string_view answer);
/// The chunks of a chunked body joined; what follows the last whole chunk is left out.
std::string dechunked(std::string_view body);
/// The value of a header, empty when it is not there.
std::string header_of(std::string_view answer, std::string_view lower_case_name);

} // namespace assay::tests
