#include "src/http/coroutine.hpp"

#include <array>
#include <new>

namespace assay::http::detail {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// Sanitizers see a frame that is used after its end only if it goes back to them.
void* take_frame(std::size_t size) {
  return ::operator new(size);
}

void give_frame(void* frame, std::size_t) noexcept {
  ::operator delete(frame);
}

#else

namespace {

constexpr std::size_t step_bytes = 64;
constexpr std::size_t classes = 32; ///< Frames up to 2 KiB are kept.
constexpr std::size_t kept_per_class = 256;

/// The free frames of one thread, by size.
struct shelf {
  struct free_frame {
    free_frame* next;
  };
  struct pile {
    free_frame* top = nullptr;
    std::size_t height = 0;
  };
  std::array<pile, classes> piles;

  ~shelf() {
    for (auto& p : piles)
      while (p.top)
        ::operator delete(std::exchange(p.top, p.top->next));
  }
};

thread_local shelf frames;

std::size_t class_of(std::size_t size) {
  return (size + step_bytes - 1) / step_bytes - 1;
}

} // namespace

void* take_frame(std::size_t size) {
  auto at = class_of(size);
  if (at >= classes)
    return ::operator new(size);
  auto& pile = frames.piles[at];
  if (!pile.top)
    return ::operator new((at + 1) * step_bytes);
  --pile.height;
  return std::exchange(pile.top, pile.top->next);
}

void give_frame(void* frame, std::size_t size) noexcept {
  auto at = class_of(size);
  if (at >= classes || frames.piles[at].height >= kept_per_class) {
    ::operator delete(frame);
    return;
  }
  auto& pile = frames.piles[at];
  pile.top = new (frame) shelf::free_frame{pile.top};
  ++pile.height;
}

#endif

} // namespace assay::http::detail
