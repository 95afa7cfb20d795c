#pragma once
// A coroutine that is awaited by one other coroutine of the same thread.
//
// Smaller than Asio's own: nothing is posted when a child ends, and anything with a callback can be
// awaited in a few lines (src/http/sockets.hpp). Nothing of ours throws, so an exception inside a
// task ends the process.

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace assay::http {

template <class T>
class task;

namespace detail {

/// Memory of frames, kept per thread: a request starts a dozen of them.
void* take_frame(std::size_t size);
void give_frame(void* frame, std::size_t size) noexcept;

struct promise_base {
  static void* operator new(std::size_t size) { return take_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { give_frame(frame, size); }

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      return ended.promise().continuation;
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_awaiter final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }

  std::coroutine_handle<> continuation = std::noop_coroutine();
};

template <class T>
struct promise : promise_base {
  task<T> get_return_object() noexcept;
  void return_value(T value) { result = std::move(value); }
  T take() { return *std::move(result); }

  std::optional<T> result;
};

template <>
struct promise<void> : promise_base {
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const noexcept {}
};

} // namespace detail

/// Starts when awaited, and gives its result to whoever awaited it.
template <class T = void>
class [[nodiscard]] task {
public:
  using promise_type = detail::promise<T>;

  explicit task(std::coroutine_handle<promise_type> handle) noexcept : handle_{handle} {}
  task(task&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  task& operator=(task&&) = delete;
  ~task() {
    if (handle_)
      handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

private:
  std::coroutine_handle<promise_type> handle_;
};

template <class T>
task<T> detail::promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<promise>::from_promise(*this)};
}

inline task<void> detail::promise<void>::get_return_object() noexcept {
  return task<void>{std::coroutine_handle<promise>::from_promise(*this)};
}

/// Runs at once up to its first wait, and frees itself at its end.
struct detached {
  struct promise_type {
    detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

} // namespace assay::http
