#include "src/store/gathering.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::store {

namespace {

using namespace std::chrono_literals;

struct scene {
  gathering next;
  gathering::time now{1h};

  /// A batch of `answered` took 1 ms, and `waiting` more have come.
  std::size_t committed(std::size_t answered, std::size_t waiting) {
    next.committed(answered, waiting, 1ms, now);
    return next.least(now);
  }
};

} // namespace

TEST_CASE("who asks alone waits for nobody") {
  scene s;
  CHECK(s.next.least(s.now) == 1);
  CHECK(s.committed(1, 0) == 1);
  CHECK(s.committed(0, 5) == 1); // Nobody was answered: nobody comes back.
}

TEST_CASE("those who were answered are waited for together with those who came meanwhile") {
  scene s;
  CHECK(s.committed(4, 3) == 7);
  CHECK(s.next.until() == s.now + 2ms);
  CHECK(s.next.least(s.now + 2ms - 1ns) == 7);
  CHECK(s.next.least(s.now + 2ms) == 1);
  s.next.sealed(7);
  CHECK(s.next.least(s.now) == 1);
}

TEST_CASE("a batch has a largest size, and its last eighth is not waited for") {
  scene s;
  CHECK(s.committed(8, 8) == 14);
  CHECK(s.committed(200, 200) == 224);
}

TEST_CASE("on a slow disk the wait is short beside what a batch takes") {
  scene s;
  s.next.committed(4, 4, 1s, s.now);
  CHECK(s.next.until() == s.now + 10ms);
}

TEST_CASE("after waits in vain ever more batches go without one, until one pays") {
  scene s;
  /// Batches without a wait; the next one after them waits.
  auto without = [&] {
    std::size_t count = 0;
    for (; s.committed(4, 4) == 1; ++count)
      s.next.sealed(4);
    return count;
  };
  CHECK(without() == 0);
  for (std::size_t expected : {1U, 3U, 7U, 7U}) {
    s.next.sealed(6);
    CHECK(without() == expected);
  }
  s.next.sealed(7);
  CHECK(without() == 0);
  s.next.sealed(6);
  CHECK(without() == 1);
}

} // namespace assay::store
