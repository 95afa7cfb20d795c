#pragma once
// All chance of a run, from one seed, the same on every machine (SplitMix64, Steele et al. 2014).

#include <cstdint>

namespace assay::simulation {

class chance {
public:
  explicit chance(std::uint64_t seed) : state_{seed * 0x2545F4914F6CDD1DULL + 1} {}

  std::uint64_t next() {
    auto z = state_ += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  /// In [0, bound); 0 for a bound of 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  /// In [least, most].
  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + below(most - least + 1);
  }
  bool happens(unsigned per_mille) { return below(1'000) < per_mille; }

private:
  std::uint64_t state_;
};

/// How far a machine's clock is from the virtual time: up to two seconds always, up to 500 ppm of
/// drift, and now and then, for four seconds, an hour. Of chances of its own, so that what else
/// happens under a seed does not depend on it.
inline std::int64_t
clock_error_ms(std::uint64_t seed, std::uint64_t machine, std::uint64_t now_ms) {
  chance always{seed ^ (machine << 32)};
  const auto offset = static_cast<std::int64_t>(always.below(4'001)) - 2'000;
  const auto ppm = static_cast<std::int64_t>(always.below(1'001)) - 500;
  chance here{always.next() + now_ms / 4'000};
  const auto hour = std::int64_t{3'600'000};
  const auto jump = !here.happens(60) ? 0 : here.happens(500) ? hour : -hour;
  return offset + static_cast<std::int64_t>(now_ms) * ppm / 1'000'000 + jump;
}

/// A running hash, cheap enough for every event (FNV-1a).
class fold {
public:
  fold() = default;
  explicit fold(std::uint64_t from) : value_{from} {}
  fold& add(std::uint64_t number) {
    value_ = (value_ ^ number) * 0x100000001B3ULL;
    value_ ^= value_ >> 29;
    return *this;
  }
  template <class Bytes>
  fold& add_bytes(const Bytes& bytes) {
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8)
      add(word(at, 8));
    return add(word(at, left)).add(bytes.size());
  }
  std::uint64_t value() const { return value_; }

private:
  static std::uint64_t word(const char* at, std::size_t size) {
    std::uint64_t out = 0;
    __builtin_memcpy(&out, at, size);
    return out;
  }
  std::uint64_t value_ = 0xCBF29CE484222325ULL;
};

} // namespace assay::simulation
