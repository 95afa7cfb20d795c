#include "bench/ledger/talk.hpp"

#include "bench/ledger/frame.hpp"

#include <arpa/inet.h>
#include <nghttp2/nghttp2.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace assay::bench {

namespace {

class member_talk : public talk {
public:
  explicit member_talk(on_answer told) : told_{std::move(told)} {}

  void ask(std::uint32_t client, std::string_view text) override {
    append(out_, question{static_cast<std::uint32_t>(text.size()), client});
    out_ += text;
  }
  void hear(std::string_view bytes) override {
    in_ += bytes;
    auto all = std::exchange(in_, {});
    std::string_view rest = all;
    reply said;
    while (take(rest, said))
      told_(said.client, said.is_yes != 0);
    in_ = rest;
  }
  std::string& outgoing() override { return out_; }

private:
  on_answer told_;
  std::string in_, out_;
};

/// Ends the program: the library and etcd speak the same protocol, or nothing can be measured.
void must(int code, const char* what) {
  if (code >= 0)
    return;
  std::fprintf(stderr, "ledger_load: %s: %s\n", what, nghttp2_strerror(code));
  std::exit(1);
}

nghttp2_nv header(std::string_view name, std::string_view value) {
  auto bytes = [](std::string_view of) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(of.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

/// gRPC's five bytes (not compressed, length), then a PutRequest: key is field 1, value field 2.
std::string put_request(std::uint32_t client, std::string_view text) {
  auto field = [](char tag, std::string_view value) {
    std::string out(1, tag);
    if (value.size() >= 0x80)
      out += static_cast<char>(0x80 | (value.size() & 0x7f));
    out += static_cast<char>(value.size() >= 0x80 ? value.size() >> 7 : value.size());
    return out.append(value);
  };
  auto message = field('\x0a', "bench-" + std::to_string(client % names)) + field('\x12', text);
  std::string out(1, '\0');
  append(out, htonl(static_cast<std::uint32_t>(message.size())));
  return out + message;
}

class etcd_talk : public talk {
public:
  explicit etcd_talk(on_answer told) : told_{std::move(told)} {
    nghttp2_session_callbacks* calls = nullptr;
    must(nghttp2_session_callbacks_new(&calls), "callbacks");
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    must(nghttp2_session_client_new(&session_, calls, this), "session");
    nghttp2_session_callbacks_del(calls);
    const nghttp2_settings_entry wide{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20};
    must(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &wide, 1), "settings");
  }
  ~etcd_talk() override { nghttp2_session_del(session_); }

  void ask(std::uint32_t client, std::string_view text) override {
    static const std::array headers{
      header(":method", "POST"),
      header(":scheme", "http"),
      header(":path", "/etcdserverpb.KV/Put"),
      header(":authority", "bench"),
      header("content-type", "application/grpc"),
      header("te", "trailers"),
    };
    auto asked = std::make_unique<open_question>(client, put_request(client, text));
    nghttp2_data_provider body{{.ptr = asked.get()}, read_body};
    must(
      nghttp2_submit_request(
        session_, nullptr, headers.data(), headers.size(), &body, asked.release()
      ),
      "request"
    );
  }
  void hear(std::string_view bytes) override {
    auto code = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()
    );
    must(static_cast<int>(code), "receive");
  }
  std::string& outgoing() override {
    const std::uint8_t* piece = nullptr;
    ssize_t size = 0;
    while ((size = nghttp2_session_mem_send(session_, &piece)) > 0)
      out_.append(reinterpret_cast<const char*>(piece), static_cast<std::size_t>(size));
    must(static_cast<int>(size), "send");
    return out_;
  }

private:
  struct open_question {
    open_question(std::uint32_t client, std::string body) : client{client}, body{std::move(body)} {}
    std::uint32_t client;
    std::string body;
    std::size_t sent = 0;
    bool is_done = false;
  };

  static ssize_t
  read_body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room, std::uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& asked = *static_cast<open_question*>(source->ptr);
    auto size = asked.body.copy(reinterpret_cast<char*>(to), room, asked.sent);
    asked.sent += size;
    if (asked.sent == asked.body.size())
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  static int
  on_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t, void*) {
    auto* asked =
      static_cast<open_question*>(nghttp2_session_get_stream_user_data(session, frame->hd.stream_id)
      );
    if (asked != nullptr && std::string_view{reinterpret_cast<const char*>(name), name_size} == "grpc-status")
      asked->is_done = value_size == 1 && *value == '0';
    return 0;
  }

  static int on_close(nghttp2_session* session, std::int32_t stream, std::uint32_t, void* self) {
    std::unique_ptr<open_question> asked{
      static_cast<open_question*>(nghttp2_session_get_stream_user_data(session, stream))};
    if (asked)
      static_cast<etcd_talk*>(self)->told_(asked->client, asked->is_done);
    return 0;
  }

  on_answer told_;
  nghttp2_session* session_ = nullptr;
  std::string out_;
};

} // namespace

std::unique_ptr<talk> talk_to_member(on_answer told) {
  return std::make_unique<member_talk>(std::move(told));
}

std::unique_ptr<talk> talk_to_etcd(on_answer told) {
  return std::make_unique<etcd_talk>(std::move(told));
}

} // namespace assay::bench
